"""Native passes over the colours of uint8 RGB pictures, as the installed OpenCV computes them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.native.build import processor
from augrecipes.native.kernels import Library, library
from augrecipes.native.op_numbers import LIMITS

_CLOSE = 1e-9  # to a whole number: adding it to a hue may round either way
_FAR = 1e5
MOST = float(LIMITS.MOST_SATURATED)  # of what colours can be saturated by


class Colours:
    """The kernels, and how OpenCV carries out on this processor what they imitate.

    Pictures are H×W×3 uint8, contiguous; what comes out is a new array.

    Attributes:
        hsv_ways: how many pixels of a row OpenCV takes from HSV to RGB at a time, and whether it fuses there.
        sums_fused: whether it fuses in weighted sums.
    """

    def __init__(self, kernels: Library) -> None:
        self._hsv = kernels.kernel("hsv", "plliiilip")
        self._luma_sum = kernels.kernel("luma_sum", "plp")
        self._saturate = kernels.kernel("saturate", "plffip")
        self._filter = kernels.kernel("filter", "plllpip")
        self.hsv_ways = (_lanes(), int(_hsv_is_fused()))
        self.sums_fused = int(_sums_are_fused())

    def shifted(
        self, img: np.ndarray, hue: int, saturation: int, value: int, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Through HSV: hue turned by 0..179 steps of two degrees, saturation (not of grey) and value shifted.

        `out` may be the picture itself.
        """
        out = np.empty_like(img) if out is None else out
        rows, columns, _ = img.shape
        self._hsv(
            img.ctypes.data, rows, columns, hue, saturation, value, *self.hsv_ways, out.ctypes.data
        )  # fmt: skip
        return out

    def mean_luma(self, img: np.ndarray) -> float:
        """Of all pixels, each luma a whole number."""
        total = np.zeros(1, np.int64)
        self._luma_sum(img.ctypes.data, img.size // 3, total.ctypes.data)
        return int(total[0]) / (img.size // 3)

    def saturated(self, img: np.ndarray, factor: float) -> np.ndarray:
        """Every pixel moved away from its own luma, by a factor of at most `MOST`."""
        out = np.empty_like(img)
        self._saturate(img.ctypes.data, img.size // 3, factor, 1 - factor, self.sums_fused, out.ctypes.data)
        return out

    def filtered(self, img: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """By 3×3 float32 weights, mirrored at the borders."""
        out, held = np.empty_like(img), np.ascontiguousarray(weights)
        shape = img.shape
        self._filter(img.ctypes.data, *shape, held.ctypes.data, self.sums_fused, out.ctypes.data)
        return out


@cache
def _made(kernels: Any) -> Colours:
    return Colours(kernels)


def colours() -> Colours | None:
    """The native passes; None where there are none, or where OpenCV's own are quicker: without AVX2 on x86."""
    kernels = library()
    slow = kernels is not None and kernels.isa == "base" and processor() == "x86_64"
    return None if kernels is None or slow else _made(kernels)


def takes(img: np.ndarray, channels: int = 3) -> bool:
    """Whether a picture is what they take, of three channels or another number."""
    if img.shape[:2] == (4, 1):
        return False  # a plane of it is a number with four parts to OpenCV's Python, and some classes fail on that
    return (
        img.dtype == np.uint8 and img.ndim == 3 and img.shape[2] == channels and img.size > 0 and img.flags.c_contiguous
    )


def turn_of(shift: float) -> int | None:
    """By how many steps, 0..178, every hue of 0..179 moves when `shift` is added and the fraction is dropped.

    None where rounding may move some hues by more than others.

    >>> turn_of(3.7), turn_of(-0.5), turn_of(1e-17)
    (3, 179, None)
    """
    whole = math.floor(shift)
    rest = shift - whole
    if abs(shift) > _FAR or (rest and not _CLOSE < rest < 1 - _CLOSE):
        return None
    return whole % 180


def _lanes() -> int:
    """How many pixels of a row OpenCV takes from HSV to RGB at a time, dropping fractions; in the rest it rounds."""
    row: Any = np.full((1, 255, 3), (0, 1, 3), np.uint8)
    dropped = int((cv2.cvtColor(row, cv2.COLOR_HSV2RGB)[0, :, 1] == 2).sum())
    return 256 - dropped if dropped else 1 << 30


def _hsv_is_fused() -> bool:
    """Whether it fuses multiplication and addition there: green is 11 where it does not."""
    return int(cv2.cvtColor(np.full((1, 1, 3), (1, 153, 25), np.uint8), cv2.COLOR_HSV2RGB)[0, 0, 1]) == 10


def _sums_are_fused() -> bool:
    """Whether it does in weighted sums: 60 where it does not."""
    return int(cv2.addWeighted(np.full((1, 1), 46, np.uint8), 1.3, np.ones((1, 1), np.uint8), -0.3, 0)[0, 0]) == 59
