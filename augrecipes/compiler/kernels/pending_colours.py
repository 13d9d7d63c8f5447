"""A picture, and the matrix that is still to be applied to its colours: operations joined where nothing saturates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np

from augrecipes.compiler.kernels.colour_native import colours, takes
from augrecipes.compiler.kernels.hue_saturation_value import shifted
from augrecipes.compiler.kernels.scratch import Scratch
from augrecipes.compiler.kernels.stain_native import jittered
from augrecipes.ops.colour_ops import (
    LUMA,
    ColourMatrix,
    Contrast,
    Hue,
    HueSaturationValue,
    Linear,
    Operation,
    Stain,
    gain,
)

_RGB = 3
SMALL = 0.03  # of the circle: turns of the hue that a matrix may stand for
_GRID = 32  # pixels along each side of what the matrix is fitted to and judged by
_LEAST = 192  # pixels along each side, below which turning all of them is as quick
_FIT = 6  # levels that it may be off there
_RIDGE = np.eye(4) * 1e-3  # pictures of one colour have no one fit
_WRAPS = 75  # the largest step after which a hue still fits in uint8, and OpenCV takes it round
_FLOOR = 0.499  # rounding to nearest after taking this off drops the fraction, and keeps whole numbers


class PendingColours:
    """A picture, and the matrix that is still to be applied to it.

    Args:
        image: H×W×3 uint8 or float32; never written to.
        scratch: memory for the result.
    """

    __slots__ = ("_range", "array", "full", "rows", "scratch")

    def __init__(self, image: np.ndarray, scratch: Scratch) -> None:
        self.array, self.scratch = image, scratch
        self.full = 255.0 if image.dtype == np.uint8 else 1.0
        self._range: Sequence[float] | None = None  # the least and the greatest value of the array
        self.rows: ColourMatrix | None = None  # offsets count as the picture's values do

    def apply(self, operation: Operation) -> None:
        """Add one more operation to what is to be applied."""
        match operation:
            case Linear(rows, truncates):
                self._linear(rows, self.full, truncates=truncates)
            case Contrast(factor):
                mean = self._mean_luma()
                self._linear(gain(factor, mean * (1 - factor)), 1.0, truncates=True)
            case HueSaturationValue(hue, saturation, value):
                self.replace(shifted(self.settle(), hue, saturation, value, self._room()))
            case Stain():
                self.replace(jittered(self.settle(), operation, self._room(), self.scratch))
            case Hue(shift):
                fitted = self._fitted(shift)
                if fitted is not None:
                    self._linear(fitted, 1.0, truncates=False)
                else:
                    self.settle()
                    self.array, self._range = turn_hue(self.array, shift, self._room(), self.scratch), None

    def _linear(self, rows: ColourMatrix, unit: float, *, truncates: bool) -> None:
        """Add one more matrix, whose offsets count in units of `unit`."""
        less = dropped(truncates) if self.full > 1 else 0.0
        if self.rows is not None and self._may_clip():
            self.settle()
        if self.rows is None:
            self.rows = tuple((r, g, b, o * unit - less) for r, g, b, o in rows)  # type: ignore[assignment]
            return
        (r0, g0, b0, o0), (r1, g1, b1, o1), (r2, g2, b2, o2) = self.rows
        self.rows = tuple(  # type: ignore[assignment]
            (
                r * r0 + g * r1 + b * r2,
                r * g0 + g * g1 + b * g2,
                r * b0 + g * b1 + b * b2,
                r * o0 + g * o1 + b * o2 + o * unit - less,
            )
            for r, g, b, o in rows
        )

    def _fitted(self, shift: float) -> ColourMatrix | None:
        """A small turn of the hue as a matrix, fitted to some of the picture; None where it does not fit them.

        Two conversions of a whole picture take longer than all else that is done to its colours (benchmarks/fast.py).
        """
        if abs(shift) > SMALL or self.full == 1.0 or min(self.array.shape[:2]) < _LEAST:
            return None
        if self.rows is not None and self._may_clip():
            self.settle()
        room = [self.scratch.array(name, (_GRID, _GRID, _RGB), self.array.dtype) for name in ("seen", "now", "turned")]
        seen = cv2.resize(self.array, (_GRID, _GRID), dst=room[0], interpolation=cv2.INTER_NEAREST)
        if self.rows is not None:
            seen = cv2.transform(seen, np.array(self.rows), dst=room[1])
        turned = turn_hue(seen, shift, room[2], self.scratch)
        known = self.scratch.array("known", (_GRID * _GRID, 4), np.dtype(np.float64))
        known[:, :_RGB], known[:, _RGB] = seen.reshape(-1, _RGB), 1.0
        wanted = self.scratch.array("wanted", (_GRID * _GRID, _RGB), np.dtype(np.float64))
        wanted[...] = turned.reshape(-1, _RGB)
        matrix = np.ascontiguousarray(cv2.solve(known.T @ known + _RIDGE, known.T @ wanted)[1].T)
        off = cv2.transform(seen, matrix, dst=room[0] if seen is room[1] else room[1])
        cv2.absdiff(off, turned, dst=off)
        if cv2.minMaxLoc(off.reshape(_GRID, -1))[1] > _FIT:
            return None
        red, green, blue = matrix.tolist()
        return tuple(red), tuple(green), tuple(blue)

    def _may_clip(self) -> bool:
        """Whether the pending matrix takes some value out of range, where a picture would saturate."""
        if self._range is None:
            self._range = cv2.minMaxLoc(self.array.reshape(self.array.shape[0], -1))[:2]
        low, high = self._range
        slack = 0.5 if self.full > 1 else 0.0
        for r, g, b, offset in self.rows or ():
            least = most = offset
            for weight in (r, g, b):
                least += weight * (low if weight > 0 else high)
                most += weight * (high if weight > 0 else low)
            if least < -slack or most > self.full + slack:
                return True
        return False

    def _mean_luma(self) -> float:
        """The mean of the picture as it would be now, in luma."""
        if self.rows is not None and self._may_clip():
            self.settle()
        red, green, blue, _ = cv2.mean(self.array)
        if self.rows is None:
            return red * LUMA[0] + green * LUMA[1] + blue * LUMA[2]
        return sum(
            weight * (r * red + g * green + b * blue + o) for weight, (r, g, b, o) in zip(LUMA, self.rows, strict=True)
        )

    def replace(self, array: np.ndarray) -> None:
        """Another picture in its place, with nothing pending."""
        self.array, self.rows, self._range = array, None, None

    def settle(self) -> np.ndarray:
        """Carry out what is pending."""
        if self.rows is not None:
            out = cv2.transform(self.array, np.array(self.rows), dst=self._room())
            if self.full == 1.0:
                np.clip(out, 0.0, 1.0, out=out)
            self.array, self.rows, self._range = out, None, None
        return self.array

    def _room(self) -> np.ndarray:
        """Memory of the picture's shape: the scratch, into which the picture may already have been written."""
        return self.scratch.array("coloured", self.array.shape, self.array.dtype)


def dropped(truncates: bool) -> float:
    """What is taken off a level that is rounded, where its fraction is to be dropped instead."""
    return _FLOOR if truncates else 0.0


def turn_hue(image: np.ndarray, shift: float, out: np.ndarray, scratch: Scratch) -> np.ndarray:
    """The hue turned by `shift` of the circle, through HSV, rounded as albumentations does."""
    hsv = scratch.array("hsv", image.shape, image.dtype)
    if image.dtype != np.uint8:
        cv2.cvtColor(image, cv2.COLOR_RGB2HSV, dst=hsv)
        hue = hsv[..., 0]
        np.mod(hue + np.float32(shift * 360), 360, out=hue)
        return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB, dst=out)
    steps = math.floor(180 * shift) % 180  # OpenCV's uint8 hue counts steps of two degrees
    if (native := colours()) is not None and takes(image):
        return native.shifted(image, steps, 0, 0, out)
    if _WRAPS < steps < 180 - _WRAPS:
        image, steps = turn_hue(image, 0.25, out, scratch), steps - 45
    # cv2 cannot wrap below 0, but exchanging red and blue turns the circle over: then back is forth.
    forth = steps <= _WRAPS
    cv2.cvtColor(image, cv2.COLOR_RGB2HSV if forth else cv2.COLOR_BGR2HSV, dst=hsv)
    cv2.add(hsv, (steps if forth else 180 - steps, 0, 0, 0), dst=hsv)  # type: ignore[call-overload]
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB if forth else cv2.COLOR_HSV2BGR, dst=out)
