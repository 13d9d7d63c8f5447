"""Unmade: pictures that are to be resized or padded, and have not been yet. What is cut off of them is never made.

`resize`, `scale` and `pad_with_params` have the names and arguments of albumentations' own, so that its transforms,
which say how large and how sampled, call them; they take and give pictures that are not made yet.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.compat.instead import Functions
from augrecipes.compiler.kernels import padded, resize_native
from augrecipes.compiler.kernels.resize_native import Window
from augrecipes.compiler.kernels.scratch import Scratch
from augrecipes.compiler.kernels.undecoded import Undecoded

_DTYPES = tuple(np.dtype(t) for t in (np.uint8, np.float32, np.uint16))  # of which any resize and any padding succeeds
_CHANNELS = 4  # that OpenCV pads at once
_FLAT = 2  # axes of labels
SMALL = 1 << 14  # px of a padded picture, up to which padding it costs less than not yet doing so


class Unmade(Protocol):
    """A picture that is made when it is asked for. Slicing it is free."""

    @property
    def shape(self) -> tuple[int, ...]:
        """H×W×C; of labels, H×W."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its pixels."""

    def __getitem__(self, cut: tuple[slice, slice]) -> Pixels:
        """A window of it."""

    def array(self, scratch: Scratch | None = None) -> np.ndarray:
        """The pixels, in memory of `scratch` where given; possibly a view of more."""


class Resizing:
    """A window of a picture of another size. Slicing it is free.

    Args:
        source: the picture.
        size: of the whole result, rows and columns.
        interpolation: as OpenCV numbers it.
        window: of the result.

    Attributes:
        shape: of the window.
        dtype: of its pixels.
        ndim: its axes: of labels, two.
    """

    __slots__ = ("dtype", "interpolation", "ndim", "shape", "size", "source", "window")

    def __init__(self, source: Pixels, size: tuple[int, int], interpolation: int, window: Window) -> None:
        self.source, self.size, self.interpolation, self.window = source, size, interpolation, window
        self.shape = _shape(window, source)
        self.dtype: np.dtype[Any] = source.dtype
        self.ndim = len(self.shape)

    def __getitem__(self, cut: tuple[slice, slice]) -> Resizing:
        """A window of the window."""
        return Resizing(self.source, self.size, self.interpolation, _cut(self.window, cut))

    def array(self, scratch: Scratch | None = None) -> np.ndarray:
        """The pixels, in memory of `scratch` where given; possibly a view of more."""
        source = realised(self.source)
        if (native := resize_native.here()) is not None:
            out = None if scratch is None else scratch.array("resized", self.shape, self.dtype, beside=source)
            made = native.resized(source, self.size, self.interpolation, out, self.window)
            if made is not None:
                return made
        y0, x0, y1, x1 = self.window
        whole: np.ndarray = geometric.resize(source, self.size, self.interpolation)
        return whole[y0:y1, x0:x1]

    def write(self, out: np.ndarray) -> None:
        """The pixels written to `out`, whose own lie side by side."""
        source, native = realised(self.source), resize_native.here()
        if native is None or native.resized(source, self.size, self.interpolation, out, self.window) is None:
            out[...] = Resizing(source, self.size, self.interpolation, self.window).array()


class Padding:
    """A window of a picture with a border of one colour. Slicing it is free.

    Args:
        inner: the picture.
        top: the row of the whole at which it begins.
        left: the column.
        value: of the border, as albumentations takes it.
        window: of the whole.

    Attributes:
        shape: of the window.
        dtype: of its pixels.
        ndim: its axes: of labels, two.
    """

    __slots__ = ("dtype", "inner", "left", "ndim", "shape", "top", "value", "window")

    def __init__(self, inner: Pixels, top: int, left: int, value: Any, window: Window) -> None:
        self.inner, self.top, self.left, self.value, self.window = inner, top, left, value, window
        self.shape = _shape(window, inner)
        self.dtype: np.dtype[Any] = inner.dtype
        self.ndim = len(self.shape)

    def __getitem__(self, cut: tuple[slice, slice]) -> Pixels:
        """A window of the window; where no border is left, of the picture."""
        y0, x0, y1, x1 = window = _cut(self.window, cut)
        height, width = self.inner.shape[:2]
        y0, x0, y1, x1 = y0 - self.top, x0 - self.left, y1 - self.top, x1 - self.left
        if 0 <= y0 < y1 <= height and 0 <= x0 < x1 <= width:
            return self.inner[y0:y1, x0:x1]
        return Padding(self.inner, self.top, self.left, self.value, window)

    def array(self, scratch: Scratch | None = None) -> np.ndarray:
        """The pixels, in memory of `scratch` where given."""
        out = np.empty(self.shape, self.dtype) if scratch is None else scratch.array("padded", self.shape, self.dtype)
        self.write(out)
        return out

    def write(self, out: np.ndarray) -> None:
        """The pixels written to `out`, whose own lie side by side."""
        (y0, x0, y1, x1), (height, width) = self.window, self.inner.shape[:2]
        top, bottom = (min(max(at, y0), y1) - y0 for at in (self.top, self.top + height))
        left, right = (min(max(at, x0), x1) - x0 for at in (self.left, self.left + width))
        line = _line(self.value, self.dtype, x1 - x0, self.shape[2:])
        if top == bottom or left == right:
            out[...] = line
            return
        out[:top], out[bottom:] = line, line
        out[top:bottom, :left], out[top:bottom, right:] = line[:left], line[right:]
        down, across = y0 - self.top, x0 - self.left
        part = self.inner[down + top : down + bottom, across + left : across + right]
        if isinstance(part, Resizing | Padding):
            part.write(out[top:bottom, left:right])
        else:
            out[top:bottom, left:right] = realised(part)


Pixels: TypeAlias = np.ndarray | Undecoded | Unmade


def realised(pixels: Pixels, scratch: Scratch | None = None) -> np.ndarray:
    """The pixels, made where they are not yet, and then in memory of `scratch` where given."""
    if isinstance(pixels, np.ndarray):
        return pixels
    return pixels.array() if isinstance(pixels, Undecoded) else pixels.array(scratch)


def resize(img: Pixels, target_shape: tuple[int, int], interpolation: int) -> Pixels:
    """A picture of another height and width; itself where it has them."""
    if target_shape == img.shape[:2]:
        return img
    height, width = size = int(target_shape[0]), int(target_shape[1])
    if height < 1 or width < 1 or img.dtype not in _DTYPES or 0 in img.shape:
        resized: np.ndarray = geometric.resize(realised(img), target_shape, interpolation)  # which may fail, and now
        return resized
    return Resizing(img, size, interpolation, (0, 0, height, width))


def scale(img: Pixels, scale: float, interpolation: int) -> Pixels:
    """A picture larger or smaller by a factor."""
    height, width = img.shape[:2]
    return resize(img, (int(height * scale), int(width * scale)), interpolation)


def pad_with_params(
    img: Pixels,
    h_pad_top: int,
    h_pad_bottom: int,
    w_pad_left: int,
    w_pad_right: int,
    border_mode: int,
    value: Any,
) -> Pixels:
    """A picture with a border; itself where there is none."""
    sides = h_pad_top, h_pad_bottom, w_pad_left, w_pad_right
    if not any(sides):
        return img
    channels = img.shape[2] if len(img.shape) > _FLAT else 1
    alike = isinstance(value, int | float) or (isinstance(value, tuple | list) and len(value) == channels)
    simple = border_mode == cv2.BORDER_CONSTANT and alike and channels <= _CHANNELS and img.dtype in _DTYPES
    height, width = img.shape[0] + h_pad_top + h_pad_bottom, img.shape[1] + w_pad_left + w_pad_right
    small = isinstance(img, np.ndarray) and height * width <= SMALL
    if small or not simple or min(sides) < 0 or 0 in img.shape:
        return padded.pad_with_params(realised(img), *sides, border_mode, value)
    value = value if isinstance(value, int | float) else tuple(value)
    return Padding(img, int(h_pad_top), int(w_pad_left), value, (0, 0, int(height), int(width)))


FUNCTIONS: Functions = {"resize": resize, "scale": scale, "pad_with_params": pad_with_params}


def _shape(window: Window, pixels: Pixels) -> tuple[int, ...]:
    y0, x0, y1, x1 = window
    return (y1 - y0, x1 - x0, *pixels.shape[2:])


def _cut(window: Window, cut: tuple[slice, slice]) -> Window:
    y0, x0, y1, x1 = window
    (top, bottom, _), (left, right, _) = cut[0].indices(y1 - y0), cut[1].indices(x1 - x0)
    return y0 + top, x0 + left, y0 + max(top, bottom), x0 + max(left, right)


@lru_cache(maxsize=64)
def _line(value: Any, dtype: np.dtype[Any], width: int, more: tuple[int, ...]) -> np.ndarray:
    """A row of a border, as OpenCV makes it."""
    dot = np.zeros((1, 1, *more), dtype)
    line: np.ndarray = geometric.pad_with_params(dot, 0, 0, 0, width, cv2.BORDER_CONSTANT, value)[0, 1:]
    line.flags.writeable = False
    return line
