"""Noise along the principal colours: their covariance by BLAS, as the step has it, and the rest in native passes.

Each level becomes itself and a sum of three numbers, one for each colour of the pixel.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.channel_sums import ChannelSums
from augrecipes.compiler.kernels.quick_apply import Apply, takes
from augrecipes.native.kernels import Library

_LEVELS = np.arange(256, dtype=np.float32) / 255
_UNIT = 2.0**-24  # what rounding once may change, of a float32
_NEAR = 1e-12  # what the order of three products may change, at most


def quick(_: Any, kernels: Library) -> Apply:
    """What FancyPCA does."""
    total = ChannelSums(kernels, sums=True)
    sum_floats, sum_doubles = kernels.kernel("sum_floats", "plpp"), kernels.kernel("sum_doubles", "plpp")

    def noise(img: np.ndarray, alpha_vector: np.ndarray, **_: Any) -> np.ndarray | None:
        if not takes(img) or img.size < 3 * 64:
            return None
        pixels, sums = img.size // 3, np.empty(3, np.float32)
        sum_floats(img.ctypes.data, pixels, _LEVELS.ctypes.data, sums.ctypes.data)
        centred = _LEVELS[:, None] - sums / pixels
        matrix = _directions(_covariance(img, centred, sum_doubles), alpha_vector)
        done = total(img, _tables(matrix, centred), 64 * _UNIT * 255 * (1 + float(np.abs(matrix).sum())))
        if done is None:
            return None
        out, doubtful = done
        again = _again(img.reshape(-1, 3)[doubtful], matrix, centred)
        if again is None:
            return None
        out.reshape(-1, 3)[doubtful] = again
        return out

    return noise


def _covariance(img: np.ndarray, centred: np.ndarray, sum_doubles: Any) -> np.ndarray:
    """3×3: what np.cov makes of the centred colours, with the same sums in the same order."""
    pixels, sums = img.size // 3, np.empty(3, np.float64)
    levels = np.ascontiguousarray(centred, np.float64)
    sum_doubles(img.ctypes.data, pixels, levels.ctypes.data, sums.ctypes.data)
    colours = cv2.LUT(img, (levels - sums / pixels)[None]).reshape(-1, 3).T
    found: np.ndarray = np.dot(colours, colours.T.conj())
    return found * np.true_divide(1, pixels - 1)


def _directions(covariance: np.ndarray, alpha_vector: np.ndarray) -> np.ndarray:
    """3×3: from centred colours to the noise, in 0..1."""
    values, vectors = np.linalg.eigh(covariance)
    order = values[::-1].argsort()
    made: np.ndarray = np.dot(vectors[:, order], np.diag(alpha_vector * values[order]))
    return made


def _tables(matrix: np.ndarray, centred: np.ndarray) -> np.ndarray:
    """3×256×4: what each colour that comes in, and its level, is part of in the three that leave; and 1 in all."""
    made = np.zeros((3, 256, 4), np.float32)
    made[..., :3] = 255 * matrix.T[:, None, :] * centred.T[:, :, None]
    for colour in range(3):
        made[colour, :, colour] += np.arange(256)
    made[0] += 1
    return made


def _again(colours: np.ndarray, matrix: np.ndarray, centred: np.ndarray) -> np.ndarray | None:
    """Pixels n×3 as the step does them; None where the last bit of a sum might decide."""
    noise = np.dot(matrix, np.stack([centred[colours[:, c], c] for c in range(3)])).T
    sums = _LEVELS[colours] + noise
    low, high = (np.rint(np.clip(sums + off, 0, 1).astype(np.float32) * np.float32(255)) for off in (-_NEAR, _NEAR))
    return low.astype(np.uint8) if np.array_equal(low, high) else None
