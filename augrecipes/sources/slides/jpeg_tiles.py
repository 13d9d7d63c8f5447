"""TIFF pyramids of JPEG tiles, read tile by tile: bytes from the file, pixels from our own JPEG decoder.

tifffile finds the tiles once. The first image in a file is level 0; further levels are images that the file marks as
reduced copies of it, its sub-images, or, in Aperio's files, images with tiles. Strips count as tiles of full width.

A window that consists of whole tiles, or lies in a single tile, decodes only the pixels that it shows. Other windows
share tiles with their neighbours: these tiles are decoded whole, and cached.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.images.encoded import MAX_PIXELS, Encoded, encoded
from augrecipes.images.format import stage
from augrecipes.lru import LruCache, OpenFile
from augrecipes.sources.slides.pyramid import WHITE, Part, Pixels, Pyramid, as_levels

JPEG, JPEG_OLD_NAME = 7, 33007  # values of the tag Compression; some writers use the second for the first
_X_RESOLUTION, _Y_RESOLUTION = 282, 283
_MICROMETRES = {2: 25_400.0, 3: 10_000.0}  # by the tag ResolutionUnit: an inch, a centimetre
_MOST_IMAGES = 256  # inspected in a file; slides have a dozen
_GREY, _RGB, _YCBCR = 1, 2, 6  # of PhotometricInterpretation
# An Adobe segment says whether colours are RGB or YCbCr; without one, decoders guess.
_ADOBE = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00"
_CODED = {_GREY: b"", _RGB: _ADOBE + b"\x00", _YCBCR: _ADOBE + b"\x01"}
_START, _END = b"\xff\xd8", b"\xff\xd9"


@dataclass(frozen=True, slots=True, eq=False)
class TileIndex:
    """The tiles of one level.

    Attributes:
        width: of the level, px.
        height: of the level, px.
        tile_width: px; tiles of the last column extend beyond the level.
        tile_height: px; so do tiles of the last row, but not strips.
        strips: whether the tiles are strips.
        offsets: int64, the first byte of each tile in the file, row by row.
        counts: int64, the number of bytes of each tile.
        head: the start of a JPEG that a tile's own data lacks: start marker, Adobe segment, and tables.
    """

    width: int
    height: int
    tile_width: int
    tile_height: int
    strips: bool
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    head: bytes

    @property
    def across(self) -> int:
        """The number of tiles in a row."""
        return -(-self.width // self.tile_width)

    def complete_jpeg(self, data: bytes) -> bytes:
        """The bytes of a tile as a complete JPEG file."""
        return self.head + data[len(_START) :]

    def rows_of(self, row: int) -> int:
        """The height of the tiles in a row, px."""
        return min(self.tile_height, self.height - row * self.tile_height) if self.strips else self.tile_height


def index_of(file: Any) -> tuple[tuple[TileIndex, ...], tuple[float, float] | None] | None:
    """The levels of an open TiffFile of JPEG tiles, the largest first, and its micrometres per pixel, if known.

    None for any other file.

    Raises:
        Exception: any error of tifffile on a damaged file.
    """
    images = list(_images(file))
    indices = [_level(page) for page in images]
    mpp = _mpp(images[0]) if images else None
    levels = sorted((level for level in indices if level is not None), key=lambda level: -level.width)
    whole = bool(levels) and len(levels) == len(indices) and levels[0] is indices[0]
    return (tuple(levels), mpp) if whole else None


def _images(file: Any) -> Iterator[Any]:
    """Yield the images of a pyramid."""
    pages = list(islice(file.pages, _MOST_IMAGES))
    if not pages:
        return
    first = pages[0]
    yield first
    yield from (page.aspage() for page in first.pages or ()) if first.subifds else ()
    for page in (page.aspage() for page in pages[1:]):
        belongs = page.is_tiled if file.is_svs else page.is_reduced and page.is_tiled == first.is_tiled
        if belongs and page.samplesperpixel == first.samplesperpixel:
            yield page


def _mpp(page: Any) -> tuple[float, float] | None:
    unit = _MICROMETRES.get(int(page.resolutionunit))
    if unit is None or not {_X_RESOLUTION, _Y_RESOLUTION} <= {tag.code for tag in page.tags}:
        return None
    across, down = page.resolution
    return (unit / across, unit / down) if 0 < across < np.inf and 0 < down < np.inf else None


def _level(page: Any) -> TileIndex | None:
    """The tiles of an image if they are 8-bit JPEGs, else None."""
    tiled, samples = bool(page.is_tiled), int(page.samplesperpixel)
    coded = _CODED.get(int(page.photometric))
    wanted = {_GREY: 1}.get(int(page.photometric), 3)
    plain = int(page.compression) in (JPEG, JPEG_OLD_NAME) and int(page.bitspersample) == 8 and page.imagedepth == 1
    if not plain or coded is None or samples != wanted or (samples > 1 and int(page.planarconfig) != 1):
        return None
    width, height = int(page.imagewidth), int(page.imagelength)
    across, down = (int(page.tilewidth), int(page.tilelength)) if tiled else (width, int(page.rowsperstrip))
    if min(width, height, across, down) < 1:
        return None
    down = down if tiled else min(down, height)
    offsets, counts = (np.asarray(values, np.int64) for values in (page.dataoffsets, page.databytecounts))
    tables = page.jpegtables or _START + _END
    index = TileIndex(width, height, across, down, not tiled, offsets, counts, _START + coded + tables[2:-2])
    expected = index.across * -(-height // down)
    # OpenSlide fills missing tiles from a coarser level: leave such files to it.
    return index if len(offsets) == len(counts) == expected and counts.all() else None


RECENT = LruCache[Pixels](32 << 20, attrgetter("nbytes"))
"""Recently decoded tiles of all slides of a process; they must not be modified."""
_NUMBERS = itertools.count()  # keys of readers in the cache; a path may be opened twice


class JpegTiles(Pyramid):
    """A reader for TIFFs whose levels are JPEG tiles or strips. It closes its file when it is garbage collected.

    Args:
        path: the file.
        indices: the tiles of each level, the largest first.
        mpp: micrometres per pixel, across and down.
    """

    def __init__(self, path: str, indices: Sequence[TileIndex], mpp: tuple[float, float] | None) -> None:
        self.path, self.mpp, self._indices = path, mpp, tuple(indices)
        self.levels = as_levels([(index.width, index.height) for index in indices])
        self._file, self._number = OpenFile(path), next(_NUMBERS)
        self._size = len(self._file)

    def read(self, level: int, part: Part) -> Pixels:
        """See `Pyramid.read`."""
        index = self._indices[level]
        clipped = part.inside(index.width, index.height)
        pieces = [*_tile_pieces(index, clipped)]
        sizes = {(piece.width, piece.height) for *_, piece in pieces}
        shared = len(pieces) > 1 and sizes != {(index.tile_width, index.tile_height)}
        if len(pieces) == 1 and clipped == part:
            return np.ascontiguousarray(self._decoded(level, *pieces[0]))
        out = np.empty((part.height, part.width, 3), np.uint8)
        if clipped != part:
            out.fill(WHITE)
        for column, row, piece in pieces:
            pixels = (self._cached if shared else self._decoded)(level, column, row, piece)
            y, x = piece.y - part.y, piece.x - part.x
            out[y : y + len(pixels), x : x + pixels.shape[1]] = pixels
        return out

    def _cached(self, level: int, column: int, row: int, piece: Part) -> Pixels:
        """A piece of a cached tile; decoded alone if the tile is damaged, since the piece may be intact."""
        index = self._indices[level]
        left, top = column * index.tile_width, row * index.tile_height
        tile = Part(left, top, index.tile_width, index.rows_of(row))
        try:
            pixels = RECENT.get((self._number, level, column, row), lambda: self._decoded(level, column, row, tile))
        except DataError:
            return self._decoded(level, column, row, piece)
        return pixels[piece.y - top : piece.y - top + piece.height, piece.x - left : piece.x - left + piece.width]

    def _decoded(self, level: int, column: int, row: int, piece: Part) -> Pixels:
        """A piece of a tile, perhaps as a view; tiles include their pixels beyond the level."""
        index = self._indices[level]
        left, top = column * index.tile_width, row * index.tile_height
        y, x = piece.y - top, piece.x - left
        rect = y, x, y + piece.height, x + piece.width
        try:
            tile = self._tile(level, column, row)
            return tile.array() if rect == (0, 0, *tile.shape[:2]) else tile.view(*rect)
        except (DataError, OSError) as error:
            where = f"the {'strip' if index.strips else 'tile'} at x={left}, y={top} of level {level}"
            why = error.reason if isinstance(error, DataError) else f"cannot be read: {error.strerror or error}"
            raise DataError(f"{where}: {why}", self.path) from None

    def _tile(self, level: int, column: int, row: int) -> Encoded:
        """An encoded tile, whose header agrees with the file."""
        index = self._indices[level]
        number = row * index.across + column
        start, count = int(index.offsets[number]), int(index.counts[number])
        if not 0 < start <= start + count <= self._size:
            raise DataError("truncated: it would lie behind the end of the file")
        with stage("read"):
            data = self._file.read(start, count)
        tile = encoded(index.complete_jpeg(data), name=self.path, exif="ignore", max_pixels=MAX_PIXELS)
        if tile.header.format != "jpeg" or tile.shape[:2] != (index.rows_of(row), index.tile_width):
            size = f"{tile.shape[1]}×{tile.shape[0]} px where {index.tile_width}×{index.rows_of(row)} are expected"
            raise DataError(f"holds an image of {size}")
        return tile


def _tile_pieces(index: TileIndex, part: Part) -> Iterator[tuple[int, int, Part]]:
    """Yield the tiles that a part of a level touches: column, row, and the piece of the part on the tile."""
    if not part.width * part.height:
        return
    for row in range(part.y // index.tile_height, -(-(part.y + part.height) // index.tile_height)):
        top, bottom = max(part.y, row * index.tile_height), min(part.y + part.height, (row + 1) * index.tile_height)
        for column in range(part.x // index.tile_width, -(-(part.x + part.width) // index.tile_width)):
            left = max(part.x, column * index.tile_width)
            right = min(part.x + part.width, (column + 1) * index.tile_width)
            yield column, row, Part(left, top, right - left, bottom - top)
