"""The sink: the one place where a sample becomes float. Scale, shift, dtype, colour and layout in one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.moves import Moved
from augrecipes.errors import DataError
from augrecipes.recipe.model import Output

# BT.601 luma of values in 0..255, in 16..235, as super-resolution papers measure it (ITU-R BT.601; MATLAB rgb2ycbcr).
_LUMA = (65.481 / 255, 128.553 / 255, 24.966 / 255)
_LUMA_OFFSET = 16.0
# BT.601 grey in full range, as cv2.COLOR_RGB2GRAY.
_GREY = (0.299, 0.587, 0.114)
_RGB = 3

# Gives the memory for a result: (shape, dtype) → array.
Allocate = Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray]


class Sink:
    """Turns the last step's image into what the recipe's `output` asks for.

    A uint8 image counts 0..255, a float32 image 0..1. The result never shares memory with the image.

    >>> Sink(Output())(np.full((2, 3, 1), 255, np.uint8)).tolist()
    [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]
    """

    def __init__(self, output: Output) -> None:
        self.output = output
        self._uint8 = output.dtype == "uint8" or output.where == "device"
        self._as_it_is = self._uint8 and output.layout == "hwc" and (output.color == "rgb" or output.where == "device")
        self._affine_by: dict[tuple[int, float], list[tuple[np.float32, np.float32]]] = {}

    def __call__(self, image: np.ndarray | Moved, allocate: Allocate = np.empty) -> np.ndarray:
        """An image H×W×C, uint8 or float32, as C×H×W or H×W×C of the output's dtype, in memory from `allocate`."""
        if self._as_it_is and image.dtype == np.uint8:
            array = image if isinstance(image, np.ndarray) else image.array()
            out = allocate(array.shape, array.dtype)
            out[...] = array
            return out
        moved = image if isinstance(image, Moved) else Moved(image)
        if moved.symmetry.transpose or moved.symmetry.flip_x:
            # Reading columns, or rows backwards, pixel by pixel is slower than letting cv2 move them first:
            # 0.34 ms against 0.09 for a flip of 224² (benchmarks/basics.py).
            moved = Moved(moved.array())
        planes = self._planes(moved)
        full = 255.0 if moved.dtype == np.uint8 else 1.0
        if self._uint8:
            return self._stack(planes, np.dtype(np.uint8), moved, 255.0 / full, None, allocate)
        affine = self._affine(len(planes), full)
        if self.output.dtype == "float32":
            return self._stack(planes, np.dtype(np.float32), moved, 1.0, affine, allocate)
        full_precision = self._stack(planes, np.dtype(np.float32), moved, 1.0, affine, np.empty)
        half = allocate(full_precision.shape, np.dtype(np.float16))
        half[...] = full_precision
        return half

    def _planes(self, moved: Moved) -> list[np.ndarray]:
        """The channels that leave, H×W each, before the flips that `moved` still owes."""
        channels = moved.shape[2]
        if self.output.where == "device" or self.output.color == "rgb":
            return _split(moved.base)
        if self.output.color == "bgr" and channels == _RGB:
            return _split(moved.base)[::-1]
        if self.output.color == "bgr" or channels not in (1, _RGB):
            raise DataError(f"output color {self.output.color!r} needs three channels, the image has {channels}")
        grey = self.output.color == "gray"
        if channels == 1:
            plane = moved.base[..., 0]
            if grey:
                return [plane]
            full = 255.0 if moved.dtype == np.uint8 else 1.0
            return [self._rounded(plane * np.float32(sum(_LUMA)) + np.float32(_LUMA_OFFSET * full / 255), moved)]
        weights = np.array([_GREY if grey else _LUMA], np.float32)
        luma = cv2.transform(moved.base.astype(np.float32), weights)
        if not grey:
            luma = luma + np.float32(_LUMA_OFFSET * (1.0 if moved.dtype == np.uint8 else 1 / 255))
        return [self._rounded(luma, moved)]

    def _rounded(self, plane: np.ndarray, moved: Moved) -> np.ndarray:
        """A luma plane as uint8 where uint8 both comes and leaves, so that 0.999 does not become 0."""
        return np.rint(plane).astype(np.uint8) if moved.dtype == np.uint8 and self.output.dtype == "uint8" else plane

    def _affine(self, channels: int, full: float) -> list[tuple[np.float32, np.float32]]:
        """(scale, shift) of each channel, worked out in float64 once and kept."""
        known = self._affine_by.get((channels, full))
        if known is None:
            known = self._affine_by[channels, full] = _affine(self.output, channels, full)
        return known

    def _stack(
        self,
        planes: list[np.ndarray],
        dtype: np.dtype[Any],
        moved: Moved,
        factor: float,
        affine: Any,
        allocate: Allocate,
    ) -> np.ndarray:
        """Planes into one array, through `affine`, or rescaled by `factor` and rounded where that is None."""
        height, width = moved.shape[:2]
        chw = self.output.layout == "chw"
        out = allocate((len(planes), height, width) if chw else (height, width, len(planes)), dtype)
        for c, plane in enumerate(planes):
            into = out[c] if chw else out[..., c]
            source = moved.symmetry.view(plane)
            if affine is None:
                into[...] = source if plane.dtype == dtype else np.rint(np.clip(source * factor, 0, 255))
                continue
            # One multiplication and one addition a value: IEEE arithmetic, the same whatever the strides.
            scale, shift = affine[c]
            into[...] = source
            into *= scale
            into += shift
        return out


def _affine(output: Output, channels: int, full: float) -> list[tuple[np.float32, np.float32]]:
    if output.normalize is None:
        low, high = output.range
        return [(np.float32((high - low) / full), np.float32(low))] * channels
    pairs = []
    for name, values in (("mean", output.normalize.mean), ("std", output.normalize.std)):
        if len(values) not in (1, channels):
            raise DataError(f"normalize {name} has {len(values)} values, the output has {channels} channels")
        pairs.append(values * channels if len(values) == 1 else values)
    return [(np.float32(1 / (full * std)), np.float32(-mean / std)) for mean, std in zip(*pairs, strict=True)]


def _split(image: np.ndarray) -> list[np.ndarray]:
    """The channels of an H×W×C array as H×W arrays."""
    channels = image.shape[2]
    if channels == 1 or channels > 4 or not image.size:
        return [image[..., c] for c in range(channels)]
    return list(cv2.split(image))
