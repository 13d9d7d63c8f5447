"""AVIF: boxes walked here, pixels by OpenCV's libavif (wheels older than 4.12 have none)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from augrecipes.sources.formats import opencv
from augrecipes.sources.formats.format import Format
from augrecipes.sources.formats.header import MOST_PARTS, ImageHeader, UnreadableError, too_many

# Rotation (quarter turns against the clock), then mirroring (0: upside down, 1: left to right), as EXIF numbers.
_TURNS = {
    (0, None): 1, (1, None): 8, (2, None): 3, (3, None): 6,
    (0, 0): 4, (1, 0): 5, (2, 0): 2, (3, 0): 7,
    (0, 1): 2, (1, 1): 7, (2, 1): 4, (3, 1): 5,
}  # fmt: skip


def header(data: bytes) -> ImageHeader:
    """The header of an AVIF's primary picture; the data must hold its whole ``meta`` box. Raises UnreadableError."""
    meta = _child(data, 0, len(data), b"meta")
    inside = meta[0] + 4, meta[1]
    primary = _child(data, *inside, b"pitm")
    item = int.from_bytes(data[primary[0] + 4 : primary[0] + (6 if data[primary[0]] == 0 else 8)], "big")
    table = _child(data, *_child(data, *inside, b"iprp"), b"ipco")
    boxes = list(_boxes(data, *table))
    width = height = 0
    bits, alpha, angle, axis = 8, False, 0, None
    wanted = _associated(data, _child(data, *_child(data, *inside, b"iprp"), b"ipma"), item)
    for number, (name, start, end) in enumerate(boxes, 1):
        if name == b"auxC" and b"alpha" in data[start:end]:
            alpha = True
        if number not in wanted or end - start < 1:
            continue
        if name == b"ispe" and end - start >= 12:
            width, height = struct.unpack_from(">II", data, start + 4)
        elif name == b"av1C" and end - start >= 4 and data[start + 2] & 0x40:
            bits = 12 if data[start + 2] & 0x20 else 10
        elif name == b"irot":
            angle = data[start] & 3
        elif name == b"imir":
            axis = data[start] & 1
    return ImageHeader("avif", width, height, bits, "rgb", alpha, _TURNS[angle, axis], _frames(data))


def decode(data: bytes, info: ImageHeader, channels: int | None) -> NDArray[Any]:
    """Pixels, uint8 H×W×3 or H×W×4 (only where alpha is asked for). Raises UnreadableError."""
    alpha = info.bits == 8 and info.alpha and channels in (None, 4)
    return opencv.imdecode(data, info, color=not alpha, room=56)


def _frames(data: bytes) -> int:
    """2 where some track is a sequence of pictures, else 1."""
    for track, start, end in _boxes(data, *_within(data, (b"moov",))):
        if track == b"trak":
            at, stop = _within(data, (b"mdia", b"minf", b"stbl", b"stsz"), (start, end))
            if stop - at >= 12 and int.from_bytes(data[at + 8 : at + 12], "big") > 1:
                return 2
    return 1


def _within(data: bytes, names: tuple[bytes, ...], inside: tuple[int, int] | None = None) -> tuple[int, int]:
    """The content of a box inside boxes, by their names; an empty one where there is none."""
    at, stop = inside or (0, len(data))
    for name in names:
        at, stop = next(((start, end) for found, start, end in _boxes(data, at, stop) if found == name), (0, 0))
    return at, stop


def _boxes(data: bytes, at: int, stop: int) -> Iterator[tuple[bytes, int, int]]:
    """Name, start and end of the content of each box in ``data[at:stop]``."""
    for _ in range(MOST_PARTS):
        if at + 8 > stop:
            return
        size, name = struct.unpack_from(">I4s", data, at)
        start = at + 8
        if size == 1 and at + 16 <= stop:
            (size,) = struct.unpack_from(">Q", data, start)
            start += 8
        end = stop if size == 0 else at + size
        if end < start or end > stop:
            return
        yield name, start, end
        at = end
    raise too_many("AVIF", "boxes", at)


def _child(data: bytes, at: int, stop: int, name: bytes) -> tuple[int, int]:
    for found, start, end in _boxes(data, at, stop):
        if found == name and end - start >= 4:
            return start, end
    raise UnreadableError(f"truncated or damaged: an AVIF without its {name.decode()} box")


def _associated(data: bytes, box: tuple[int, int], item: int) -> set[int]:
    """Numbers, from 1, of the properties that belong to an item."""
    at, stop = box
    version, wide = data[at], data[at + 3] & 1
    at += 8
    size = 4 if version else 2
    for _ in range(MOST_PARTS):
        if at + size >= stop:
            return set()
        here = int.from_bytes(data[at : at + size], "big")
        count = data[at + size]
        at += size + 1
        numbers = [int.from_bytes(data[k : k + 1 + wide], "big") for k in range(at, at + count * (1 + wide), 1 + wide)]
        if here == item:
            return {n & (0x7FFF if wide else 0x7F) for n in numbers}
        at += count * (1 + wide)
    raise too_many("AVIF", "associations", at)


FORMAT = Format(
    "avif",
    "AVIF",
    lambda data: data[4:8] == b"ftyp" and data[8:12] in (b"avif", b"avis", b"mif1"),
    header,
    decode,
    header_at="anywhere",
)
