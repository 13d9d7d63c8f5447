"""Directories of TIFFs; and TIFFs with samples of whole bytes, of any number and depth, read by strips and tiles.

Pillow has few modes for more than three samples or 8 bits. So it is used only to decompress: the strips or tiles of a
window are passed to it as a small TIFF of grey bytes, which are interpreted here. This works for all compressions of
bytes, though not of pixels, such as JPEG and WebP.
"""

import io
import struct
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.images.format import MOST_CHANNELS, MOST_PARTS, Area, UnreadableError

WIDTH, HEIGHT, BITS, ORIENTATION, SAMPLES, PROFILE = 256, 257, 258, 274, 277, 34675  # tags
_PHOTOMETRIC, _PLANAR, _PREDICTOR, _EXTRA, _FORMAT, _KIND, _OLD_KIND = 262, 284, 317, 338, 339, 254, 255
_COMPRESSION, _FILL_ORDER, _STRIP_ROWS, _TILE_WIDTH, _TILE_HEIGHT = 259, 266, 278, 322, 323
_PLACES = 273, 279, 324, 325  # offsets and byte counts of strips, and of tiles
_USED = {WIDTH, HEIGHT, BITS, ORIENTATION, SAMPLES, _PHOTOMETRIC, _PLANAR, _PREDICTOR, _EXTRA, _FORMAT, *_PLACES}
_USED |= {PROFILE, _COMPRESSION, _FILL_ORDER, _STRIP_ROWS, _TILE_WIDTH, _TILE_HEIGHT}
_NUMBERS = {1: "B", 7: "B", 3: "H", 4: "I", 16: "Q"}  # struct codes of the types of tags
_REDUCED_OR_MASK, _OLD_REDUCED = 5, 2
_COLORANTS = {2: 3, 5: 4, 6: 3, 8: 3}  # samples per colour by photometric interpretation; else 1
_OTHER_COLOURS = (3, 4, 5, 6, 8, 9, 10)  # palette, mask, CMYK, YCbCr, Lab
_WHITE_IS_ZERO, _BLACK_IS_ZERO = 0, 1
_ASSOCIATED = 1
_ALPHA = (_ASSOCIATED, 2)  # extra samples that are alpha, premultiplied or not
_BYTES = (1, 5, 8, 32773, 32946, 34925, 50000)  # compressions: none, LZW, deflate, PackBits, LZMA, Zstandard
_KINDS = {1: "u", 2: "i", 3: "f"}  # numpy's kinds of samples
_DTYPES = {(8 * n, form): f"{kind}{n}" for form, kind in _KINDS.items() for n in (1, 2, 4, 8) if kind + str(n) != "f1"}
_DIFFERENCES, _FLOATING = 2, 3  # predictors
_MOST_PAGES = 100
_HEAD = 8  # bytes of a TIFF's header
_MOST = 1 << 26  # bytes decompressed at a time: Pillow refuses images of many pixels


class Tags(dict[int, tuple[int, ...]]):
    """The values in a directory, by tag."""

    def first(self, tag: int, default: int) -> int:
        """The first value of a tag, or a default."""
        return self[tag][0] if self.get(tag) else default


@dataclass(frozen=True, slots=True)
class Blocks:
    """The strips or tiles of an image.

    Attributes:
        dtype: the stored dtype of samples.
        size: rows, columns, and samples per pixel.
        block: rows and columns of a strip or tile.
        places: int64 (planes, blocks, 2), offset and byte count of each; for one plane, or one plane per sample.
        tiles: whether they are tiles, which extend beyond the edges.
        packing: the number of the compression.
        predictor: 2: horizontal differences of samples; 3: of the bytes of floats.
        fill: 2: the bits of a byte begin with the lowest.
    """

    dtype: np.dtype[Any]
    size: tuple[int, int, int]
    block: tuple[int, int]
    places: NDArray[np.int64]
    tiles: bool
    packing: int
    predictor: int
    fill: int


def byte_order(data: bytes) -> str:
    """The byte order of a TIFF, as a code of struct and numpy."""
    return "<" if data[:1] == b"I" else ">"


def directory(data: bytes, at: int | None = None) -> Tags:
    """The tags of the first image of a TIFF, or of the directory at byte `at`. Raises struct.error."""
    return _directory(data, _first(data) if at is None else at)[0]


def _first(data: bytes) -> int:
    place, at = ("Q", 8) if b"+" in data[2:4] else ("I", 4)
    return int(struct.unpack_from(byte_order(data) + place, data, at)[0])


def _directory(data: bytes, at: int, used: Set[int] = _USED) -> tuple[Tags, int]:
    """The used tags of the directory at a byte, and the offset of the next directory."""
    count, entry, place = (
        byte_order(data) + code for code in (("Q", "HHQ8s", "Q") if b"+" in data[2:4] else ("H", "HHI4s", "I"))
    )
    (number,), start = struct.unpack_from(count, data, at), at + struct.calcsize(count)
    end, tags = start + number * struct.calcsize(entry), Tags()
    for tag, kind, length, raw in struct.iter_unpack(entry, data[start:end]):
        if tag in used and kind in _NUMBERS:
            numbers = f"{byte_order(data)}{length}{_NUMBERS[kind]}"
            inline = struct.calcsize(numbers) <= len(raw)
            tags[tag] = struct.unpack_from(numbers, *((raw, 0) if inline else (data, *struct.unpack(place, raw))))
    return tags, struct.unpack_from(place, data, end)[0]


def pages(data: bytes, most: int = _MOST_PAGES) -> list[int]:
    """Offsets of the directories of a TIFF's images, in order, without previews and masks of other images."""
    offsets, visited = list[int](), {0}
    with suppress(struct.error):  # damage after the first image is ignored
        at = _first(data)
        while len(offsets) < most and len(visited) <= MOST_PARTS and at not in visited:
            visited.add(at)
            tags, following = _directory(data, at, {_KIND, _OLD_KIND})
            if not (offsets and (tags.first(_KIND, 0) & _REDUCED_OR_MASK or tags.first(_OLD_KIND, 0) == _OLD_REDUCED)):
                offsets.append(at)
            at = following
    return offsets


def with_first(data: bytes, at: int) -> bytes:
    """The TIFF with the directory at byte `at` as its first."""
    code, size = ("Q", 8) if b"+" in data[2:4] else ("I", 4)
    return data[:size] + struct.pack(byte_order(data) + code, at) + data[2 * size :]


def bands_and_alpha(tags: Tags) -> tuple[int, bool]:
    """The samples per pixel if there are more than grey or colours and declared alpha, else 0; and whether the last
    sample of grey or colours is alpha."""
    count, colorants = tags.first(SAMPLES, 1), _COLORANTS.get(tags.first(_PHOTOMETRIC, 1), 1)
    extra = tags.get(_EXTRA, (2,))  # undeclared, four samples are RGBA, as in other readers
    bands = count if count > colorants + (extra[0] in _ALPHA) else 0
    return bands, not bands and count > colorants


def bounds(tags: Tags) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The offsets and byte counts of the strips or tiles of an image. Raises UnreadableError."""
    starts, sizes = (tags.get(one) or tags.get(other, ()) for one, other in zip(_PLACES[:2], _PLACES[2:], strict=True))
    if not starts or len(starts) != len(sizes):
        raise UnreadableError("truncated or damaged: a TIFF without a whole table of its strips or tiles")
    return np.array(starts, np.int64), np.array(sizes, np.int64)


def white(tags: Tags) -> bool:
    """Whether 0 is white in grey images."""
    return bool(tags.first(_PHOTOMETRIC, 1) == _WHITE_IS_ZERO)


def kind(tags: Tags) -> Any:
    """numpy's kind of the samples: `u`, `i` or `f`; unknown ones count as `u`, for which `blocks` finds no dtype."""
    return _KINDS.get(tags.first(_FORMAT, 1), "u")


def blocks(tags: Tags, order: str) -> Blocks | None:
    """The strips or tiles of an image with bands, or other than 8 bits; None for images that Pillow reads.

    Pillow reads grey and colours of 8 bits, samples that are not whole bytes, and other colours than RGB. Raises
    UnreadableError.
    """
    bits, forms, count = {*tags.get(BITS, (1,))}, {*tags.get(_FORMAT, (1,))}, tags.first(SAMPLES, 1)
    dtype = _DTYPES.get((max(bits), max(forms)))
    packing, photometric = tags.first(_COMPRESSION, 1), tags.first(_PHOTOMETRIC, 1)
    if len(bits) > 1 or len(forms) > 1 or dtype is None or packing not in _BYTES:
        return None
    bands, alpha = bands_and_alpha(tags)
    if not bands:
        associated = alpha and _ASSOCIATED in tags.get(_EXTRA, ())
        if dtype == "u1" or photometric in _OTHER_COLOURS or count < _COLORANTS.get(photometric, 1) or associated:
            return None
    (rows,), (columns,), tiles = tags[HEIGHT], tags[WIDTH], _TILE_WIDTH in tags
    tall = tags[_TILE_HEIGHT][0] if tiles else min(tags.first(_STRIP_ROWS, rows), rows)
    block = tall, tags[_TILE_WIDTH][0] if tiles else columns
    planes = count if tags.first(_PLANAR, 1) == 2 else 1
    starts, sizes = bounds(tags)
    number = -(-rows // block[0]) * -(-columns // block[1])  # of blocks of a plane
    if len(starts) < planes * number or not 1 <= count <= MOST_CHANNELS:
        raise UnreadableError(f"damaged: a TIFF of {count} samples a pixel, and {len(starts)} strips or tiles of them")
    places = np.stack([starts, sizes], axis=-1)[: planes * number].reshape(planes, number, 2)
    predictor, fill = tags.first(_PREDICTOR, 1), tags.first(_FILL_ORDER, 1)
    return Blocks(np.dtype(order + dtype), (rows, columns, count), block, places, tiles, packing, predictor, fill)


def read(data: bytes, blocks: Blocks, part: Area) -> NDArray[Any]:
    """Samples of a part, H×W×S; decompresses only its strips or tiles. Raises UnreadableError."""
    tall, wide = blocks.block
    top, left, bottom, right = part.y0 // tall, part.x0 // wide, -(-part.y1 // tall), -(-part.x1 // wide)
    chosen = np.arange(top, bottom)[:, None] * -(-blocks.size[1] // wide) + np.arange(left, right)
    window = Area(part.y0 - top * tall, part.x0 - left * wide, part.y1 - top * tall, part.x1 - left * wide)
    rows = min(blocks.size[0] - top * tall, (bottom - top) * tall)
    planes = [_plane(data, blocks, places[chosen], rows)[window.reduced] for places in blocks.places]
    return np.concatenate(planes, axis=2, dtype=blocks.dtype.newbyteorder("="))


def _plane(data: bytes, blocks: Blocks, places: NDArray[np.int64], rows: int) -> NDArray[Any]:
    """Samples of a grid of strips or tiles, up to `rows`, of all bands or one plane."""
    (tall, wide), (down, across, _), dtype = blocks.block, places.shape, blocks.dtype
    samples = blocks.size[2] // len(blocks.places)
    width = wide * samples * dtype.itemsize  # bytes of a block's row
    height = down * across * tall if blocks.tiles else rows  # of all blocks, stacked vertically
    if (places < 0).any() or places.sum(axis=2).max() > len(data):
        raise UnreadableError("truncated: its TIFF data ends before the image does")
    if blocks.packing == 1 and blocks.fill == 1:
        stored = _copy_blocks(data, places.reshape(-1, 2), height, tall, width)
    else:
        every, step = places.reshape(-1, 2), max(_MOST // (tall * width), 1)
        pieces = ((every[k : k + step], min(height - k * tall, step * tall)) for k in range(0, len(every), step))
        stored = np.concatenate([_unpack(data, blocks, few, lines, width) for few, lines in pieces])
    if blocks.tiles:
        stored = stored.reshape(down, across, tall, width).swapaxes(1, 2).reshape(down * tall, -1)[:rows]
    if blocks.predictor == _FLOATING:  # Adobe's floating-point predictor: differences of byte planes
        stored = np.add.accumulate(stored.reshape(rows, across, -1, samples), axis=2, dtype=np.uint8)
        stored = stored.reshape(rows, across, dtype.itemsize, -1).swapaxes(2, 3)
        return np.ascontiguousarray(stored).view(dtype.newbyteorder(">")).reshape(rows, across * wide, samples)
    if blocks.predictor == _DIFFERENCES:
        levels = stored.view(f"{dtype.byteorder}u{dtype.itemsize}").reshape(rows, across, wide, samples)
        native = levels.dtype.newbyteorder("=")
        return np.add.accumulate(levels, axis=2, dtype=native).view(dtype.newbyteorder("=")).reshape(rows, -1, samples)
    return stored.view(dtype).reshape(rows, across * wide, samples)


def _copy_blocks(data: bytes, places: NDArray[np.int64], height: int, tall: int, width: int) -> NDArray[np.uint8]:
    """Bytes of uncompressed strips or tiles, rows × bytes; without a copy if they are contiguous."""
    sizes = np.minimum(height - np.arange(len(places)) * tall, tall) * width
    if (places[:, 1] < sizes).any():
        raise UnreadableError("truncated or damaged: a strip or tile of a TIFF with too few bytes")
    starts = places[:, 0]
    if (starts[1:] == starts[:-1] + sizes[:-1]).all():
        return np.frombuffer(data, np.uint8, height * width, starts[0]).reshape(height, width)
    return np.frombuffer(_join(data, starts, sizes), np.uint8).reshape(height, width)


def _join(data: bytes, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> bytes:
    return b"".join(data[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist(), strict=True))


def _unpack(data: bytes, blocks: Blocks, places: NDArray[np.int64], height: int, width: int) -> NDArray[np.uint8]:
    """Bytes of compressed strips or tiles, rows × bytes, decompressed by Pillow as strips of a grey TIFF."""
    from PIL import Image

    starts, sizes = places.T
    if sizes.sum() > len(data):
        raise UnreadableError("damaged: strips or tiles of a TIFF that lie on one another")
    entries = {WIDTH: width, HEIGHT: height, BITS: 8, SAMPLES: 1, _PHOTOMETRIC: _BLACK_IS_ZERO}
    entries |= {_COMPRESSION: blocks.packing, _FILL_ORDER: blocks.fill, _STRIP_ROWS: blocks.block[0]}
    entries |= {_PLACES[0]: np.cumsum(sizes) - sizes + _HEAD, _PLACES[1]: sizes}
    packed, table, values = _join(data, starts, sizes), b"", b""
    end = _HEAD + len(packed)
    for tag, value in sorted(entries.items()):
        raw, at = np.array(value, "<u4").tobytes(), end + 6 + 12 * len(entries) + len(values)
        table += struct.pack("<HHL", tag, 4, len(raw) // 4) + (raw if len(raw) == 4 else struct.pack("<L", at))
        values += b"" if len(raw) == 4 else raw
    head = struct.pack("<2sHL", b"II", 42, end)
    file = io.BytesIO(b"".join([head, packed, struct.pack("<H", len(entries)), table, bytes(4), values]))
    with Image.open(file, formats=("TIFF",)) as image:
        return np.asarray(image)
