"""EXIF orientation: found in an EXIF block, applied to an array. The only place that turns pictures."""

from __future__ import annotations

import struct
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

_ORIENTATION, _SHORT, _LONG = 0x0112, 3, 4


def orientation(block: bytes) -> int:
    """Orientation, 1 to 8, said by the first directory of an EXIF block; 1 when it says none or is damaged.

    Args:
        block: bytes that start with a TIFF header, or with ``Exif`` and two zeros before it.

    >>> orientation(b"II*\\0" + bytes([8,0,0,0, 1,0, 0x12,1, 3,0, 1,0,0,0, 6,0,0,0, 0,0,0,0]))
    6
    >>> orientation(b"not EXIF")
    1
    """
    if block[:6] in (b"Exif\0\0", b"Exif\0\xff"):
        block = block[6:]
    endian = {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4])
    if endian is None or len(block) < 8:
        return 1
    (start,) = struct.unpack_from(endian + "I", block, 4)
    if start + 2 > len(block):
        return 1
    (count,) = struct.unpack_from(endian + "H", block, start)
    last = min(start + 2 + 12 * count, len(block) - 11)
    for entry in range(start + 2, last, 12):
        tag, kind, values = struct.unpack_from(endian + "HHI", block, entry)
        if tag == _ORIENTATION:
            if values != 1 or kind not in (_SHORT, _LONG):
                return 1
            (value,) = struct.unpack_from(endian + ("H" if kind == _SHORT else "I"), block, entry + 8)
            return int(value) if 1 <= value <= 8 else 1
    return 1


def turned(array: NDArray[Any], how: int) -> NDArray[Any]:
    """`array`, H×W or H×W×C (C ≤ 4), turned upright for an EXIF orientation; shares no memory unless `how` is 1.

    >>> turned(np.array([[1, 2], [3, 4]], np.uint8), 6).tolist()
    [[3, 1], [4, 2]]
    """
    match how:
        case 2:
            out = cv2.flip(array, 1)
        case 3:
            out = cv2.flip(array, -1)
        case 4:
            out = cv2.flip(array, 0)
        case 5:
            out = cv2.transpose(array)
        case 6:
            out = cv2.rotate(array, cv2.ROTATE_90_CLOCKWISE)
        case 7:
            out = cv2.flip(cv2.transpose(array), -1)
        case 8:
            out = cv2.rotate(array, cv2.ROTATE_90_COUNTERCLOCKWISE)
        case _:
            return array
    # OpenCV drops a last axis of length one.
    return np.asarray(out)[:, :, None] if array.ndim == 3 and out.ndim == 2 else np.asarray(out)
