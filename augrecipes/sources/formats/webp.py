"""WebP: the RIFF container read here, pixels by OpenCV's libwebp. Of an animation, the first frame."""

from __future__ import annotations

import struct
from typing import Any

from numpy.typing import NDArray

from augrecipes.sources.formats import exif, opencv
from augrecipes.sources.formats.format import Ends, Format
from augrecipes.sources.formats.header import MOST_PARTS, ImageHeader, UnreadableError, too_many

_ANIMATED, _ALPHA = 0x02, 0x10


def header(data: bytes) -> ImageHeader:
    """The header of a WebP; the data may end after the first chunk's own header. Raises UnreadableError."""
    if len(data) < 30:
        raise UnreadableError("truncated in its WebP header")
    name = data[12:16]
    if name == b"VP8X":
        flags = data[20]
        width, height = 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        turn, frames = _animation(data)
        frames = max(1, frames) if flags & _ANIMATED else 1
        return ImageHeader("webp", width, height, 8, "rgb", bool(flags & _ALPHA), turn, frames)
    if name == b"VP8L":
        (packed,) = struct.unpack_from("<I", data, 21)
        if data[20] != 0x2F:
            raise UnreadableError("a damaged WebP header")
        width, height = 1 + (packed & 0x3FFF), 1 + (packed >> 14 & 0x3FFF)
        return ImageHeader("webp", width, height, 8, "rgb", bool(packed >> 28 & 1))
    if name == b"VP8 ":
        if data[23:26] != b"\x9d\x01\x2a":
            raise UnreadableError("a damaged WebP header")
        width, height = struct.unpack_from("<HH", data, 26)
        return ImageHeader("webp", width & 0x3FFF, height & 0x3FFF, 8, "rgb")
    raise UnreadableError(f"a WebP whose first chunk is {name!r}")


def decode(data: bytes, info: ImageHeader, channels: int | None) -> NDArray[Any]:
    """Pixels, uint8 H×W×3 or H×W×4 (only where alpha is asked for). Raises UnreadableError, also if truncated."""
    if not _complete(info, Ends(data, data, len(data))):
        raise UnreadableError(f"truncated: its WebP data ends after {len(data)} bytes")
    return opencv.imdecode(data, info, color=not (info.alpha and channels in (None, 4)))


def _animation(data: bytes) -> tuple[int, int]:
    """The orientation, and the number of frames, counted up to two."""
    at, frames = 12, 0
    for _ in range(MOST_PARTS):
        if at + 8 > len(data):
            return 1, frames
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        if name == b"EXIF":
            return exif.orientation(data[at + 8 : at + 8 + size]), frames
        frames = min(2, frames + (name == b"ANMF"))
        at += 8 + size + (size & 1)
    raise too_many("WebP", "chunks", at)


def _complete(info: ImageHeader, ends: Ends) -> bool:
    (size,) = struct.unpack_from("<I", ends.first, 4)
    return bool(size + 8 <= ends.size + 1)  # some writers count the padding byte and leave it out


FORMAT = Format(
    "webp",
    "WebP",
    lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP",
    header,
    decode,
    complete=_complete,
    header_at="anywhere",
)
