"""Where the JPEG tiles of a TIFF pyramid lie in its file: read once, by tifffile, so that tiles can be read without it.

Of the pictures in a file the first is level 0; of the others those are levels that are said to be reduced copies of it,
or stand below it as sub-pictures, or, in files of Aperio, have tiles. Strips count as tiles of a picture's full width.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.slides.level import needed

JPEG, JPEG_OLD_NAME = 7, 33007  # values of the tag Compression; the second is one that some writers use for the first
_X_RESOLUTION, _Y_RESOLUTION = 282, 283
_MICROMETRES = {2: 25_400.0, 3: 10_000.0}  # by the tag ResolutionUnit: an inch, a centimetre
_MOST_PICTURES = 256  # that are looked at in a file: slides have a dozen
_GREY, _RGB, _YCBCR = 1, 2, 6  # of PhotometricInterpretation
# An Adobe segment says how colours are coded: as they are, or as luma and chroma. Without one decoders guess.
_ADOBE = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00"
_CODED = {_GREY: b"", _RGB: _ADOBE + b"\x00", _YCBCR: _ADOBE + b"\x01"}
_START, _END = b"\xff\xd8", b"\xff\xd9"


@dataclass(frozen=True, slots=True, eq=False)
class TileIndex:
    """The tiles of one level.

    Attributes:
        width: of the level, px.
        height: of the level, px.
        tile_width: px; the last column's tiles reach over the edge.
        tile_height: px; so do the last row's, strips end there.
        strips: whether they are strips.
        offsets: int64, where each tile begins in the file, row by row.
        counts: int64, its bytes.
        head: what a tile's own JPEG data lacks in front: the start marker, how colours are coded, and tables.
        channels: 1 or 3.
    """

    width: int
    height: int
    tile_width: int
    tile_height: int
    strips: bool
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    head: bytes
    channels: int

    @property
    def across(self) -> int:
        """Tiles in a row."""
        return -(-self.width // self.tile_width)

    def whole(self, data: bytes) -> bytes:
        """The bytes of a tile as a JPEG that can be decoded by itself."""
        return self.head + data[len(_START) :]

    def rows_of(self, row: int) -> int:
        """How many rows of pixels the tiles of a row have."""
        return min(self.tile_height, self.height - row * self.tile_height) if self.strips else self.tile_height


@dataclass(frozen=True, slots=True, eq=False)
class PyramidIndex:
    """A file of JPEG tiles.

    Attributes:
        levels: the largest first.
        mpp: micrometres a pixel, across and down, by the tags of resolution; None where there are none.
    """

    levels: tuple[TileIndex, ...]
    mpp: tuple[float, float] | None


def index_of(path: str) -> PyramidIndex | None:
    """The levels of a TIFF of JPEG tiles; None where it is anything else.

    Raises:
        Exception: whatever tifffile says of a damaged file.
    """
    tifffile = needed("tifffile")
    try:
        file = tifffile.TiffFile(path)
    except tifffile.TiffFileError:
        return None
    with file:
        pictures = list(_pictures(file))
        found = [_level(page) for page in pictures]
        mpp = _mpp(pictures[0]) if pictures else None
    levels = sorted((level for level in found if level is not None), key=lambda level: -level.width)
    whole = bool(levels) and len(levels) == len(found) and levels[0] is found[0]
    return PyramidIndex(tuple(levels), mpp) if whole else None


def _pictures(file: Any) -> Iterator[Any]:
    """The pictures of a pyramid."""
    pages = list(islice(file.pages, _MOST_PICTURES))
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
    """The tiles of a picture, where all of them are JPEGs of 8 bits."""
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
    made = TileIndex(
        width, height, across, down, not tiled, offsets, counts, _START + coded + tables[2:-2], samples
    )  # fmt: skip
    expected = made.across * -(-height // down)
    # Tiles that are left out, which other readers fill from a coarser level, are theirs to read.
    return made if len(offsets) == len(counts) == expected and counts.all() else None
