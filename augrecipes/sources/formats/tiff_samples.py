"""Samples of a TIFF page as they are stored, where they are plain or packed as LZW, deflate or run lengths (PackBits).

Every strip or tile is unpacked once, and one that does not come to all of its rows is refused: of 8-bit pictures OpenCV
drops libtiff's errors and shows black. Deflate is zlib's, which compares the checksum too. LZW and runs are libtiff's:
OpenCV is given a TIFF of the same packed bytes that says it has grey samples of 16 bits, of which it does tell errors.
Bytes that make no samples of 16 bits, or too many for one row, get zeros in front, packed likewise.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats import opencv
from augrecipes.sources.formats.bmp import unpack_bits
from augrecipes.sources.formats.header import ImageHeader, UnreadableError, raise_if_memory

PLAIN, LZW, DEFLATES, PACKBITS = 1, 5, (8, 32946), 32773
_PREDICTED = (LZW, *DEFLATES)
_HORIZONTAL = 2
_LOW_BIT_FIRST = 2
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_MOST_PER_BYTE = 4096  # more bytes than any of these unpacks from one
_WIDEST = 1 << 20  # samples in a row that OpenCV takes
_BLOCK = 7  # zeros that can stand in front of anything that is packed
ByteRange = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TiffLayout:
    """How the samples of a page lie in its file.

    Attributes:
        packing: the compression.
        bits: of a sample.
        samples: of a pixel.
        planes: 1 where those of a pixel lie together, else as many as `samples`.
        size: rows and columns of the picture.
        tiled: tiles, which are all of one size; of strips the last one of a plane may have fewer rows.
        part: rows and columns of a strip or tile.
        places: where each begins, and its bytes; in rows, plane by plane.
        predictor: 1, or 2 for differences between neighbours.
        fill: 1, or 2 where bits are stored from the lowest.
        endian: as `struct` has it.
    """

    packing: int
    bits: int
    samples: int
    planes: int
    size: tuple[int, int]
    tiled: bool
    part: tuple[int, int]
    places: tuple[ByteRange, ...]
    predictor: int
    fill: int
    endian: str

    @property
    def row(self) -> int:
        """Bytes of a row of a strip or tile, unpacked."""
        return (self.part[1] * (self.samples // self.planes) * self.bits + 7) // 8


def can(layout: TiffLayout) -> bool:
    """Whether `samples` reads it."""
    return layout.packing in (PLAIN, PACKBITS, *_PREDICTED) and layout.bits in (1, 2, 4, 8, 16, 32)


def samples(data: bytes, layout: TiffLayout) -> NDArray[Any]:
    """Samples as stored, H×W×S of uint8, uint16 or uint32. Raises UnreadableError where there are too few."""
    if layout.fill == _LOW_BIT_FIRST:
        data = data.translate(_REVERSED)
    each = len(layout.places) // layout.planes
    starts = range(0, len(layout.places), each)
    planes = [_plane(data, layout, layout.places[first : first + each]) for first in starts]
    return planes[0] if len(planes) == 1 else np.concatenate(planes, axis=2)


def _plane(data: bytes, layout: TiffLayout, places: tuple[ByteRange, ...]) -> NDArray[Any]:
    (height, width), (rows, columns) = layout.size, layout.part
    found = _unpacked(data, layout, places, len(places) * rows if layout.tiled else height)
    if layout.bits > 8:
        kind = np.dtype(f"{layout.endian}u{layout.bits // 8}")
        found = found.view(kind).astype(kind.newbyteorder("="), copy=False)
    elif layout.bits < 8:
        found = unpack_bits(found, layout.bits)
    count = layout.samples // layout.planes
    found = found[:, : columns * count].reshape(-1, columns, count)
    if layout.predictor != 1 and layout.packing in _PREDICTED:
        if layout.predictor != _HORIZONTAL or layout.bits < 8:
            raise UnreadableError(f"a TIFF of {layout.bits}-bit samples with predictor {layout.predictor}")
        found = np.cumsum(found, axis=1, dtype=found.dtype)
    if layout.tiled:
        across = -(-width // columns)
        tiles = found.reshape(-1, across, rows, columns, count).transpose(0, 2, 1, 3, 4)
        found = tiles.reshape(-1, across * columns, count)[:height, :width]
    return found


def _unpacked(data: bytes, layout: TiffLayout, places: tuple[ByteRange, ...], height: int) -> NDArray[np.uint8]:
    """The bytes of all rows of strips, or of tiles one below the other."""
    row, rows = layout.row, layout.part[0]
    if height * row > _MOST_PER_BYTE * sum(size for _, size in places):
        raise UnreadableError("truncated: its TIFF data cannot hold the picture")
    if layout.packing in (LZW, PACKBITS):
        whole = height // rows
        groups = (places[:whole], rows), (places[whole:], height - whole * rows)
        found = [_by_libtiff(data, some, layout.packing, row, high) for some, high in groups if some]
        return (found[0] if len(found) == 1 else np.concatenate(found)).reshape(height, row)
    out, view, at = np.empty((height, row), np.uint8), memoryview(data), 0
    target = out.reshape(-1).data
    for number, (start, size) in enumerate(places):
        needed = min(rows * row, len(target) - at)
        if layout.packing == PLAIN:  # the size of a single strip is often wrong
            part = view[start : start + (needed if len(places) == 1 else min(size, needed))]
        else:
            part = memoryview(_inflated(view[start : start + size], needed, number))
        if len(part) < needed:
            raise UnreadableError(f"truncated: {len(part)} of {needed} bytes of part {number} of its TIFF pixels")
        target[at : at + needed] = part
        at += needed
    return out


def _inflated(part: memoryview, needed: int, number: int) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        out = unpacker.decompress(part, needed)
        if len(out) == needed and not unpacker.eof:
            unpacker.decompress(unpacker.unconsumed_tail, 1)  # reads the checksum
    except zlib.error as error:
        raise_if_memory(error)
        raise UnreadableError(f"damaged TIFF pixels (part {number}: {error})") from None
    return out


def _by_libtiff(data: bytes, places: Sequence[ByteRange], packing: int, row: int, rows: int) -> NDArray[np.uint8]:
    """The bytes of parts of so many rows each, unpacked."""
    parts: list[bytes | memoryview] = [memoryview(data)[start : start + size] for start, size in places]
    size = row * rows
    if size % 2 == 0 and size <= 2 * _WIDEST:
        blocks, width = 0, size // 2
    elif size <= 2 * _WIDEST:
        blocks, width = 1, (size + _BLOCK) // 2
    else:
        width = 1024
        blocks = -size * pow(_BLOCK, -1, 2 * width) % (2 * width)
    if blocks:
        parts = [_with_zeros(part, packing, blocks) for part in parts]
    more = _BLOCK * blocks
    out = _read_as_16_bits(parts, packing, width, (size + more) // (2 * width))
    return out.astype("<u2", copy=False).view(np.uint8).reshape(len(parts), more + size)[:, more:].reshape(-1)


def _with_zeros(part: bytes | memoryview, packing: int, blocks: int) -> bytes:
    """A packed part that begins with so many times `_BLOCK` zeros."""
    if packing == PACKBITS:
        return bytes([257 - _BLOCK, 0]) * blocks + part
    if not (part[:1] == b"\x80" and part[1] < 128):
        raise UnreadableError("damaged TIFF pixels (LZW codes that do not begin anew)")
    # Eight codes of 9 bits: begin anew, and seven zeros.
    return (256 << 63).to_bytes(9, "big") * blocks + part


def _read_as_16_bits(parts: Sequence[bytes | memoryview], packing: int, width: int, rows: int) -> NDArray[np.uint16]:
    """Parts of so many rows each as a grey TIFF that is `width` wide. Raises UnreadableError, if some part is short."""
    count, height = len(parts), len(parts) * rows
    tags = [(256, width), (257, height), (258, 16), (259, packing), (262, 1), (277, 1), (278, rows)]
    tables = 8 + 2 + (len(tags) + 2) * 12 + 4  # where those of the strips lie
    sizes = np.array([len(part) for part in parts], "<u4")
    starts = (tables + 8 * count + np.cumsum(sizes) - sizes).astype("<u4")
    one = count == 1  # whose values stand in the directory itself
    entries = [(tag, 4, 1, value) for tag, value in tags]
    entries.insert(5, (273, 4, count, starts[0] if one else tables))
    entries.append((279, 4, count, sizes[0] if one else tables + 4 * count))
    head = struct.pack("<2sHIH", b"II", 42, 8, len(entries))
    head += b"".join(struct.pack("<HHII", *entry) for entry in entries) + bytes(4)
    made = b"".join([head, starts.tobytes(), sizes.tobytes(), *parts])
    try:
        return opencv.imdecode(made, ImageHeader("tiff", width, height, 16, "grey"), color=False)
    except UnreadableError:
        raise UnreadableError("damaged TIFF pixels (they do not unpack to all rows)") from None
