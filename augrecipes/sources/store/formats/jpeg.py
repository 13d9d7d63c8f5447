"""JPEG files one after another: small, slower to read, and not exactly what was given. Masks are kept raw.

A picture that is a JPEG already may be kept with its own coefficients (`augrecipes.images.jpeg_windows`): they
are exactly what was given. Of others chroma is kept at full resolution (4:4:4), so that nothing but the quality decides
what is lost. A restart marker after each row of blocks lets a reader of a window skip what lies above it, for a sixth
of a percent more bytes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import cv2
import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.errors import DataError, StoreError
from augrecipes.sources.store.format import StoreFormat
from augrecipes.sources.store.formats import raw

_SPACES = {1: "GRAY", 3: "RGB"}
_LONGEST = 65_500  # libjpeg's limit
_BLOCK = 8  # px
_JFIF = b"\xff\xe0"  # how plain files go on behind the first marker


def _encode(array: NDArray[Any], quality: int) -> bytes:
    height, width, channels = array.shape
    if channels not in _SPACES:
        raise StoreError(f"JPEG keeps 1 or 3 channels, not {channels}; pack as raw or hdf5")
    if max(height, width) > _LONGEST:
        raise StoreError(
            f"JPEG keeps up to {_LONGEST:,} rows and columns, not {height:,}×{width:,}; pack as raw or hdf5"
        )
    options = [
        *(cv2.IMWRITE_JPEG_QUALITY, quality),
        *(cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444),
        *(cv2.IMWRITE_JPEG_RST_INTERVAL, -(-width // _BLOCK)),
    ]
    pixels = array if channels == 1 else cv2.cvtColor(np.ascontiguousarray(array), cv2.COLOR_RGB2BGR)
    return cv2.imencode(".jpg", pixels, options)[1].tobytes()


def _decode(data: memoryview, channels: int) -> NDArray[np.uint8]:
    if data[2:4] == _JFIF and channels in _SPACES:
        with suppress(ValueError):
            return np.asarray(simplejpeg.decode_jpeg(data, _SPACES[channels]))
    # A file that is kept as it is may be turned, CMYK, or in a layout that simplejpeg does not know.
    from augrecipes.images.encoded import encoded

    try:
        return encoded(bytes(data), name="it", channels=channels).array()
    except DataError as error:
        raise ValueError(error.reason) from None


FORMAT = StoreFormat(name="jpeg", suffix=".jpgs", alignment=1, encode=_encode, decode=_decode, masks=raw.FORMAT)
