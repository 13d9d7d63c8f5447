"""The sink: the one place where a sample becomes float. Scale, shift, dtype, colour and layout in one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.channels_in_turn import Affine, Turns
from augrecipes.compiler.kernels.formulas import LUMAS, Luma, check_color, scales_and_shifts
from augrecipes.compiler.kernels.gathering import Gathered
from augrecipes.compiler.kernels.moves import CV_CHANNELS
from augrecipes.compiler.kernels.scratch import Scratch, is_free
from augrecipes.compiler.kernels.sink_native import NativeSink
from augrecipes.recipe.model import Output

_UINT8, _FLOAT16, _FLOAT32, _FLOAT64 = (np.dtype(t) for t in (np.uint8, np.float16, np.float32, np.float64))

# Gives the memory for a result: (shape, dtype) → array.
Allocate = Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray]
_AT_ONCE = 1 << 17  # bytes of images that are turned into floats while they are in the cache


class Sink:
    """Turns the last step's image into what the recipe's `output` asks for.

    A uint8 image counts 0..255, a float32 image 0..1. The result shares memory neither with the sink's own scratch nor,
    unless it is said to be free, with the image. One thread at a time.

    >>> Sink(Output())(np.full((2, 3, 1), 255, np.uint8)).tolist()
    [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]
    """

    def __init__(self, output: Output) -> None:
        self.output = output
        self._color = "rgb" if output.where == "device" else output.color
        self.dtype = _UINT8 if output.where == "device" else np.dtype(output.dtype)
        self._as_it_is = self.dtype == _UINT8 and output.layout == "hwc" and self._color == "rgb"
        # OpenCV parts channels of uint8 in half of the native kernel's time.
        self._parts = self.dtype == _UINT8 and output.layout == "chw" and self._color == "rgb"
        self._affine_by: dict[tuple[int, float], list[Affine]] = {}
        self._turns: dict[tuple[int, float], Turns] = {}
        self._native: dict[int, NativeSink] = {}
        self._interleaved = output.layout == "hwc" and self._color == "rgb" and self.dtype != _UINT8
        self._scratch = Scratch()
        self._room: list[np.ndarray] = []
        self._room_for: Any = None

    def __call__(
        self, image: np.ndarray, allocate: Allocate = np.empty, held: Sequence[Any] | None = None
    ) -> np.ndarray:
        """An image H×W×C, uint8 or float32, as C×H×W or H×W×C of the output's dtype, in memory from `allocate`.

        Args:
            image: the last step's.
            allocate: gives the memory.
            held: arrays that somebody else holds. An image that is none of them, and has memory of its own, may leave
                as it is; None: no image may.
        """
        copies = held is None or allocate is not np.empty
        by_cv = self._as_it_is or (self._parts and image.shape[2] > 1)
        if not by_cv and (native := self._natively(image.dtype, image.shape[2])) is not None:
            out = allocate(self.shape(*image.shape), self.dtype)
            if native(image, out):
                return out
            out[...] = self._in_python(image, np.empty, copies=True, held=None)
            return out
        return self._in_python(image, allocate, copies, held)

    def _in_python(self, image: np.ndarray, allocate: Allocate, copies: bool, held: Sequence[Any] | None) -> np.ndarray:
        """A call without the native kernel."""
        if self._as_it_is and image.dtype == _UINT8:
            if not copies and is_free(image, held or ()):
                return image
            out = allocate(image.shape, _UINT8)
            out[...] = image
            return out
        if self._interleaved:
            out = allocate(image.shape, self.dtype)
            self._in_turn(image, out)
            return out
        height, width = image.shape[:2]
        chw = self.output.layout == "chw"
        if chw and image.dtype == self.dtype == _UINT8 and self._color == "rgb" and 1 < image.shape[2] <= CV_CHANNELS:
            out = allocate((image.shape[2], height, width), _UINT8)
            if out.flags.c_contiguous:  # else cv2 would write elsewhere
                *first, last = out
                apart = _plane(self._scratch.array("last", (height * width + 1,), _UINT8), height, width)
                cv2.split(image, [*first, apart])
                last[...] = apart
                return out
            out[...] = image.transpose(2, 0, 1)
            return out
        planes = self._planes(image)
        count = len(planes)
        out = allocate((count, height, width) if chw else (height, width, count), self.dtype)
        full = 255.0 if image.dtype == _UINT8 else 1.0
        affines = self._affine(count, full)
        for c, plane in enumerate(planes):
            part = out[c] if chw else out[..., c]
            if self.dtype != _UINT8:
                self._as_float(plane, affines[c], part)
            else:
                part[...] = plane if plane.dtype == _UINT8 else self._as_uint8(plane, full)
        return out

    def many(self, images: Gathered, shape: tuple[int, int, int], allocate: Allocate = np.empty) -> np.ndarray:
        """uint8 images of one shape, each as a call would give it, side by side: the bits are the same.

        Args:
            images: that lie here and there.
            shape: of each, H×W×C.
            allocate: gives the memory for all.

        >>> from augrecipes.compiler.kernels.gathering import Views
        >>> Sink(Output()).many(Views(np.zeros((2, 3, 4, 3), np.uint8)), (3, 4, 3)).shape
        (2, 3, 3, 4)
        """
        count = len(images)
        height, width, channels = shape
        chw, planes = self.output.layout == "chw", channels if self._color in ("rgb", "bgr") else 1
        out = allocate((count, *self.shape(*shape)), self.dtype)
        if self._as_it_is:
            images.copy(0, count, out)
            return out
        native = self._natively(_UINT8, channels)
        if native is not None and (places := images.places()) is not None and native.many(places, shape, out):
            return out
        affines = self._affine(planes, 255.0)
        step = max(1, _AT_ONCE // (height * width * channels))
        room = self._scratch.array("many", (min(step, count), *shape), _UINT8)
        for start in range(0, count, step):
            some = min(step, count - start)
            images.copy(start, start + some, room[:some])
            if self._interleaved:
                for image, part in zip(room[:some], out[start : start + some], strict=True):
                    self._in_turn(image, part)
                continue
            # One below the other they are one tall image, whose channels are split in one call.
            for c, plane in enumerate(self._planes(room[:some].reshape(some * height, width, channels))):
                part = out[start : start + some]
                part = part[:, c] if chw else part[..., c]
                pixels = plane.reshape(some, height, width)
                if self.dtype == _UINT8:
                    part[...] = pixels
                else:
                    self._as_float(pixels, affines[c], part)
        return out

    def _natively(self, dtype: np.dtype[Any], channels: int) -> NativeSink | None:
        """The native kernel for such images; None where there is none."""
        if dtype != _UINT8 or self._color not in ("rgb", "bgr") or channels > CV_CHANNELS or self.dtype == _FLOAT16:
            return None
        native = self.numbers(channels)
        return native if native.here else None

    def shape(self, height: int, width: int, channels: int) -> tuple[int, int, int]:
        """Of what leaves."""
        planes = channels if self._color in ("rgb", "bgr") else 1
        return (planes, height, width) if self.output.layout == "chw" else (height, width, planes)

    def numbers(self, channels: int) -> NativeSink:
        """Those of the output for pictures of uint8, kept."""
        known = self._native.get(channels)
        if known is None:
            check_color(self._color, channels)
            known = self._native[channels] = NativeSink(
                self._affine(channels, 255.0) if self.dtype != _UINT8 else [(None, None)] * channels,
                chw=self.output.layout == "chw",
                bgr=self._color == "bgr",
            )
        return known

    def _as_uint8(self, plane: np.ndarray, full: float) -> np.ndarray:
        """Values of 0..`full` as whole numbers in 0..255."""
        work = self._scratch.array("work", plane.shape, _FLOAT32)
        np.multiply(plane, np.float32(255.0 / full), out=work)
        np.clip(work, 0, 255, out=work)
        return np.rint(work, out=work)

    def _as_float(self, plane: np.ndarray, affine: Affine, out: np.ndarray) -> None:
        """One multiplication and one addition a value: IEEE arithmetic, the same whatever the strides."""
        work = out if out.dtype == _FLOAT32 else self._scratch.array("work", plane.shape, _FLOAT32)
        # Three passes in place: a multiplication that converts on the way takes longer (benchmarks/fast.py).
        work[...] = plane
        scale, shift = affine
        if scale is not None:
            work *= scale
        if shift is not None:
            work += shift
        if work is not out:
            out[...] = work

    def _in_turn(self, image: np.ndarray, out: np.ndarray) -> None:
        """The arithmetic of `_as_float` for channels that take turns."""
        key = image.shape[2], 255.0 if image.dtype == _UINT8 else 1.0
        if key not in self._turns:
            self._turns[key] = Turns(self._affine(*key), self._scratch)
        self._turns[key](image, out)

    def _planes(self, base: np.ndarray) -> list[np.ndarray]:
        """The channels that leave, H×W each, in scratch or in the image itself."""
        check_color(self._color, base.shape[2])
        if self._color == "rgb":
            return self._split(base)
        if self._color == "bgr":
            return self._split(base)[::-1]
        if self._color == "gray" and base.shape[2] == 1:
            return [base[..., 0]]
        return [self._luma(LUMAS[self._color], base)]

    def _luma(self, luma: Luma, base: np.ndarray) -> np.ndarray:
        """The luma plane; as uint8 where uint8 both comes and leaves, so that 0.999 does not become 0."""
        shape, grey = base.shape, base.shape[2] == 1
        rounds = base.dtype == _UINT8 and self.dtype == _UINT8
        dtype = _FLOAT64 if rounds else _FLOAT32  # whole numbers up to 2⁵³ are exact
        values = self._scratch.array("values", shape, dtype)
        values[...] = base
        out = self._scratch.array("luma", shape[:2], dtype)
        weights = luma.parts if rounds else luma.weights
        if grey:
            np.multiply(values[..., 0], dtype.type(sum(weights)), out=out)
        else:
            out = cv2.transform(values, np.array([weights], dtype), dst=out)
        if not rounds:
            out += np.float32(luma.offset * (1.0 if base.dtype == _UINT8 else 1 / 255))
            return out
        out += luma.rounding
        np.floor_divide(out, luma.unit, out=out)
        whole = self._scratch.array("whole", shape[:2], _UINT8)
        whole[...] = out
        return whole

    def _affine(self, channels: int, full: float) -> list[Affine]:
        """(scale, shift) of each channel, worked out in float64 once and kept."""
        known = self._affine_by.get((channels, full))
        if known is None:
            pairs = scales_and_shifts(self.output, channels, full) if self.dtype != _UINT8 else []
            known = self._affine_by[channels, full] = [
                (None if scale == 1 else np.float32(scale), None if shift == 0 else np.float32(shift))
                for scale, shift in pairs
            ]
        return known

    def _split(self, image: np.ndarray) -> list[np.ndarray]:
        """The channels of an H×W×C array as H×W arrays."""
        height, width, channels = image.shape
        if channels == 1 or channels > CV_CHANNELS or not image.size:
            return [image[..., c] for c in range(channels)]
        if self._room_for != (image.shape, image.dtype):
            self._room = [_plane(np.empty(k + height * width, image.dtype), height, width) for k in range(channels)]
            self._room_for = (image.shape, image.dtype)
        return list(cv2.split(image, self._room))


def _plane(room: np.ndarray, height: int, width: int) -> np.ndarray:
    """A plane H×W for cv2.split: the last elements of `room`, which may have more so that planes begin unlike.

    Where all begin at the same place of a 64-byte line, as parts of one block and arrays of their own mostly do,
    cv2.split writes past the cache, from which they are read next, and a window row by row, in ten times the time.
    """
    return room[-height * width :].reshape(height, width)
