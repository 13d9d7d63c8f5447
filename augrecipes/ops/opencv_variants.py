"""Find out how the installed OpenCV and numpy round on this processor, so that native steps can do the same.

OpenCV processes a row in vectors and rounds differently in its tail; where the processor has fused multiply-add, OpenCV
may use it. Each variant is found once per process, by images whose results differ.
"""

import ctypes
import math
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compat import normals
from augrecipes.native.kernels import Library
from augrecipes.native.op_numbers import LIMITS

_SSE3 = 3  # its number in OpenCV
_WIDTH = 255  # px of the probe images
_ALL = 1 << 30  # any row
_STRIPS, _TRIED = 256, 40_000


@cache
def hsv() -> tuple[int, bool] | None:
    """OpenCV's vector width from HSV to RGB, where it truncates, and whether it fuses there.

    None if it rounds half a level of saturation down, as on ARM: no kernel does.
    """
    half: Any = np.full((1, _WIDTH, 3), (1, 2, 1), np.uint8)
    if (cv2.cvtColor(half, cv2.COLOR_RGB2HSV)[..., 1] != 128).any():
        return None
    row: Any = np.full((1, _WIDTH, 3), (0, 1, 3), np.uint8)
    dropped = int((cv2.cvtColor(row, cv2.COLOR_HSV2RGB)[0, :, 1] == 2).sum())
    green = int(cv2.cvtColor(np.full((1, 1, 3), (1, 153, 25), np.uint8), cv2.COLOR_HSV2RGB)[0, 0, 1])
    return _WIDTH + 1 - dropped if dropped else _ALL, green == 10  # 11 where it does not


@cache
def hls() -> tuple[int, bool]:
    """OpenCV's vector width from HLS to RGB, and whether it fuses, in both directions."""
    # A negative hue gives another colour in the tail of a row.
    row: Any = cv2.cvtColor(np.full((1, _WIDTH, 3), (-70, 0.3, 0.7), np.float32), cv2.COLOR_HLS2RGB)[0]
    vector = int((row == row[0]).all(axis=-1).sum())
    colour: Any = cv2.cvtColor(np.full((1, 1, 3), (0.7, 0.9, 0.6), np.float32), cv2.COLOR_RGB2HLS)
    return _WIDTH + 1 - vector if vector < _WIDTH else _ALL, bool(colour[0, 0, 0] > 100)  # 100 where it does not


@cache
def sums() -> bool | None:
    """Whether OpenCV fuses in weighted sums; None if it does so in the tail of a row alone, as on ARM."""
    row = np.ones((1, _WIDTH), np.uint8)
    fused = cv2.addWeighted(row * 46, 1.3, row, -0.3, 0) == 59  # 60 where it does not
    return bool(fused.all()) if fused.all() == fused.any() else None


@cache
def filters() -> int:
    """OpenCV's vector width of filters in which it fuses; 0: it does not fuse."""
    row, weights = np.full((1, _WIDTH), 13, np.uint8), np.array([[0.1, 0.4]], np.float32)
    return _vector_length(cv2.filter2D(row, -1, weights)[0] == 6)  # 7 where it does not


@cache
def widest_filter() -> int:
    """The widest square kernel, in px, that OpenCV applies without a Fourier transform."""
    return LIMITS.WIDEST_FILTER if cv2.checkHardwareSupport(_SSE3) else 7  # areas < 130, or < 50


@cache
def gaussian() -> tuple[int, int]:
    """OpenCV's vector widths of Gaussian blurs in which it fuses, along rows and along columns; 0: it does not fuse."""
    # The outer weight; for columns and for rows two levels, in the middle and beside it, and the level that their sum
    # rounds to only if products are fused.
    outer, across, sum_across, along, sum_along = 0.1275, (146, 46), 121, (6, 106), 31
    column, row = np.full((3, _WIDTH), across[1], np.uint8), np.full((1, _WIDTH), along[1], np.uint8)
    column[1], row[:, ::2] = across[0], along[0]
    weights, unit = symmetric_weights(outer), np.ones(1)
    sums: Any = cv2.sepFilter2D(row, -1, weights, unit), cv2.sepFilter2D(column, -1, unit, weights)
    return _vector_length(sums[0][0, ::2] == sum_along, 2), _vector_length(sums[1][1] == sum_across)


def symmetric_weights(outer: float) -> np.ndarray:
    """Three symmetric weights that sum to 1."""
    return np.array([outer, 1 - 2 * outer, outer])


def _vector_length(fused: np.ndarray, every: int = 1) -> int:
    """The vector width from which of 255 numbers (every `every`-th is looked at) are fused: the tail is not."""
    count = int(fused.sum())
    return 1 if count == len(fused) else _WIDTH + 1 - every * count if count else 0


class NumpyNormals:
    """numpy's ziggurat for normal numbers, read off its own function; see native/sensor.c.

    Args:
        kernels: the native kernels.

    Attributes:
        strips: the ziggurat's bounds of words, and their factors.
        addresses: addresses of numpy's function and of these two tables.
    """

    def __init__(self, kernels: Library) -> None:
        self.strips = np.zeros(_STRIPS, np.uint64), np.zeros(_STRIPS)
        self.addresses = normals(), *(strips.ctypes.data for strips in self.strips)
        kernels.kernel("normal_strips", "ppp")(*self.addresses)
        self._draw = kernels.kernel("numpy_normals", "lppppl")

    def numbers(self, seed: int, count: int) -> np.ndarray:
        """The standard normal numbers of `default_rng(seed)`."""
        out = np.empty(count)
        self._draw(seed, *self.addresses, out.ctypes.data, count)
        return out


@cache
def numpy_normals(kernels: Library) -> NumpyNormals | None:
    """numpy's ziggurat; None where the kernel's numbers differ from numpy's."""
    normal = NumpyNormals(kernels) if normals() else None
    if normal is None or not np.array_equal(normal.numbers(5, _TRIED), np.random.default_rng(5).normal(size=_TRIED)):
        return None
    return normal


@cache
def normal_numbers() -> tuple[int, ...] | None:
    """The addresses of cv2.randn's ziggurat tables, and of the C library's `logf` and `exp` for its tail.

    None on a system without such a C library.
    """
    try:
        python = ctypes.CDLL(None)  # Python is linked with the C library
        functions = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in (python.logf, python.exp)]
    except (AttributeError, TypeError, OSError):
        return None
    return (*(table.ctypes.data for table in ziggurat_strips()), *functions)


@cache
def ziggurat_strips() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The 128 strips of the ziggurat (Marsaglia and Tsang 2000): bounds of words, widths and heights.

    >>> [table.shape for table in ziggurat_strips()]
    [(128,), (128,), (128,)]
    """
    bounds, widths, heights = np.zeros(128, np.uint32), np.ones(128, np.float32), np.ones(128, np.float32)
    words, edge, area = 2.0**31, 3.442619855899, 9.91256303526217e-3
    widths[127], heights[127] = edge / words, math.exp(-0.5 * edge * edge)
    base = area / math.exp(-0.5 * edge * edge)
    bounds[0], widths[0] = int(edge / base * words), base / words
    for k in range(126, 0, -1):
        outer, edge = edge, math.sqrt(-2.0 * math.log(area / edge + math.exp(-0.5 * edge * edge)))
        bounds[k + 1], widths[k], heights[k] = int(edge / outer * words), edge / words, math.exp(-0.5 * edge * edge)
    return bounds, widths, heights
