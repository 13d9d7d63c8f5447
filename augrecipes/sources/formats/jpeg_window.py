"""Parts of a JPEG by the machine's libjpeg-turbo: rows and columns that nobody looks at are not made into pixels.

It is used where augrecipes was built with it, for the kinds of JPEG of which it gives the very pixels of simplejpeg.
That is tried out, once, on a picture of each. The height in the frame header is lowered for it to the last row that is
needed, and where restart markers stand at the ends of rows of blocks, what lies above is left out as well. Without it,
for whatever is unusual (progressive, arithmetic, several scans), and at its first word, be it warning or error, the
whole picture is decoded and the part cut from it: so what is said of a damaged file is what is said of it whole.

Fancy upsampling mixes a row of chroma with its neighbour: rows 2n - 1 and 2n with each other's. At the edge of the
picture libjpeg makes one up. So one more row is decoded on either side, and cut off.

What is detected: whatever libjpeg stumbles on in rows that are decoded, and a missing end marker. What is not: damage
below the last row; damage above a cut that leaves the restart markers in order; and damage that is only noticed, by the
whole decode too, when the data run out at its end.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache, lru_cache
from math import lcm
from typing import Any

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.native.libjpeg import SPACES, Codec, Coded, Window, codec
from augrecipes.sources.formats import jpeg
from augrecipes.sources.formats.format import Ends, Format, StoredRegion
from augrecipes.sources.formats.header import ImageHeader
from augrecipes.sources.formats.jpeg import Segments, in_one_scan, sampling

MARGIN = 1
"""Rows more on either side, at the scale decoded at: upsampling mixes a row of chroma with its neighbour."""
# Columns, too, and it does so at the edge of a window as if the picture ended there. As many more are decoded, at
# whatever scale, and cut off.
_LEFT, _RIGHT = 2, 4
_ENCODED = {  # how blocks of the components lie, as simplejpeg calls it
    b"\x11\x11\x11": "444",
    b"\x21\x11\x11": "422",
    b"\x22\x11\x11": "420",
    b"\x12\x11\x11": "440",
    b"\x41\x11\x11": "411",
}
_PROBE = 90, 118  # rows and columns: several units of each, and no whole number of any
_PROBED = 4  # windows of it
_SCALABLE = (0xC0, 0xC1, 0xC2)
_END = b"\xff\xd9"


def scales(data: bytes, header: ImageHeader) -> tuple[int, ...]:
    """1/2, 1/4 and 1/8, for what has blocks of eight and is wide enough to tell the scales apart."""
    return (2, 4, 8) if header.width >= 8 and header.bits == 8 and header.layout.frame in _SCALABLE else ()


def region(data: bytes, header: ImageHeader, channels: int | None, part: StoredRegion) -> NDArray[Any]:
    """Pixels of a part; of the whole decode, if that is what it takes. Raises UnreadableError."""
    colorspace = jpeg.colorspace(data, header, channels)
    found = _coded_as(data, header.layout, colorspace, part)
    pixels = None if found is None else _pixels(found)
    if pixels is None:
        pixels = jpeg.samples(data, header.layout, colorspace, part.reduce)[part.reduced]
    return jpeg.as_rgb(pixels, header)


def coded(data: bytes, header: ImageHeader, channels: int | None, part: StoredRegion) -> Coded | None:
    """A part that is not decoded yet; None where `region` is to say what becomes of it. Raises UnreadableError."""
    return _coded_as(data, header.layout, jpeg.colorspace(data, header, channels), part)


def _coded_as(data: bytes, s: Segments, colorspace: str, part: StoredRegion) -> Coded | None:
    library = codec()
    if library is None or colorspace == "CMYK" or not isinstance(data, bytes):
        return None
    kind = "Gray" if s.components == 1 else _ENCODED.get(sampling(data, s))
    band = band_of(data, s, part)
    if band is None or kind is None or not agrees(library, kind, colorspace, part.reduce):
        return None
    return _coded(library, data, s, colorspace, band, part)


@cache
def agrees(library: Codec, kind: str, colorspace: str, reduce: int) -> bool:
    """Whether windows of a picture are those of its whole decode by simplejpeg; tried out once a process."""
    draw, (height, width) = np.random.default_rng(0), _PROBE
    colours = draw.integers(0, 256, (height, width, 1 if kind == "Gray" else 3), np.uint8)
    data = simplejpeg.encode_jpeg(colours, 90, "GRAY" if kind == "Gray" else "RGB", kind)
    s, corners = jpeg.header(data).layout, random.Random(0)
    whole = jpeg.samples(data, s, colorspace, reduce)
    for _ in range(_PROBED):
        y0, x0 = (corners.randrange(size * 3 // 4) // reduce * reduce for size in _PROBE)
        y1, x1 = (
            min(start + reduce * corners.randint(1, 5), size) for start, size in zip((y0, x0), _PROBE, strict=True)
        )
        part = StoredRegion(y0, x0, y1, x1, reduce)
        band = band_of(data, s, part)
        seen = None if band is None else _pixels(_coded(library, data, s, colorspace, band, part))
        if seen is None or not np.array_equal(seen, whole[part.reduced]):
            return False
    return True


def _pixels(found: Coded) -> NDArray[np.uint8] | None:
    try:
        return found.pixels()
    except ValueError:
        return None


def _coded(library: Codec, data: bytes, s: Segments, colorspace: str, band: Band, part: StoredRegion) -> Coded:
    k, (rows, columns), top = part.reduce, part.reduced, band.top // part.reduce
    unit = units(data, s)[0] // k
    left = max(columns.start - _LEFT, 0) // unit * unit
    above = max(rows.start - top - MARGIN, 0)
    window = Window(
        size=len(data),
        height_at=s.at + 5,
        pixels=jpeg.pixels_at(data, s),
        first=band.first,
        last=band.last,
        count=band.count,
        height=band.height,
        whole=band.whole,
        strict=True,
        reduce=k,
        channels=SPACES[colorspace],
        y0=above,
        y1=-(-band.height // k),
        x0=left,
        x1=min(columns.stop + _RIGHT, -(-s.width // k)),
    )
    height, width = rows.stop - rows.start, columns.stop - columns.start
    return Coded(library, data, window, rows.start - top - above, columns.start - left, height, width)


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


def _complete(info: ImageHeader, ends: Ends) -> bool:
    # Pixel data never holds an end marker. A thumbnail has one, in front of the start of the pixels.
    return ends.last.rfind(_END) > ends.last.rfind(b"\xff\xda")


FORMAT = Format(
    "jpeg",
    "JPEG",
    lambda data: data[:3] == b"\xff\xd8\xff",
    jpeg.header,
    jpeg.decode,
    complete=_complete,
    scales=scales,
    region=region,
    coded=coded,
)
