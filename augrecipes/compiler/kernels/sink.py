"""The sink: the one place where a sample becomes float. Scale, shift, dtype, colour and layout in one pass."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.formulas import COLOR_PLANES, ColorPlane, check_color, scales_and_shifts
from augrecipes.flow import Dtype
from augrecipes.native.kernels import VALUES, address_of, library, written_as
from augrecipes.recipe.inputs import RANGES
from augrecipes.recipe.model import Output

_UINT8, _FLOAT32, _FLOAT64 = (np.dtype(t) for t in (np.uint8, np.float32, np.float64))
_CHANNELS = 4  # the most that programs write

# Gives the memory for a result: (shape, dtype) → array.
Allocate = Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray]


class Sink:
    """Converts the last step's image to the recipe's `output`.

    The result shares no memory with the image, except for an image that `caller_arrays` shows to be free. One thread at
    a time.

    Args:
        output: the recipe's output.
        range: the image values that become 0 and full scale; None: 0..255 of uint8, 0..65535 of uint16, 0..1 of
            float32.
        depth: dtype of the unconverted images where a device does the rest; None: uint8.

    >>> Sink(Output())(np.full((2, 3, 1), 255, np.uint8)).tolist()
    [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]
    >>> Sink(Output(dtype="uint8"), range=(1000, 3000))(np.full((1, 1, 1), 2000, np.uint16)).tolist()
    [[[128]]]
    """

    def __init__(self, output: Output, range: tuple[float, float] | None = None, depth: Dtype | None = None) -> None:
        self.output = output
        self._for_device = output.where == "device"
        self._range = None if self._for_device else range
        self._color = "rgb" if self._for_device else output.color
        self.dtype = np.dtype((depth or "uint8") if self._for_device else output.dtype)
        self._top = RANGES[self.dtype.name] if self.dtype.kind == "u" else 0.0
        self._chw = output.layout == "chw"
        self._native: dict[tuple[int, np.dtype[Any]], SinkNumbers] = {}

    def __call__(
        self,
        image: np.ndarray,
        allocate: Allocate = np.empty,
        caller_arrays: Sequence[Any] | None = None,
        valid: np.ndarray | None = None,
    ) -> np.ndarray:
        """Convert an image H×W×C, uint8, uint16 or float32, to C×H×W or H×W×C of the output's dtype.

        Args:
            image: the last step's image.
            allocate: gives the memory of the result.
            caller_arrays: arrays that the caller holds. An image that is none of them and owns its memory may be
                returned itself; None: never.
            valid: booleans H×W; pixels where it is False become 0.
        """
        is_identity = self.is_identity(image.dtype) and valid is None
        if is_identity and caller_arrays is not None and allocate is np.empty and is_free(image, caller_arrays):
            return image
        check_color(self._color, image.shape[2])
        out = allocate(self.shape(*image.shape), self.dtype)
        if is_identity and image.flags.c_contiguous:
            out[...] = image
        elif self._color in COLOR_PLANES or not self.numbers(image.shape[2], image.dtype).write(image, out, valid):
            self._by_planes(image, out, valid)
        return out

    def is_identity(self, dtype: np.dtype[Any]) -> bool:
        """Whether images of `dtype` leave unchanged."""
        return not self._chw and self._color == "rgb" and self.keeps_levels(dtype)

    def keeps_levels(self, dtype: np.dtype[Any]) -> bool:
        """Whether the values of images of `dtype` leave unchanged."""
        is_whole = dtype.kind == "u" and self._range in (None, (0, self._top))
        return dtype == self.dtype and (self._for_device or is_whole)

    def shape(self, height: int, width: int, channels: int) -> tuple[int, int, int]:
        """The shape of the result."""
        planes = len(COLOR_PLANES[self._color]) if self._color in COLOR_PLANES else channels
        return (planes, height, width) if self._chw else (height, width, planes)

    def numbers(self, channels: int, dtype: np.dtype[Any] = _UINT8) -> "SinkNumbers":
        """The scales and shifts for images of some channels and dtype, cached."""
        known = self._native.get((channels, dtype))
        if known is None:
            check_color(self._color, channels)
            known = self._native[channels, dtype] = SinkNumbers(
                self._affines(dtype, channels),
                low=self._span(dtype)[0],
                top=self._top,
                chw=self._chw,
                bgr=self._color == "bgr",
            )
        return known

    def _span(self, dtype: np.dtype[Any]) -> tuple[float, float, float]:
        """(low, full, first): values minus `low`, as float32, range over `first`..`first + full`.

        Values far from 0 are shifted by `low` before they are scaled, which is more accurate; uint8 needs none.
        """
        lowest, highest = self._range or (0.0, RANGES[dtype.name])
        low = 0.0 if dtype == _UINT8 and self._color not in COLOR_PLANES else float(np.float32(lowest))
        return low, highest - lowest, lowest - low

    def _affines(self, dtype: np.dtype[Any], channels: int) -> list[tuple[float, float]]:
        """(scale, shift) of each output channel."""
        _, full, first = self._span(dtype)
        if self.keeps_levels(dtype):
            return [(1.0, 0.0)] * channels
        if self._top or self._for_device:
            top = self._top or 1.0
            return [(top / full, -first * top / full)] * channels
        return scales_and_shifts(self.output, channels, full, first)

    def _by_planes(self, image: np.ndarray, out: np.ndarray, valid: np.ndarray | None) -> None:
        """Convert channel by channel, with IEEE arithmetic rounded after each operation, as the kernels do."""
        planes = self._planes(image)
        parts = [out[c] if self._chw else out[..., c] for c in range(len(planes))]
        for plane, part, (scale, shift) in zip(planes, parts, self._affines(image.dtype, len(planes)), strict=True):
            values = np.multiply(plane, np.float32(scale), out=plane)
            values += np.float32(shift) if shift else np.float32(-0.0)
            with np.errstate(over="ignore"):  # beyond the range of float16: infinite, as the kernels have it
                part[...] = np.rint(np.fmin(np.fmax(values, 0), self._top)) if self._top else values
            if valid is not None:
                part[~valid] = 0

    def _planes(self, image: np.ndarray) -> list[np.ndarray]:
        """The output channels before scale and shift, float32 H×W each, with `low` subtracted."""
        low = np.float32(self._span(image.dtype)[0])
        if self._color in COLOR_PLANES and (self._color != "gray" or image.shape[2] > 1):
            return [self._plane(plane, image, low) for plane in COLOR_PLANES[self._color]]
        planes = [np.subtract(image[..., c], low, dtype=_FLOAT32) for c in range(image.shape[2])]
        return planes[::-1] if self._color == "bgr" else planes

    def _plane(self, plane: ColorPlane, image: np.ndarray, low: np.float32) -> np.ndarray:
        """A colour plane; exact integers where the output keeps levels, so that 0.999 does not become 0."""
        rounds = self.keeps_levels(image.dtype)
        dtype = _FLOAT64 if rounds else _FLOAT32  # whole numbers up to 2⁵³ are exact
        weights = plane.parts if rounds else plane.weights
        values: Any = np.subtract(image, 0 if rounds else low, dtype=dtype)
        out: Any
        if image.shape[2] == 1:
            out = values[..., 0] * dtype.type(sum(weights))
        else:
            out = cv2.transform(np.ascontiguousarray(values), np.array([weights], dtype))
        if not rounds:
            return out + np.float32(plane.offset * self._span(image.dtype)[1] / 255)
        return np.asarray((out + plane.rounding(int(self._top))) // plane.unit, _FLOAT32)


class SinkNumbers:
    """Scales and shifts of one output for images of some channels and one dtype, as kernels take them.

    Args:
        affines: (scale, shift) of each output channel.
        low: subtracted from each value first.
        top: the largest integer output.
        chw: the layout is C×H×W.
        bgr: the channels leave in reverse order.
    """

    def __init__(
        self, affines: Sequence[tuple[float, float]], *, low: float = 0.0, top: float = 255.0, chw: bool, bgr: bool
    ) -> None:
        kernels = library()
        self._kernel = None if kernels is None else kernels.kernel("sink", "pllllipppilllp")
        self._deep_kernel = None if kernels is None else kernels.kernel("deep_sink", "pillllifppfpllpilll")
        self._low, self._top, self._chw, self._bgr = low, top, chw, bgr
        by_input = affines[::-1] if bgr else affines
        self._scales = np.array([scale for scale, _ in by_input], np.float32)
        self._shifts = np.array([shift or -0.0 for _, shift in by_input], np.float32)  # adding -0.0 changes no value
        self.four = tuple((*v.tolist(), *[0.0] * (_CHANNELS - len(v))) for v in (self._scales, self._shifts))
        self._numbers = self._scales.ctypes.data, self._shifts.ctypes.data
        copies = all(affine == (1, 0) for affine in affines)
        self._plain = (_UINT8, _FLOAT32) if copies else (_FLOAT32,)  # dtypes that the fast kernel writes

    def write(self, image: np.ndarray, out: np.ndarray, valid: np.ndarray | None = None) -> bool:
        """Write an image H×W×C, which may be a flipped view, into `out`; False where no kernel can."""
        (row, pixel, channel), channels = image.strides, image.shape[2]
        if (
            self._kernel is None
            or self._deep_kernel is None
            or (channel != image.itemsize and channels > 1)
            or not out.flags.aligned
        ):
            return False
        if (written := self.strides(out[None], channels)) is None:
            return False
        start, _, *strides = written
        target = address_of(out) + start, written_as(out), *strides
        if image.dtype == _UINT8 and channels <= _CHANNELS and valid is None and out.dtype in self._plain:
            return not self._kernel(address_of(image), row, pixel, *image.shape, *self._numbers, *target, None)
        marks = (None, 0, 0) if valid is None else (address_of(valid), *valid.strides)
        answer = self._deep_kernel(
            address_of(image), VALUES[image.dtype], row, pixel, *image.shape, self._low, *self._numbers, self._top,
            *marks, *target,
        )  # fmt: skip
        return bool(answer == 0)

    def strides(self, out: np.ndarray, channels: int) -> tuple[int, ...] | None:
        """The offset of the first channel in `out`, in bytes, and the strides in elements as the kernel takes them."""
        return _strides(out.strides, out.itemsize, channels, self._chw, self._bgr)


@lru_cache(maxsize=99)
def _strides(strides: tuple[int, ...], size: int, channels: int, chw: bool, bgr: bool) -> tuple[int, ...] | None:
    if any(stride % size for stride in strides):
        return None
    each, *steps = (stride // size for stride in strides)
    plane, down, across = steps if chw else (steps[2], steps[0], steps[1])
    return ((channels - 1) * plane * size, each, down, across, -plane) if bgr else (0, each, down, across, plane)


def is_free(array: np.ndarray, caller_arrays: Sequence[Any]) -> bool:
    """Whether an array owns its contiguous, writable memory and is none of the caller's arrays.

    >>> a = np.zeros((2, 2, 3), np.uint8)
    >>> is_free(a, ()), is_free(a, (a,)), is_free(a[:1], ())
    (True, False, False)
    """
    for other in caller_arrays:  # faster than `any` of a generator
        if array is other:
            return False
    flags = array.flags
    return flags.owndata and flags.c_contiguous and flags.writeable
