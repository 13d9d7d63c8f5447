"""JPEG 2000, boxed (JP2) or bare: the size read here, pixels by OpenCV's OpenJPEG."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats import opencv
from augrecipes.sources.formats.format import Ends, Format
from augrecipes.sources.formats.header import MOST_PARTS, ImageHeader, UnreadableError, too_many

BARE = b"\xff\x4f\xff\x51"


def header(data: bytes) -> ImageHeader:
    """The header of a JPEG 2000 file, from its code stream. Raises UnreadableError."""
    at = 0 if data.startswith(BARE) else _code_stream(data)
    if at + 43 > len(data):
        raise UnreadableError("truncated in its JPEG 2000 header")
    right, bottom, left, top = struct.unpack_from(">IIII", data, at + 8)
    components, depth = struct.unpack_from(">HB", data, at + 40)
    if right <= left or bottom <= top or depth & 0x80:
        raise UnreadableError("a JPEG 2000 header that OpenCV cannot follow")
    grey = components <= 2
    return ImageHeader("jp2", right - left, bottom - top, depth + 1, "grey" if grey else "rgb", components in (2, 4))


def decode(data: bytes, info: ImageHeader, channels: int | None) -> NDArray[Any]:
    """Pixels, uint8, H×W, H×W×3 or H×W×4; more than 8 bits are shifted down. Raises UnreadableError."""
    out = decode_mask(data, info)
    shift = info.bits - 8
    return (out >> shift).clip(0, 255).astype(np.uint8) if shift > 0 else out


def decode_mask(data: bytes, info: ImageHeader) -> NDArray[Any]:
    """Samples as stored, uint8 or uint16. Raises UnreadableError."""
    if not _complete(info, Ends(data, data, len(data))):
        raise UnreadableError("truncated: its JPEG 2000 data has no end marker")
    out = opencv.imdecode(data, info, color=False, room=40)
    if out.dtype not in (np.uint8, np.uint16):
        raise UnreadableError(f"JPEG 2000 samples of type {out.dtype}")
    return out


def _code_stream(data: bytes) -> int:
    at = 0
    for _ in range(MOST_PARTS):
        if at + 8 > len(data):
            break
        size, name = struct.unpack_from(">I4s", data, at)
        start = at + 8
        if size == 1 and at + 16 <= len(data):
            (size,) = struct.unpack_from(">Q", data, start)
            start += 8
        if name == b"jp2c":
            if data[start : start + 4] != BARE:
                break
            return start
        if size < 8:
            break
        at += size
    else:
        raise too_many("JPEG 2000", "boxes", at)
    raise UnreadableError("a JPEG 2000 file without a code stream")


def _complete(info: ImageHeader, ends: Ends) -> bool:
    return b"\xff\xd9" in ends.last[-64:]


FORMAT = Format(
    "jp2",
    "JPEG 2000",
    lambda data: data[:4] == BARE or data[4:12] == b"jP  \r\n\x87\n",
    header,
    decode,
    decode_mask,
    _complete,
    header_at="anywhere",
)
