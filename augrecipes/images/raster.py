"""Turn what a decoder gave into the array that callers are promised: dtype, channels, orientation, ownership."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.images.format import UnreadableError

_CONVERSIONS = {
    (1, 3): cv2.COLOR_GRAY2RGB,
    (1, 4): cv2.COLOR_GRAY2RGBA,
    (3, 1): cv2.COLOR_RGB2GRAY,
    (3, 4): cv2.COLOR_RGB2RGBA,
    (4, 1): cv2.COLOR_RGBA2GRAY,
    (4, 3): cv2.COLOR_RGBA2RGB,
}


def own(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or a copy of it that is C-contiguous, writable and owns its memory."""
    flags = array.flags
    return array if flags.c_contiguous and flags.owndata and flags.writeable else np.array(array, order="C")


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
    raster = turned(raster[:, :, None] if raster.ndim == 2 else raster, orientation)
    stored = raster.shape[2]
    if stored not in (1, 3, 4):
        raise UnreadableError(f"a picture of {stored} channels")
    return converted(raster, channels or stored)


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
    name = raster.dtype.name
    if name in ("int8", "int16") or (name == "uint32" and int(raster.max(initial=0)) < 2**31):
        raster = raster.astype(np.int32)
    elif name not in ("uint8", "uint16", "int32"):
        raise UnreadableError(f"mask values of type {name}; uint8, uint16 and int32 are read")
    return own(turned(raster, orientation))


def turned(array: NDArray[Any], how: int) -> NDArray[Any]:
    """`array`, H×W or H×W×C, turned upright for an EXIF orientation; shares no memory unless `how` is 1.

    >>> turned(np.array([[1, 2], [3, 4]], np.uint8), 6).tolist()
    [[3, 1], [4, 2]]
    """
    if how not in range(2, 9):
        return array
    array = np.ascontiguousarray(array)
    out = cv2.transpose(array) if how > 4 else array
    flip = {2: 1, 3: -1, 4: 0, 6: 1, 7: -1, 8: 0}.get(how)
    out = np.asarray(out if flip is None else cv2.flip(out, flip))
    return out[:, :, None] if array.ndim == 3 and out.ndim == 2 else out  # OpenCV drops a last axis of length one
