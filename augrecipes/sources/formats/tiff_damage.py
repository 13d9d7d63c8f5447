"""Damage in compressed TIFF pixels, which OpenCV drops: it asks libtiff for 8-bit pictures by a call that goes on.

Deflate is inflated and its checksum compared; runs (PackBits) are counted. LZW is given to libtiff once more, as a
picture of 16 bits of the same bytes, which OpenCV asks for by another call, whose failure it tells; of a strip of an
odd number of bytes all but the last. What libtiff itself reads without an error (fax codes, wrong bytes that unpack to
the right length) cannot be told, here or elsewhere.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from augrecipes.sources.formats import opencv
from augrecipes.sources.formats.header import ImageHeader, UnreadableError, raise_if_memory

LZW, DEFLATES, PACKBITS = 5, (8, 32946), 32773
_TAGS = 9
_WIDEST = 1 << 20  # samples and rows that OpenCV takes


@dataclass(frozen=True, slots=True)
class Parts:
    """The strips or tiles of a page.

    Attributes:
        packing: the compression.
        places: where each begins, and its bytes.
        row: bytes of a row, unpacked.
        rows: of each part; the last strip of a plane may have fewer.
        short: rows of those.
        planes: how many there are, each with as many parts.
    """

    packing: int
    places: tuple[tuple[int, int], ...]
    row: int
    rows: int
    short: int
    planes: int


def check(data: bytes, parts: Parts) -> None:
    """Raises UnreadableError where a part does not unpack to all of its rows."""
    if parts.packing == LZW:
        _check_lzw(data, parts)
    for number, (part, size) in enumerate(_unpacked_sizes(data, parts)):
        if parts.packing in DEFLATES:
            _check_deflate(part, size, number)
        elif parts.packing == PACKBITS and _run_length(part, size) < size:
            raise _damaged(number, "its runs end before its rows do")


def _unpacked_sizes(data: bytes, parts: Parts) -> Iterator[tuple[memoryview, int]]:
    view, each = memoryview(data), len(parts.places) // parts.planes
    for number, (at, size) in enumerate(parts.places):
        rows = parts.short if number % each == each - 1 else parts.rows
        yield view[at : at + size], rows * parts.row


def _check_deflate(part: memoryview, size: int, number: int) -> None:
    unpacker = zlib.decompressobj()
    try:
        found = len(unpacker.decompress(part, size))
        if found == size and not unpacker.eof:
            unpacker.decompress(unpacker.unconsumed_tail, 1)  # reads the checksum
    except zlib.error as error:
        raise_if_memory(error)
        raise _damaged(number, str(error)) from None
    if found < size:
        raise _damaged(number, f"{found} of {size} bytes")


def _run_length(part: memoryview, most: int) -> int:
    found = at = 0
    while at < len(part) and found < most:
        count = part[at]
        if count < 128:
            found += min(count + 1, len(part) - at - 1)
            at += 2 + count
        else:
            found += 257 - count if count > 128 and at + 1 < len(part) else 0
            at += 2 if count > 128 else 1
    return found


def _check_lzw(data: bytes, parts: Parts) -> None:
    each, count = len(parts.places) // parts.planes, len(parts.places)
    height = (count - 1) * parts.rows + parts.short
    if parts.row % 2 == 0 and (parts.planes == 1 or parts.short == parts.rows) and height <= _WIDEST:
        _decode_as_16_bits(data, parts.places, parts.row // 2, parts.rows, height)
        return
    for number, place in enumerate(parts.places):  # one by one, as rows of some length; an odd byte is left out
        samples = (parts.short if number % each == each - 1 else parts.rows) * parts.row // 2
        width = samples if samples <= _WIDEST else 4096
        if width:
            _decode_as_16_bits(data, (place,), width, samples // width, samples // width)


def _decode_as_16_bits(data: bytes, places: tuple[tuple[int, int], ...], width: int, rows: int, height: int) -> None:
    """Raises UnreadableError where strips of so many rows do not unpack to `height` rows of `width` 16-bit samples."""
    count = len(places)
    tables = 8 + 2 + _TAGS * 12 + 4  # where those of the strips lie
    before = tables + 8 * count
    starts, sizes = [before + at for at, _ in places], [size for _, size in places]
    at_starts, at_sizes = (tables, tables + 4 * count) if count > 1 else (starts[0], sizes[0])
    entries = [
        *((256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 16), (259, 3, 1, LZW), (262, 3, 1, 1)),
        *((273, 4, count, at_starts), (277, 3, 1, 1), (278, 4, 1, rows), (279, 4, count, at_sizes)),
    ]
    directory = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    made = struct.pack("<2sHIH", b"II", 42, 8, _TAGS) + directory + bytes(4)
    made += struct.pack(f"<{2 * count}I", *starts, *sizes)
    try:
        opencv.imdecode(made + data, ImageHeader("tiff", width, height, 16, "grey"), color=False)
    except UnreadableError:
        raise UnreadableError("damaged TIFF pixels (LZW data that do not unpack to all rows)") from None


def _damaged(number: int, what: str) -> UnreadableError:
    return UnreadableError(f"damaged TIFF pixels (part {number}: {what})")
