"""Turn what a decoder gave into the array that callers are promised: dtype, channels, orientation, ownership."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats.exif import turned
from augrecipes.sources.formats.header import UnreadableError

_CONVERSIONS = {
    (1, 3): cv2.COLOR_GRAY2RGB,
    (1, 4): cv2.COLOR_GRAY2RGBA,
    (3, 1): cv2.COLOR_RGB2GRAY,
    (3, 4): cv2.COLOR_RGB2RGBA,
    (4, 1): cv2.COLOR_RGBA2GRAY,
    (4, 3): cv2.COLOR_RGBA2RGB,
}


def as_image(raster: NDArray[Any], channels: int | None, orientation: int) -> NDArray[np.uint8]:
    """uint8 H×W×C, C-contiguous, writable, owning its memory; arguments as `seen`."""
    return _own(seen(raster, channels, orientation))


def seen(raster: NDArray[Any], channels: int | None, orientation: int) -> NDArray[np.uint8]:
    """uint8 H×W×C, possibly a view of `raster`.

    Args:
        raster: uint8 or uint16, H×W or H×W×C in RGB order. 16 bits keep their high byte (``v >> 8``), as OpenCV, libpng
            and Pillow do: 65535 becomes 255, and 8-bit values stored as ``257 * v`` come back exactly.
        channels: 1 (grey, by the weights of BT.601), 3 (alpha is dropped, not blended), 4 (255 where there is no
            alpha), or None for what is stored.
        orientation: EXIF orientation to undo; 1 leaves the raster as it is.
    """
    if raster.dtype == np.uint16:
        raster = (raster >> 8).astype(np.uint8)
    if raster.dtype != np.uint8:
        raise UnreadableError(f"samples of type {raster.dtype} have no known range")
    if raster.ndim == 3 and raster.shape[2] == 1:
        raster = raster[:, :, 0]
    stored = 1 if raster.ndim == 2 else raster.shape[2]
    if stored not in (1, 3, 4):
        raise UnreadableError(f"a picture of {stored} channels")
    if orientation != 1:
        raster = turned(np.ascontiguousarray(raster), orientation)
    return converted(raster[:, :, None] if raster.ndim == 2 else raster, channels or stored)


def converted(image: NDArray[Any], channels: int) -> NDArray[Any]:
    """An image H×W×C, uint8 or float32, of 1, 3 or 4 channels as one of so many; see `seen`.

    >>> converted(np.full((1, 1, 3), 0.5, np.float32), 4).ravel().tolist()
    [0.5, 0.5, 0.5, 1.0]
    """
    code = _CONVERSIONS.get((image.shape[2], channels))
    if code is None:
        return image
    image = cv2.cvtColor(np.ascontiguousarray(image), code)
    return image[:, :, None] if image.ndim == 2 else image


def as_mask(raster: NDArray[Any], orientation: int) -> NDArray[Any]:
    """uint8, uint16 or int32 H×W, C-contiguous, writable, owning its memory.

    Three channels are accepted where they are equal everywhere; alpha is dropped.
    """
    if raster.ndim == 3:
        first = raster[:, :, 0]
        if raster.shape[2] >= 3 and not ((first == raster[:, :, 1]).all() and (first == raster[:, :, 2]).all()):
            raise UnreadableError("a mask must be grey or have a palette; this picture has colours")
        raster = first
    match raster.dtype.name:
        case "uint8" | "uint16" | "int32":
            pass
        case "int8" | "int16":
            raster = raster.astype(np.int32)
        case "uint32" if not raster.size or int(raster.max()) < 2**31:
            raster = raster.astype(np.int32)
        case other:
            raise UnreadableError(f"mask values of type {other}; uint8, uint16 and int32 are read")
    if orientation != 1:
        raster = turned(np.ascontiguousarray(raster), orientation)
    return _own(raster)


def _own(array: NDArray[Any]) -> NDArray[Any]:
    if array.flags.c_contiguous and array.flags.owndata and array.flags.writeable:
        return array
    return np.array(array, order="C", copy=True)
