"""Noise along the principal colours, in native passes: each level becomes itself and a sum of three numbers.

The pass rounds otherwise than albumentations, so that a sum that lies next to a half might become another level. Such
pixels, a few in a thousand, are told, and are done again as albumentations does them; all others are certain.

One number for each colour of the pixel, out of their covariance. In its last bits that depends on the order in which it
is summed up, and now and then the direction of a principal colour depends on these: where another covariance, near to
it, gives another noise, it is summed up as the step does it.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.fast_apply import takes
from augrecipes.native.kernels import Library

_LEVELS = np.arange(256, dtype=np.float32) / 255
_UNIT = 2.0**-24  # what rounding once may change, of a float32
# From a whole number to where doubt begins; what sums stay below; and one pixel in so many may be done twice.
_LEAST_CERTAIN, _LARGEST_SUM, _PIXELS_PER_DOUBT = 0.4, 2.0**30, 32
_NEAR = 1e-12  # what the order of three products may change, at most
_MOST_ASIDE = 1e-10  # what the order of the sums may change, where it makes no difference
# By how much more than any order a covariance is changed to see that, as a part of it: in no direction of its own.
_ASIDE = 1e-12 * np.array([[1.0, -2.0, 3.0], [-2.0, -1.0, 2.0], [3.0, 2.0, 1.0]])


def fancy_pca(step: Any, kernels: Library, img: np.ndarray, alpha_vector: np.ndarray, **_: Any) -> np.ndarray | None:
    """FancyPCA."""
    del step
    if not takes(img) or img.size < 3 * 64:
        return None
    count, sums = img.size // 3, np.empty(3, np.float32)
    kernels.kernel("sum_floats", "plpp")(img.ctypes.data, count, _LEVELS.ctypes.data, sums.ctypes.data)
    centred = _LEVELS[:, None] - sums / count
    covariance = _covariance(img, centred, kernels.kernel("moments", "plpp"))
    matrix, *others = (_directions(covariance + k * _ASIDE * covariance.trace(), alpha_vector) for k in (0, 1, -1))
    if (aside := max(np.abs(other - matrix).sum() for other in others)) > _MOST_ASIDE:
        colours = cv2.LUT(img, centred[None]).reshape(-1, 3)
        matrix, aside = _directions(np.cov(colours, rowvar=False), alpha_vector), 0.0
    tables = _tables(matrix, centred)
    largest: Any = np.abs(tables).max(axis=(1, 2))
    certain = 0.5 - 64 * _UNIT * 255 * (1 + float(np.abs(matrix).sum()))
    if certain < _LEAST_CERTAIN or not largest.sum() < _LARGEST_SUM:
        return None
    out, doubtful_count, places = (
        np.empty_like(img),
        np.zeros(1, np.int64),
        np.empty(count // _PIXELS_PER_DOUBT, np.int32),
    )
    kernels.kernel("channel_sums", "plpffplpp")(
        img.ctypes.data, count, tables.ctypes.data, 1, certain, places.ctypes.data, len(places),
        doubtful_count.ctypes.data, out.ctypes.data,
    )  # fmt: skip
    if doubtful_count[0] > len(places):
        return None
    doubtful = places[: doubtful_count[0]]
    redone = _redo(img.reshape(-1, 3)[doubtful], matrix, centred, _NEAR + float(aside))
    if redone is not None:
        out.reshape(-1, 3)[doubtful] = redone
    return None if redone is None else out


def _covariance(img: np.ndarray, centred: np.ndarray, moments: Any) -> np.ndarray:
    """3×3: what np.cov makes of the centred colours, but for the order of its sums."""
    pixels, sums, entries = img.size // 3, np.empty((3, 4)), np.zeros((3, 256, 4))
    for colour in range(3):
        entries[colour, :, colour] = centred[:, colour]
    moments(img.ctypes.data, pixels, entries.ctypes.data, sums.ctypes.data)
    first, (red, green, blue), (red_green, green_blue, blue_red) = sums[:, :3]
    second = np.array([[red, red_green, blue_red], [red_green, green, green_blue], [blue_red, green_blue, blue]])
    covariance: np.ndarray = (second - np.outer(first, first) / pixels) / (pixels - 1)
    return covariance


def _directions(covariance: np.ndarray, alpha_vector: np.ndarray) -> np.ndarray:
    """3×3: from centred colours to the noise, in 0..1."""
    values, vectors = np.linalg.eigh(covariance)
    order = values[::-1].argsort()
    return np.asarray(np.dot(vectors[:, order], np.diag(alpha_vector * values[order])))


def _tables(matrix: np.ndarray, centred: np.ndarray) -> np.ndarray:
    """3×256×4: what each colour that comes in, and its level, is part of in the three that leave; and 1 in all."""
    tables = np.zeros((3, 256, 4), np.float32)
    tables[..., :3] = 255 * matrix.T[:, None, :] * centred.T[:, :, None]
    for colour in range(3):
        tables[colour, :, colour] += np.arange(256)
    tables[0] += 1
    return tables


def _redo(colours: np.ndarray, matrix: np.ndarray, centred: np.ndarray, near: float) -> np.ndarray | None:
    """Pixels n×3 as the step does them; None where the last bit of a sum might decide."""
    noise = np.dot(matrix, np.stack([centred[colours[:, c], c] for c in range(3)])).T
    sums = _LEVELS[colours] + noise
    low, high = (np.rint(np.clip(sums + off, 0, 1).astype(np.float32) * np.float32(255)) for off in (-near, near))
    return low.astype(np.uint8) if np.array_equal(low, high) else None
