"""Lossless format of packed stores: images and masks in tiles that are compressed independently.

    head      magic, height, width, channels (0: a mask), type of the samples, CRC-32 of the head and the table
    table     for each tile, row by row of tiles, its number of bytes and their CRC-32
    tiles     128 × 512 px, less at the edges: each a byte with its predictor, and a frame of Zstandard

The bytes of a tile's samples are split into planes, and each sample is predicted from the one above. Where it makes the
tile smaller, which depends on noise, the prediction also uses the left neighbour (as PNG's gradient, above + left -
corner), and for colours red and blue are stored relative to green. Residues are mostly small, and cumulative sums along
rows and columns restore the samples, many at once. Zstandard (the extra `lossless`) compresses the residues, with a
short search for repetitions, which photographs do not have.
"""

import struct
import threading
import zlib
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError
from augrecipes.images.format import MOST_CHANNELS, UnreadableError, stage
from augrecipes.native.kernels import library

TALL, WIDE = 128, 512  # px of a tile
DTYPES = (np.dtype("u1"), np.dtype("<u2"), np.dtype("<i4"), np.dtype("<f4"))
"""Dtypes of samples; ``sample`` is an index of this tuple."""
_MAGIC = b"ARL2"
_HEAD = struct.Struct("<4sIIIBI")
ACROSS, GREEN = 1, 2  # bits of a tile's predictor
_SEARCH = {"min_match": 7, "hash_log": 8}  # decodes a sixth faster than level 1, and is no larger
_MOST = 1 << 15  # the largest compression ratio of Zstandard: four bytes encode a block of 128 KiB
_COLOURS = (3, 4)  # numbers of channels that begin with red, green, blue

Bytes = npt.NDArray[np.uint8]


def encode(array: npt.NDArray[Any]) -> bytes:
    """Encode an image or mask.

    Args:
        array: uint8, uint16, int32 or float32, H×W×C or H×W, not empty.

    Raises:
        ImportError: Zstandard is not installed.

    >>> image = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3)
    >>> bool((LosslessImage(encode(image)).array() == image).all())
    True
    """
    sample = DTYPES.index(array.dtype.newbyteorder("<"))
    height, width, channels = (*array.shape, 0)[:3]
    compress = _codecs().compress
    samples = np.ascontiguousarray(array, DTYPES[sample]).reshape(height, width, -1).view(np.uint8)
    ways = range(4 if sample == 0 and channels in _COLOURS else 2)
    tiles = []
    for top in range(0, height, TALL):
        for left in range(0, width, WIDE):
            tile = samples[top : top + TALL, left : left + WIDE]
            tiles.append(min((bytes([way]) + compress(_residues(tile, way).data) for way in ways), key=len))
    table = np.array([(len(tile), zlib.crc32(tile)) for tile in tiles], "<u4").tobytes()
    head = _HEAD.pack(_MAGIC, height, width, channels, sample, 0)
    checked = zlib.crc32(table, zlib.crc32(head))
    return b"".join([_HEAD.pack(_MAGIC, height, width, channels, sample, checked), table, *tiles])


class LosslessImage:
    """An encoded image or mask, decoded whole by `array`, or in part by `view`.

    Args:
        data: the bytes from `encode`.
        name: for errors.
        checked: whether the bytes were already compared with a checksum.

    Raises:
        UnreadableError: the head or table is damaged.
    """

    def __init__(self, data: bytes | memoryview, name: str = "it", checked: bool = False) -> None:
        data = memoryview(data)
        if len(data) < _HEAD.size or data[:4] != _MAGIC:
            raise UnreadableError("it does not begin as a losslessly packed image does")
        magic, height, width, channels, sample, stated = _HEAD.unpack_from(data)
        count, start = -(-height // TALL) * -(-width // WIDE), _HEAD.size
        if not count or sample >= len(DTYPES) or channels > MOST_CHANNELS or len(data) < start + 8 * count:
            raise UnreadableError("its header is damaged")
        table = data[start : start + 8 * count]
        if zlib.crc32(table, zlib.crc32(_HEAD.pack(magic, height, width, channels, sample, 0))) != stated:
            raise UnreadableError("its header is damaged")
        sizes, sums = np.frombuffer(table, "<u4").reshape(-1, 2).T
        ends = np.cumsum(sizes, dtype=np.int64) + start + 8 * count
        if height * width * max(channels, 1) * DTYPES[sample].itemsize > (len(data) - start) * _MOST:
            raise UnreadableError(f"its header is damaged: {height}×{width} pixels are not in {len(data):,} bytes")
        if ends[-1] != len(data):
            raise UnreadableError(f"it has {len(data):,} bytes, and should have {ends[-1]:,}")
        self.name, self.checked, self._data = name, checked, data
        self.shape: Any = (height, width, channels) if channels else (height, width)
        self.dtype, self._size = DTYPES[sample], (height, width)
        self._planes = max(channels, 1) * self.dtype.itemsize
        self._starts, self._sums = [start + 8 * count, *ends.tolist()], sums.tolist()

    def __repr__(self) -> str:
        return f"LosslessImage({self.name!r}, {self.shape})"

    @property
    def nbytes(self) -> int:
        """The number of encoded bytes."""
        return len(self._data)

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> None:
        """None: no kernel decodes this format."""

    def scales(self) -> tuple[int, ...]:
        """Empty: the format has no reduced scales."""
        return ()

    def array(self) -> npt.NDArray[Any]:
        """The whole image as a new array. Raises DataError."""
        return self.view(0, 0, *self._size)

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> npt.NDArray[Any]:
        """Rows `y0` to `y1` and columns `x0` to `x1`, ends exclusive, possibly as a view of a larger array.

        Raises:
            DataError: a tile of this part is damaged.
            ValueError: the part is not inside the image.
        """
        height, width = self._size
        if reduce != 1 or not (0 <= y0 < y1 <= height and 0 <= x0 < x1 <= width):
            raise ValueError(f"rows {y0} to {y1}, columns {x0} to {x1} are not a part of {height}×{width} pixels")
        top, left = y0 // TALL * TALL, x0 // WIDE * WIDE
        bottom, right = min(-(-y1 // TALL) * TALL, height), min(-(-x1 // WIDE) * WIDE, width)
        try:
            with stage("decode"):
                out = np.empty((bottom - top, right - left, self._planes), np.uint8)
                across = -(-width // WIDE)
                for y in range(top, bottom, TALL):
                    for x in range(left, right, WIDE):
                        tile = out[y - top : y - top + TALL, x - left : x - left + WIDE]
                        self._decode(y // TALL * across + x // WIDE, tile)
        except UnreadableError as error:
            raise DataError(str(error), self.name) from None
        whole = out.view(self.dtype).reshape(*out.shape[:2], *self.shape[2:])
        return whole[y0 - top : y1 - top, x0 - left : x1 - left]

    def _decode(self, number: int, out: Bytes) -> None:
        """Decode a tile into `out`, rows × columns × planes."""
        codecs, tile = _codecs(), self._data[self._starts[number] : self._starts[number + 1]]
        try:
            if not self.checked and zlib.crc32(tile) != self._sums[number]:
                raise UnreadableError(f"tile {number} is damaged: its bytes are not those that were written")
            if not tile or tile[0] >= 4 or codecs.content_size(tile[1:]) != out.size:
                raise UnreadableError(f"tile {number} is damaged: it is of another size or kind")
            residues = codecs.decompress(tile[1:])
        except codecs.error as error:
            raise UnreadableError(f"tile {number} is damaged: {error}") from None
        if tile[0] & GREEN and out.shape[2] < 3:
            raise UnreadableError(f"tile {number} is damaged: it has no colours")
        _reconstruct(residues, tile[0], out)


def _residues(tile: Bytes, way: int) -> Bytes:
    """The residues of a tile, rows × columns × planes, as planes × rows × columns."""
    planes = np.array(tile.transpose(2, 0, 1), order="C")  # always a copy
    if way & GREEN:
        planes[0] -= planes[1]
        planes[2] -= planes[1]
    planes[:, 1:] -= planes[:, :-1].copy()
    if way & ACROSS:
        planes[:, :, 1:] -= planes[:, :, :-1].copy()
    return planes


def _reconstruct(residues: bytes, way: int, out: Bytes) -> None:
    """The inverse of `_residues`, into `out`, rows × columns × planes."""
    rows, columns, planes = out.shape
    kernels = library()
    if kernels is not None:
        kernel = kernels.kernel("residues", "plllpli")
        if kernel(residues, planes, rows, columns, out.ctypes.data, out.strides[0], way) == 0:
            return
    restored = np.frombuffer(residues, np.uint8).reshape(planes, rows, columns)
    if way & ACROSS:
        restored = restored.cumsum(2, np.uint8)
    restored = restored.cumsum(1, np.uint8)
    if way & GREEN:
        restored[0] += restored[1]
        restored[2] += restored[1]
    out[:] = restored.transpose(1, 2, 0)


class _Codecs(threading.local):
    """Zstandard's compressor and decompressor of a thread."""

    def __init__(self) -> None:
        import zstandard

        self.error = zstandard.ZstdError
        search = zstandard.ZstdCompressionParameters.from_level(1, **_SEARCH)
        self.compress = zstandard.ZstdCompressor(compression_params=search).compress
        self.decompress = zstandard.ZstdDecompressor().decompress
        self.content_size = zstandard.frame_content_size


@cache
def _codecs() -> _Codecs:
    return _Codecs()
