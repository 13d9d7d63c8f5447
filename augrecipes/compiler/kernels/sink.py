"""The sink: the one place where a sample becomes float. Scale, shift, dtype, colour and layout in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.formulas import LUMAS, Luma, check_color, scales_and_shifts
from augrecipes.native.kernels import address_of, library, written_as
from augrecipes.recipe.inputs import RANGES
from augrecipes.recipe.model import Output

_UINT8, _FLOAT16, _FLOAT32, _FLOAT64 = (np.dtype(t) for t in (np.uint8, np.float16, np.float32, np.float64))
_CHANNELS = 4  # the most that kernels write

# Gives the memory for a result: (shape, dtype) → array.
Allocate = Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray]


class Sink:
    """Turns the last step's image into what the recipe's `output` asks for.

    A uint8 image counts 0..255, a float32 image 0..1. Unless the image is said to be free, the result shares no memory
    with it. One thread at a time.

    >>> Sink(Output())(np.full((2, 3, 1), 255, np.uint8)).tolist()
    [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]
    """

    def __init__(self, output: Output, full_range: tuple[float, float] | None = None) -> None:
        self.output, self._range = output, full_range
        self._color = "rgb" if output.where == "device" else output.color
        self.dtype = _UINT8 if output.where == "device" else np.dtype(output.dtype)
        self.is_identity = self.dtype == _UINT8 and output.layout == "hwc" and self._color == "rgb"
        self._chw = output.layout == "chw"
        self._native: dict[int, SinkNumbers] = {}

    def __call__(
        self,
        image: np.ndarray,
        allocate: Allocate = np.empty,
        caller_arrays: Sequence[Any] | None = None,
        valid: np.ndarray | None = None,
    ) -> np.ndarray:
        """An image H×W×C, uint8 or float32, as C×H×W or H×W×C of the output's dtype, in memory from `allocate`.

        Args:
            image: the last step's.
            allocate: gives the memory.
            caller_arrays: that somebody else holds. An image that is none of them, and has memory of its own, may leave
                as it is; None: no image may.
        """
        is_identity = self.is_identity and image.dtype == _UINT8
        if is_identity and caller_arrays is not None and allocate is np.empty and is_free(image, caller_arrays):
            return image
        check_color(self._color, image.shape[2])
        out = allocate(self.shape(*image.shape), self.dtype)
        if is_identity:
            out[...] = image
        elif not self._natively(image, out):
            self._by_planes(image, out)
        if valid is not None:
            out[(..., ~valid) if self._chw else ~valid] = 0
        return out

    def _natively(self, image: np.ndarray, out: np.ndarray) -> bool:
        """Whether the kernel could write it: one pass over uint8 images."""
        channels = image.shape[2]
        colours = self._color in ("rgb", "bgr") and channels <= _CHANNELS
        if image.dtype != _UINT8 or not colours or self.dtype == _FLOAT16:
            return False
        return self.numbers(channels).write(image, out)

    def shape(self, height: int, width: int, channels: int) -> tuple[int, int, int]:
        """Of what leaves."""
        planes = channels if self._color in ("rgb", "bgr") else 1
        return (planes, height, width) if self._chw else (height, width, planes)

    def numbers(self, channels: int) -> SinkNumbers:
        """Those of the output for images of uint8, kept."""
        known = self._native.get(channels)
        if known is None:
            check_color(self._color, channels)
            known = self._native[channels] = SinkNumbers(
                scales_and_shifts(self.output, channels, 255.0) if self.dtype != _UINT8 else [(1, 0)] * channels,
                chw=self._chw,
                bgr=self._color == "bgr",
            )
        return known

    def _by_planes(self, image: np.ndarray, out: np.ndarray) -> None:
        """Channel by channel; IEEE arithmetic, one multiplication and one addition a value, as the kernel does it."""
        low, high = self._range or (0.0, RANGES[image.dtype.name])
        full = high - low
        planes = self._planes(image if not low else image - np.float32(low))
        parts = [out[c] if self._chw else out[..., c] for c in range(len(planes))]
        if self.dtype == _UINT8:
            for plane, part in zip(planes, parts, strict=True):
                part[...] = plane if plane.dtype == _UINT8 else _levels(plane, full)
            return
        numbers = scales_and_shifts(self.output, len(planes), full)
        for plane, part, (scale, shift) in zip(planes, parts, numbers, strict=True):
            values = plane.astype(_FLOAT32)
            values *= np.float32(scale)
            values += np.float32(shift) if shift else np.float32(-0.0)
            part[...] = values

    def _planes(self, image: np.ndarray) -> list[np.ndarray]:
        """The channels that leave, H×W each."""
        planes = [image[..., c] for c in range(image.shape[2])]
        if self._color in ("rgb", "bgr"):
            return planes if self._color == "rgb" else planes[::-1]
        if self._color == "gray" and len(planes) == 1:
            return planes
        return [self._luma(LUMAS[self._color], image)]

    def _luma(self, luma: Luma, image: np.ndarray) -> np.ndarray:
        """The luma plane; as uint8 where uint8 both comes and leaves, so that 0.999 does not become 0."""
        rounds = image.dtype == _UINT8 and self.dtype == _UINT8
        dtype = _FLOAT64 if rounds else _FLOAT32  # whole numbers up to 2⁵³ are exact
        weights = luma.parts if rounds else luma.weights
        out: Any
        if image.shape[2] == 1:
            out = np.multiply(image[..., 0], dtype.type(sum(weights)), dtype=dtype)
        else:
            out = cv2.transform(np.ascontiguousarray(image, dtype), np.array([weights], dtype))
        if not rounds:
            out += np.float32(luma.offset * (1.0 if image.dtype == _UINT8 else 1 / 255))
            return np.asarray(out)
        return np.asarray((out + luma.rounding) // luma.unit, _UINT8)


def _levels(plane: np.ndarray, full: float) -> np.ndarray:
    """Values of 0..`full` as whole numbers in 0..255."""
    values = np.multiply(plane, np.float32(255.0 / full), dtype=np.float32)
    return np.rint(np.clip(values, 0, 255, out=values), out=values)


class SinkNumbers:
    """Scales and shifts of one output for uint8 images of some channels, as kernels take them.

    Args:
        affines: (scale, shift) of each channel that leaves.
        chw: the layout.
        bgr: the channels leave in turned order.
    """

    def __init__(self, affines: Sequence[tuple[float, float]], *, chw: bool, bgr: bool) -> None:
        found = library()
        self._kernel = None if found is None else found.kernel("sink", "pllllipppilllp")
        self._chw, self._bgr = chw, bgr
        taken = affines[::-1] if bgr else affines  # kernels count channels as they come in
        self._scales = np.array([scale for scale, _ in taken], np.float32)
        self._shifts = np.array([shift or -0.0 for _, shift in taken], np.float32)  # which leaves every value as it is
        self.four = tuple((*v.tolist(), *[0.0] * (_CHANNELS - len(v))) for v in (self._scales, self._shifts))
        self._numbers = self._scales.ctypes.data, self._shifts.ctypes.data

    def write(self, image: np.ndarray, out: np.ndarray) -> bool:
        """Write an H×W×C uint8 image, which may be a turned view, into `out`; False where no kernel does."""
        row, pixel, beside = image.strides
        if self._kernel is None or (beside != 1 and image.shape[2] > 1) or not out.flags.aligned:
            return False
        if (written := self.strides(out[None], image.shape[2])) is None:
            return False
        start, _, *strides = written
        answer = self._kernel(
            address_of(image), row, pixel, *image.shape, *self._numbers, address_of(out) + start, written_as(out),
            *strides, None,
        )  # fmt: skip
        return bool(answer == 0)

    def strides(self, out: np.ndarray, channels: int) -> tuple[int, ...] | None:
        """Where in `out` the first channel begins, in bytes, and its strides as the kernel has them."""
        return _strides(out.strides, out.itemsize, channels, self._chw, self._bgr)


@lru_cache(maxsize=99)
def _strides(strides: tuple[int, ...], size: int, channels: int, chw: bool, bgr: bool) -> tuple[int, ...] | None:
    if any(stride % size for stride in strides):
        return None
    each, *steps = (stride // size for stride in strides)
    plane, down, across = steps if chw else (steps[2], steps[0], steps[1])
    return ((channels - 1) * plane * size, each, down, across, -plane) if bgr else (0, each, down, across, plane)


def is_free(array: np.ndarray, caller_arrays: Sequence[Any]) -> bool:
    """Whether an array has memory of its own, as it should lie, that nobody else holds.

    >>> a = np.zeros((2, 2, 3), np.uint8)
    >>> is_free(a, ()), is_free(a, (a,)), is_free(a[:1], ())
    (True, False, False)
    """
    for other in caller_arrays:  # quicker than `all` of a generator
        if array is other:
            return False
    flags = array.flags
    return flags.owndata and flags.c_contiguous and flags.writeable
