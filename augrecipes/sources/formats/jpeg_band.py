"""Which rows of a JPEG have to be decoded for a part of it, and where their bytes begin and end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import lcm

from augrecipes.sources.formats.format import StoredRegion
from augrecipes.sources.formats.jpeg import Segments, in_one_scan, sampling

MARGIN = 1
"""Rows more on either side, at the scale decoded at: upsampling mixes a row of chroma with its neighbour."""


@dataclass(frozen=True, slots=True)
class Band:
    """Rows of a JPEG, from the beginning of a restart interval or of the picture, that hold those of a part.

    Attributes:
        top: the first row.
        height: how many; the first ones are there for what lies above the part in its interval.
        whole: these are all rows, and nothing is left out.
        first: restart intervals above them.
        last: the interval that they end in front of.
        count: intervals of the picture; 0 where none is left out.
    """

    top: int
    height: int
    whole: bool
    first: int = 0
    last: int = 0
    count: int = 0


def band_of(data: bytes, s: Segments, part: StoredRegion) -> Band | None:
    """The rows that decoding a part needs; None where that is not known."""
    if not in_one_scan(data, s):
        return None
    columns, rows = units(data, s)
    if not (columns and rows):
        return None
    margin = MARGIN * part.reduce
    stop = min(part.y1 + margin, s.height)
    if s.interval:
        return _between_restarts(s, _ceil(s.width, columns), rows, max(part.y0 - margin, 0), stop)
    if _ceil(stop, rows) == _ceil(s.height, rows):
        return Band(0, s.height, whole=True)
    return Band(0, stop, whole=False)


def _between_restarts(s: Segments, across: int, rows: int, start: int, stop: int) -> Band:
    """The intervals that hold the rows from `start` to `stop`, with as many rows above as it takes to begin at one.

    `across`: minimum coded units in a row of them, each of `rows` rows of pixels.
    """
    step = lcm(s.interval, across)  # units after which a row of them and an interval end together
    first = start // rows * across // step * (step // s.interval)
    last = _ceil(_ceil(stop, rows) * across, s.interval)
    count = _ceil(_ceil(s.height, rows) * across, s.interval)
    if first == 0 and last == count:
        return Band(0, s.height, whole=True)
    top = first * s.interval // across * rows
    return Band(top, stop - top, False, first, last, count)


def units(data: bytes, s: Segments) -> tuple[int, int]:
    """Columns and rows of pixels in a minimum coded unit; zero where the header is damaged."""
    if s.components == 1:  # blocks are coded one by one, whatever the sampling says
        return 8, 8
    return _units(sampling(data, s))


@lru_cache(256)
def _units(blocks: bytes) -> tuple[int, int]:
    return 8 * max(both >> 4 for both in blocks), 8 * max(both & 15 for both in blocks)


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
