"""Stain jitter in one native pass: a product of three numbers, instead of logarithm, matrix and exponential."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.channel_sums import channel_sums
from augrecipes.compiler.kernels.fast_apply import Apply, takes
from augrecipes.native.kernels import Library
from augrecipes.ops.stain import LOG, density_matrix, through_density, white_level

_UNIT = 2.0**-24  # what rounding once may change, of a float32
_ROUND = 64  # pixels: more than OpenCV takes at a time, so that where it fuses is where it would
_GLASS = 8.0  # its cube is the product of a pixel that stays: see native/channel_sums.c
_LARGEST = np.full(3, math.log(256))


def stain_jitter(step: Any, kernels: Library) -> Apply:
    """What StainJitter does."""
    white = step.white_threshold
    glass = _GLASS * (np.arange(256) >= white_level(white))

    def jitter(img: np.ndarray, factors: tuple[float, ...], shifts: tuple[float, ...], **_: Any) -> np.ndarray | None:
        if not takes(img) or img.size < 3 * _ROUND * 4:
            return None
        matrix = density_matrix(factors, shifts)
        done = channel_sums(kernels, img, _tables(matrix, glass), 256 * _error(matrix), sums=False)
        if done is None:
            return None
        out, doubtful = done
        _redo(img.reshape(-1, 3), partial(through_density, matrix=matrix, white=white), doubtful, out.reshape(-1, 3))
        return out

    return jitter


def _redo(img: np.ndarray, plain: Callable[..., np.ndarray], doubtful: np.ndarray, out: np.ndarray) -> None:
    """Pixels of which the pass was not sure, and the last ones, for which OpenCV has another way, as the step does."""
    count, last = len(doubtful), len(img) - len(img) % _ROUND - _ROUND
    front = -(-count // _ROUND) * _ROUND
    some = np.zeros((front + len(img) - last, 3), np.uint8)
    np.take(img, doubtful, axis=0, out=some[:count])
    some[front:] = img[last:]
    settled = plain(some[None])[0]
    out[doubtful] = settled[:count]
    out[last:] = settled[front:]


def _tables(matrix: np.ndarray, glass: np.ndarray) -> np.ndarray:
    """3×256×4: for each colour that comes in, and its level, factors of the three that leave, and of `glass`."""
    weights = np.zeros((3, 1, 4), np.float32)
    weights[:, 0, :3] = matrix[:, :3].T
    made = weights * LOG[:, None]
    made[0, :, :3] += matrix[:, 3].astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        done: np.ndarray = np.exp(made, out=made)
    done[..., 3] = glass
    return done


def _error(matrix: np.ndarray) -> float:
    """By how much of itself a value may differ between the two ways: every rounding on either, and some to spare."""
    sizes = np.abs(matrix)
    largest = float((sizes[:, :3] @ _LARGEST + sizes[:, 3]).max())
    return _UNIT * (14 * largest + 40)
