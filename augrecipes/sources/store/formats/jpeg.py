"""JPEG files one after another: small, slower to read, and not exactly what was given. Masks are kept raw.

Chroma is kept at full resolution (4:4:4), so that nothing but the quality decides what is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.sources.store.format import Format
from augrecipes.sources.store.formats import raw

_SPACES = {1: "GRAY", 3: "RGB"}
_LONGEST = 65_500  # libjpeg's limit


def _encode(array: NDArray[Any], quality: int) -> bytes:
    height, width, channels = array.shape
    if channels not in _SPACES:
        raise StoreError(f"JPEG keeps 1 or 3 channels, not {channels}; pack as raw or hdf5")
    if max(height, width) > _LONGEST:
        raise StoreError(
            f"JPEG keeps up to {_LONGEST:,} rows and columns, not {height:,}×{width:,}; pack as raw or hdf5"
        )
    pixels = np.ascontiguousarray(array)
    return simplejpeg.encode_jpeg(pixels, quality, colorspace=_SPACES[channels], colorsubsampling="444", fastdct=False)


def _decode(data: memoryview, channels: int) -> NDArray[np.uint8]:
    return np.asarray(simplejpeg.decode_jpeg(data, _SPACES[channels]))


FORMAT = Format(name="jpeg", suffix=".jpgs", alignment=1, encode=_encode, decode=_decode, masks=raw.FORMAT)
