"""Resizing in one native pass, linear or by areas, for steps as they are written: with the installed OpenCV's bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.native.kernels import Library, library
from augrecipes.ops.warps import AREA, LINEAR

_CHANNELS = (3, 4)
_COLOURS = 3  # axes of a picture with channels
_KERNELS = {LINEAR: "resize", AREA: "shrink"}
_QUICK = ("v3", "v4")  # instruction sets with which the kernel is quicker than OpenCV


class NativeResize:
    """Albumentations' `resize` and `scale`, by a native kernel where its bits are OpenCV's.

    Args:
        kernels: of this machine.
    """

    def __init__(self, kernels: Library) -> None:
        self._isa = kernels.isa
        self._kernels = {how: kernels.kernel(name, "plllipll" + "l") for how, name in _KERNELS.items()}

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

    def resized(
        self, image: np.ndarray, size: tuple[int, int], interpolation: int, out: np.ndarray | None = None
    ) -> np.ndarray | None:
        """A uint8 picture H×W×C of another size, in memory of `out` where given; None where that is OpenCV's to do."""
        if interpolation not in _KERNELS or image.dtype != np.uint8 or image.ndim != _COLOURS:
            return None
        (rows, columns, channels), (height, width) = image.shape, size
        if channels not in _CHANNELS or image.strides[1:] != (channels, 1) or self._isa not in _QUICK:
            return None
        if height < 1 or width < 1 or not _is_ours(interpolation, rows / height, columns / width):
            return None
        if not same_bits(self._isa, interpolation, self):
            return None
        return self.forced(image, (int(height), int(width)), interpolation, out)

    def forced(
        self, image: np.ndarray, size: tuple[int, int], interpolation: int, out: np.ndarray | None = None
    ) -> np.ndarray | None:
        """The same whatever OpenCV's bits are."""
        height, width, channels = *size, image.shape[2]
        out = np.empty((max(height, 0), max(width, 0), channels), np.uint8) if out is None else out
        done = self._kernels[interpolation](
            image.ctypes.data, *image.shape[:2], image.strides[0], channels, out.ctypes.data, height, width,
            width * channels,
        )  # fmt: skip
        return out if done == 0 else None


def _is_ours(interpolation: int, down: float, across: float) -> bool:
    """Whether a picture so many times as high and as wide is the kernel's to resize; OpenCV has other ways for some."""
    if interpolation == LINEAR:
        return not down == across == 2
    return down >= 1 and across >= 1 and not (down.is_integer() and across.is_integer())


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


def same_bits(isa: str, interpolation: int, native: NativeResize) -> bool:
    """Whether the kernel gives the bits of the installed OpenCV: asked once a process."""
    if (isa, interpolation) not in _KNOWN:
        _KNOWN[isa, interpolation] = agrees(native, interpolation)
    return _KNOWN[isa, interpolation]


_KNOWN: dict[tuple[str, int], bool] = {}


def agrees(native: NativeResize, interpolation: int) -> bool:
    """Whether the kernel gives OpenCV's bits on noise made larger, smaller, half as large, or one pixel wide."""
    random = np.random.default_rng(0)
    for shape, size in (
        ((61, 47, 3), (90, 133)), ((61, 97, 3), (23, 41)), ((90, 80, 3), (45, 40)), ((33, 50, 4), (64, 31)),
        ((2, 300, 3), (7, 290)), ((300, 1, 3), (270, 1)), ((1, 1, 4), (3, 3)), ((64, 64, 3), (64, 50)),
    ):  # fmt: skip
        image: Any = random.integers(0, 256, shape, np.uint8)
        if not _is_ours(interpolation, shape[0] / size[0], shape[1] / size[1]):
            continue
        made = native.forced(image, size, interpolation)
        if made is None or not np.array_equal(made, cv2.resize(image, size[::-1], interpolation=interpolation)):
            return False
    return True
