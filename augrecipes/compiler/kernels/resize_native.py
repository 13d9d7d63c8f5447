"""Resizing, or a window of what is resized, in one native pass, with the bits of the installed OpenCV."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.native.kernels import Library, library
from augrecipes.ops.warps import AREA, CUBIC, LINEAR, NEAREST

Window = tuple[int, int, int, int]  # y0, x0, y1, x1 of a result, ends exclusive
_ARGUMENTS = "plllill" + "plllll"
_KERNELS = ("resize", "cubic", "shrink", "blocks", "nearest")
_CHANNELS = {"resize": (3, 4), "cubic": (3,), "shrink": (3, 4), "blocks": (1, 2, 3, 4)}
_MOST = 16  # pixels along a block
_LEAST = 4  # pixels of a side: of smaller pictures OpenCV makes larger or smaller ones by cubics in another way
_BYTES = 32  # of a pixel
_DTYPES = frozenset("bBhHifd")  # what OpenCV resizes


class NativeResize:
    """Albumentations' `resize` and `scale`, by native kernels where their bits are OpenCV's.

    Args:
        kernels: of this machine.
    """

    def __init__(self, kernels: Library) -> None:
        self._isa = kernels.isa
        self._kernels = {name: kernels.kernel(name, _ARGUMENTS) for name in _KERNELS}

    def functions(self) -> dict[str, Callable[..., Any]]:
        """By the names that albumentations gives them."""
        return {"resize": self.resize, "scale": self.scale}

    def resize(self, img: np.ndarray, target_shape: tuple[int, int], interpolation: int) -> np.ndarray:
        """A picture of another height and width; itself where it has them."""
        if target_shape == img.shape[:2]:
            return img
        made = self.resized(img, target_shape[:2], interpolation)
        return geometric.resize(img, target_shape, interpolation) if made is None else made

    def scale(self, img: np.ndarray, scale: float, interpolation: int) -> np.ndarray:
        """A picture larger or smaller by a factor."""
        height, width = img.shape[:2]
        return self.resize(img, (int(height * scale), int(width * scale)), interpolation)

    def resized(self, image: np.ndarray, size: tuple[int, int], interpolation: int) -> np.ndarray | None:
        """A picture H×W or H×W×C of another size, rows and columns; None where that is OpenCV's to do."""
        name = kernel_for(image, size, interpolation)
        return self.forced(name, image, size) if name is not None and self.has(name) else None

    def has(self, name: str) -> bool:
        """Whether a kernel has OpenCV's bits here."""
        return same_bits(self._isa, name, self)

    def forced(
        self,
        name: str,
        image: np.ndarray,
        size: tuple[int, int],
        out: np.ndarray | None = None,
        window: Window | None = None,
    ) -> np.ndarray | None:
        """The same, or a window of it, by a kernel of this name, whatever OpenCV's bits are; `out`: memory for it."""
        height, width = int(size[0]), int(size[1])
        y0, x0, y1, x1 = window or (0, 0, height, width)
        if out is None:
            out = np.empty((max(y1 - y0, 0), max(x1 - x0, 0), *image.shape[2:]), image.dtype)
        done = self._kernels[name](
            image.ctypes.data, *image.shape[:2], image.strides[0], image.strides[1], height, width,
            out.ctypes.data, y0, x0, y1 - y0, x1 - x0, out.strides[0],
        )  # fmt: skip
        return out if done == 0 else None


def kernel_for(image: np.ndarray, size: tuple[int, int], interpolation: int) -> str | None:
    """The kernel that does what OpenCV does with such a picture; None: there is none. OpenCV has many ways.

    >>> picture = np.zeros((40, 60, 3), np.uint8)
    >>> kernel_for(picture, (20, 30), AREA), kernel_for(picture, (21, 30), AREA), kernel_for(picture, (20, 30), LINEAR)
    ('blocks', 'shrink', 'blocks')
    """
    (rows, columns, *more), (height, width) = image.shape, size
    channels: int = more[0] if more else 1
    bytes_of = channels * image.itemsize
    if (
        image.strides[1] != bytes_of
        or (channels > 1 and image.strides[2] != image.itemsize)
        or min(height, width, rows) < 1
    ):
        return None
    if interpolation == NEAREST:
        return "nearest" if bytes_of <= _BYTES and image.dtype.char in _DTYPES else None
    if image.dtype != np.uint8 or columns < 1:
        return None
    down, across = 1 / (height / rows), 1 / (width / columns)  # as OpenCV calculates
    if interpolation == LINEAR:
        name = "blocks" if down == across == 2 else "resize"
    elif interpolation == CUBIC and min(rows, columns) >= _LEAST:
        name = "cubic"
    elif interpolation == AREA and down >= 1 and across >= 1:
        whole = down.is_integer() and across.is_integer()
        if whole and max(down, across) > _MOST:
            return None
        name = "blocks" if whole else "shrink"
    else:
        return None
    return name if channels in _CHANNELS[name] else None


def functions() -> dict[str, Callable[..., Any]]:
    """What may be called in place of albumentations' own functions on this machine."""
    found = here()
    return {} if found is None else found.functions()


def here() -> NativeResize | None:
    """The native resize of this machine; None where there is none."""
    found = library()
    return None if found is None else _of(found)


@cache
def _of(kernels: Library) -> NativeResize:
    return NativeResize(kernels)


def same_bits(isa: str, name: str, native: NativeResize) -> bool:
    """Whether a kernel gives the bits of the installed OpenCV: asked once a process."""
    if (isa, name) not in _KNOWN:
        _KNOWN[isa, name] = agrees(native, name)
    return _KNOWN[isa, name]


_KNOWN: dict[tuple[str, str], bool] = {}
_INTERPOLATIONS = {
    "resize": (LINEAR,),
    "cubic": (CUBIC,),
    "shrink": (AREA,),
    "blocks": (AREA, LINEAR),
    "nearest": (NEAREST,),
}


def agrees(native: NativeResize, name: str) -> bool:
    """Whether a kernel gives OpenCV's bits on noise made larger, smaller, half as large, or one pixel wide."""
    random = np.random.default_rng(0)
    for shape, size in (
        ((61, 47, 3), (90, 133)), ((61, 97, 3), (23, 41)), ((90, 80, 3), (45, 40)), ((33, 50, 4), (64, 31)),
        ((2, 300, 3), (7, 290)), ((300, 1, 3), (270, 1)), ((1, 1, 4), (3, 3)), ((64, 64, 3), (64, 50)),
        ((66, 42, 1), (33, 21)), ((99, 33, 2), (33, 11)), ((48, 96, 3), (12, 16)), ((90, 46, 2), (45, 23)),
        ((64, 63, 4), (4, 9)), ((70, 50, 1), (33, 77)), ((51, 70, 2), (200, 31)), ((98, 98, 3), (2, 2)),
        # Sums of cubics that are often halves, up to how they are rounded.
        ((400, 50, 3), (400, 6)), ((50, 400, 3), (6, 400)), ((50, 50, 3), (30, 30)), ((4, 5, 3), (12, 15)),
    ):  # fmt: skip
        image: Any = random.integers(0, 256, shape, np.uint8)
        for interpolation in _INTERPOLATIONS[name]:
            if kernel_for(image, size, interpolation) != name:
                continue
            made = native.forced(name, image, size)
            own = cv2.resize(image, size[::-1], interpolation=interpolation)
            if made is None or not np.array_equal(made, own.reshape(made.shape)):
                return False
    return True
