"""GIF: blocks walked here, pixels by OpenCV (4.11 and older cannot). Of an animation, the first frame."""

from __future__ import annotations

import struct
from typing import Any

from numpy.typing import NDArray

from augrecipes.sources.formats import opencv
from augrecipes.sources.formats.format import Format
from augrecipes.sources.formats.header import ImageHeader, UnreadableError

_MOST_BLOCKS = 2**21  # of up to 255 bytes: half a gigabyte of pixels, where they are full
_ROOM, _SLACK = 12, 2**23  # bytes a pixel that OpenCV's reader takes, and besides
_EXTENSION, _IMAGE, _TRAILER = 0x21, 0x2C, 0x3B


def header(data: bytes) -> ImageHeader:
    """The header of a GIF; the data may end after it. Raises UnreadableError."""
    if len(data) < 13:
        raise UnreadableError("truncated in its GIF header")
    width, height = struct.unpack_from("<HH", data, 6)
    return ImageHeader("gif", width, height, 8, "palette", frames=max(1, _frames(data)))


def decode(data: bytes, info: ImageHeader, channels: int | None) -> NDArray[Any]:
    """Pixels, uint8 H×W×3. Raises UnreadableError, also if truncated."""
    if not _frames(data):
        raise UnreadableError("truncated: its GIF data ends before the first frame does")
    opencv.check_memory(info, _ROOM, _SLACK)  # where there is too little, OpenCV's reader has ended the process
    return opencv.imdecode(data, info, color=True)


def _frames(data: bytes) -> int:
    """Whole frames in the data, counted up to two."""
    at, found, left = 13 + _table(data[10]), 0, _MOST_BLOCKS
    while at < len(data) and found < 2:
        if data[at] == _EXTENSION:
            at += 2
        elif data[at] == _IMAGE and at + 10 <= len(data):
            at += 11 + _table(data[at + 9])
            found += 1
        else:
            return found
        while at < len(data) and data[at] and left:
            at += 1 + data[at]
            left -= 1
        if not left:
            raise UnreadableError(f"not a real GIF: more than {_MOST_BLOCKS:,} blocks in its first {at:,} bytes")
        if at >= len(data):  # no closing empty block: the last thing met is cut
            return max(0, found - 1)
        at += 1
    return found


def _table(flags: int) -> int:
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


FORMAT = Format("gif", "GIF", lambda data: data[:6] in (b"GIF87a", b"GIF89a"), header, decode, header_at="first")
