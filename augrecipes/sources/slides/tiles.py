"""Parts of JPEG pyramids, tile by tile: the bytes from the file, the pixels by the decoder of all our JPEGs.

Of a tile that a part touches in a corner no more is decoded than is needed, as far as its kind allows; tiles that are
asked for again and again are decoded whole, and kept for a while.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence

import numpy as np

from augrecipes.errors import DataError
from augrecipes.images.encoded import MAX_PIXELS, Encoded, encoded
from augrecipes.images.watch import stage
from augrecipes.sources.open_files import bytes_at
from augrecipes.sources.slides.level import WHITE, Part, Pixels, levels_of
from augrecipes.sources.slides.recent import recent_tiles
from augrecipes.sources.slides.tiff_index import TileIndex

_NUMBERS = itertools.count()  # one for each reader: what it kept is no other's, be it of the same path


class JpegTiles:
    """Reads parts of a TIFF whose levels are JPEG tiles, or strips. Closes its file when it is forgotten.

    Args:
        path: of the file.
        indices: of its levels, the largest first.
        mpp: micrometres a pixel, across and down.
    """

    def __init__(self, path: str, indices: Sequence[TileIndex], mpp: tuple[float, float] | None) -> None:
        self.path, self.mpp, self._indices = path, mpp, tuple(indices)
        self.levels = levels_of([(index.width, index.height) for index in indices])
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        self._size, self._number = os.fstat(self._file).st_size, next(_NUMBERS)

    def __del__(self) -> None:
        if (file := self.__dict__.pop("_file", None)) is not None:
            os.close(file)

    def reduces(self, level: int, most: int) -> int:
        """As `Pyramid`: a tile has to be a whole number of blocks."""
        index = self._indices[level]
        sides = (index.tile_width, index.tile_height)
        return max((k for k in (1, 2, 4, 8) if k <= most and not any(side % (2 * k) for side in sides)), default=1)

    def read(self, level: int, part: Part, reduce: int = 1) -> Pixels:
        """As `Pyramid`."""
        index, k = self._indices[level], reduce
        there = part.inside(index.width, index.height)
        pieces = [*_touched(index, there)]
        size = index.tile_width * index.tile_height * 3
        whole = k == 1 and recent_tiles().ask([(self._number, level, *tile) for *tile, _ in pieces], size)
        if len(pieces) == 1 and there == part and k == 1 and not whole:
            return np.ascontiguousarray(self._decoded(level, *pieces[0]))
        out = np.empty((-(-part.height // k), -(-part.width // k), 3), np.uint8)
        if there != part:
            out.fill(WHITE)
        for column, row, piece in pieces:
            pixels = self._kept(level, column, row, piece) if whole else None
            if pixels is None:
                pixels = self._decoded(level, column, row, piece, k)
            y, x = (piece.y - part.y) // k, (piece.x - part.x) // k
            out[y : y + len(pixels), x : x + pixels.shape[1]] = pixels
        return out

    def _kept(self, level: int, column: int, row: int, piece: Part) -> Pixels | None:
        """A piece of a tile that is kept from now on; None where the tile is damaged: the piece may not be."""
        index, kept = self._indices[level], recent_tiles()
        left, top = column * index.tile_width, row * index.tile_height
        pixels = kept.pixels(name := (self._number, level, column, row))
        if pixels is None:
            try:
                pixels = self._decoded(level, column, row, Part(left, top, index.tile_width, index.rows_of(row)))
            except DataError:
                return None
            kept.keep(name, pixels)
        return pixels[piece.y - top : piece.y - top + piece.height, piece.x - left : piece.x - left + piece.width]

    def _decoded(self, level: int, column: int, row: int, piece: Part, reduce: int = 1) -> Pixels:
        """A piece of a tile, as a view of more maybe; what a tile has beyond its level belongs to it."""
        index, tile = self._indices[level], self._tile(level, column, row)
        y, x = piece.y - row * index.tile_height, piece.x - column * index.tile_width
        rect = y, x, y + piece.height, x + piece.width
        try:
            if reduce == 1 and rect == (0, 0, *tile.shape[:2]):
                return tile.array()
            return tile.view(*rect, reduce)
        except DataError as error:
            raise self._damaged(level, column, row, error.reason) from None

    def _tile(self, level: int, column: int, row: int) -> Encoded:
        """A tile, its header read and found to be what the file says."""
        index = self._indices[level]
        number = row * index.across + column
        start, count = int(index.offsets[number]), int(index.counts[number])
        if not 0 < start <= start + count <= self._size:
            raise self._damaged(level, column, row, "truncated: it would lie behind the end of the file")
        try:
            with stage("read"):
                data = bytes_at(self._file, start, count)
            found = encoded(index.whole(data), name=self.path, exif="ignore", max_pixels=MAX_PIXELS)
        except DataError as error:
            raise self._damaged(level, column, row, error.reason) from None
        except OSError as error:
            raise self._damaged(level, column, row, f"cannot be read: {error.strerror or error}") from None
        if found.header.format != "jpeg" or found.shape[:2] != (index.rows_of(row), index.tile_width):
            size = f"{found.shape[1]}×{found.shape[0]} px where {index.tile_width}×{index.rows_of(row)} are expected"
            raise self._damaged(level, column, row, f"holds a picture of {size}")
        return found

    def _damaged(self, level: int, column: int, row: int, why: str) -> DataError:
        index = self._indices[level]
        place = f"x={column * index.tile_width}, y={row * index.tile_height}"
        return DataError(f"the {'strip' if index.strips else 'tile'} at {place} of level {level}: {why}", self.path)


def _touched(index: TileIndex, part: Part) -> Iterator[tuple[int, int, Part]]:
    """The tiles that a part of a level touches: column, row, and what of the part lies on it."""
    if part.empty:
        return
    for row in range(part.y // index.tile_height, -(-(part.y + part.height) // index.tile_height)):
        top, bottom = max(part.y, row * index.tile_height), min(part.y + part.height, (row + 1) * index.tile_height)
        for column in range(part.x // index.tile_width, -(-(part.x + part.width) // index.tile_width)):
            left = max(part.x, column * index.tile_width)
            right = min(part.x + part.width, (column + 1) * index.tile_width)
            yield column, row, Part(left, top, right - left, bottom - top)
