"""Parts of JPEG pyramids, tile by tile: the bytes from the file, the pixels by the decoder of all our JPEGs.

Of a tile that a part touches in a corner no more is decoded than is needed, as far as its kind allows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from augrecipes.errors import DataError
from augrecipes.sources.encoded import MAX_PIXELS, Encoded, encoded
from augrecipes.sources.open_files import bytes_at
from augrecipes.sources.slides.level import WHITE, Part, Pixels, levels_of
from augrecipes.sources.slides.tiff_index import TileIndex
from augrecipes.sources.watch import stage


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
        self._size = os.fstat(self._file).st_size

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
        index = self._indices[level]
        there = part.inside(index.width, index.height)
        if there == part and reduce == 1 and (only := self._only_tile(level, part)) is not None:
            return only
        k = reduce
        out = np.empty((-(-part.height // k), -(-part.width // k), 3), np.uint8)
        if there != part:
            out.fill(WHITE)
        for column, row, piece in _touched(index, there):
            tile = self._tile(level, column, row)
            left, top = column * index.tile_width, row * index.tile_height
            inner = piece.y - top, piece.x - left, piece.y + piece.height - top, piece.x + piece.width - left
            pixels = self._decoded(level, column, row, tile, inner, k)
            y, x = (piece.y - part.y) // k, (piece.x - part.x) // k
            out[y : y + len(pixels), x : x + pixels.shape[1]] = pixels
        return out

    def _only_tile(self, level: int, part: Part) -> Pixels | None:
        """The pixels of a part that is a tile, which are not copied again."""
        index = self._indices[level]
        (column, x), (row, y) = divmod(part.x, index.tile_width), divmod(part.y, index.tile_height)
        if x or y or part.width != index.tile_width or part.height != index.rows_of(row):
            return None
        tile = self._tile(level, column, row)
        return self._decoded(level, column, row, tile, (0, 0, part.height, part.width), 1)

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

    def _decoded(
        self, level: int, column: int, row: int, tile: Encoded, rect: tuple[int, int, int, int], reduce: int
    ) -> Pixels:
        try:
            if reduce == 1 and rect == (0, 0, *tile.shape[:2]):
                return tile.array()
            return tile.view(*rect, reduce)
        except DataError as error:
            raise self._damaged(level, column, row, error.reason) from None

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
