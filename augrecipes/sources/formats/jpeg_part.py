"""Parts of a JPEG over simplejpeg, which only knows whole ones: it is given a smaller picture that begins alike.

The height in the frame header is lowered to the last row that is needed, so that decoding stops there. Where restart
markers stand at the ends of rows of blocks, what lies above is cut out as well. libjpeg then reports, as its first and
only warning, that bytes are left in front of the end marker; whatever else it reports, and whatever else is unusual
(progressive, arithmetic, several scans, nothing to be saved), the whole picture is decoded and the part cut from it.

Fancy upsampling mixes a row of chroma with its neighbour: rows 2n - 1 and 2n with each other's. At the edge of the
picture libjpeg makes one up. So one more row is decoded on either side, and cut off.

What is detected: whatever libjpeg stumbles on in rows that are decoded, and a missing end marker. What is not: damage
below the last row; damage above a cut that leaves the restart markers in order; and damage that is only noticed, by the
whole decode too, when the data run out at its end.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from itertools import islice
from math import lcm
from typing import Any

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.sources.formats import jpeg
from augrecipes.sources.formats.format import Ends, Format, StoredRegion
from augrecipes.sources.formats.header import ImageHeader

_SCALABLE = (0xC0, 0xC1, 0xC2)
_MARGIN = 1  # row, at the scale decoded at
_END = b"\xff\xd9"
_MARKER = re.compile(rb"\xff[\x01-\xfe]")
_LEFT_OVER = re.compile(r"Corrupt JPEG data: \d+ extraneous bytes before marker 0xd9")
_CHANNELS = {"GRAY": 1, "RGB": 3, "RGBA": 4, "CMYK": 4}


@dataclass(frozen=True, slots=True)
class _Band:
    """A JPEG of some rows of another."""

    data: bytearray
    top: int  # the first row that it holds
    height: int


def scales(data: bytes, header: ImageHeader) -> tuple[int, ...]:
    """1/2, 1/4 and 1/8, for what has blocks of eight and is wide enough to tell the scales apart."""
    return (2, 4, 8) if header.width >= 8 and header.bits == 8 and header.layout.frame in _SCALABLE else ()


def region(data: bytes, header: ImageHeader, channels: int | None, part: StoredRegion) -> NDArray[Any]:
    """Pixels of a part; of the whole decode, if that is what it takes. Raises UnreadableError."""
    segments: jpeg.Segments = header.layout
    colorspace = jpeg.colorspace(data, header, channels)
    band = _band(data, segments, part)
    top, pixels = (0, None) if band is None else (band.top, _decoded(band, segments.width, colorspace, part.reduce))
    if pixels is None:
        top, pixels = 0, jpeg.samples(data, segments, colorspace, part.reduce)
    rows, columns = part.reduced
    top //= part.reduce
    return jpeg.as_rgb(pixels[rows.start - top : rows.stop - top, columns], header)


def _band(data: bytes, s: jpeg.Segments, part: StoredRegion) -> _Band | None:
    """The rows that decoding a part needs, as a JPEG of their own; None where that saves nothing or is not known."""
    if not jpeg.in_one_scan(data, s):
        return None
    columns, rows = _units(data, s)
    if not (columns and rows):
        return None
    margin = _MARGIN * part.reduce
    stop = min(part.y1 + margin, s.height)
    if s.interval:
        return _between_restarts(data, s, _ceil(s.width, columns), rows, max(part.y0 - margin, 0), stop)
    if _ceil(stop, rows) == _ceil(s.height, rows):
        return None
    return _Band(_with_height(data, s, stop), 0, stop)


def _units(data: bytes, s: jpeg.Segments) -> tuple[int, int]:
    """Columns and rows of pixels in a minimum coded unit; zero where the header is damaged."""
    if s.components == 1:  # blocks are coded one by one, whatever the sampling says
        return 8, 8
    sampling = jpeg.sampling(data, s)
    return 8 * max(both >> 4 for both in sampling), 8 * max(both & 15 for both in sampling)


def _between_restarts(data: bytes, s: jpeg.Segments, across: int, rows: int, start: int, stop: int) -> _Band | None:
    """The intervals that hold the rows from `start` to `stop`, with as many rows above as it takes to begin at one.

    `across`: minimum coded units in a row of them, each of `rows` rows of pixels.
    """
    step = lcm(s.interval, across)  # units after which a row of them and an interval end together
    first = start // rows * across // step * (step // s.interval)
    last = _ceil(_ceil(stop, rows) * across, s.interval)
    count = _ceil(_ceil(s.height, rows) * across, s.interval)
    if first == 0 and last == count:
        return None
    pixels = jpeg.pixels_at(data, s)
    ends = [found.start() for found in islice(_MARKER.finditer(data, pixels), min(last, count - 1))]
    in_order = len(ends) == min(last, count - 1) and all(data[at + 1] == 0xD0 + k % 8 for k, at in enumerate(ends))
    if not in_order or data.rfind(_END, ends[-1]) < 0:
        return None
    begin = ends[first - 1] + 2 if first else pixels
    end = ends[last - 1] if last < count else len(data)
    top = first * s.interval // across * rows
    band = _with_height(data[:pixels], s, stop - top)
    band += data[begin:end]
    for k, at in enumerate(ends[first : last - 1]):
        band[pixels + at - begin + 1] = 0xD0 + k % 8
    band += _END
    return _Band(band, top, stop - top)


def _with_height(data: bytes, s: jpeg.Segments, height: int) -> bytearray:
    changed = bytearray(data)
    struct.pack_into(">H", changed, s.at + 5, height)
    return changed


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _decoded(band: _Band, width: int, colorspace: str, reduce: int) -> NDArray[np.uint8] | None:
    """Its pixels at 1/`reduce`, or None if libjpeg has anything to say but that bytes are left over."""
    out = np.empty((_ceil(band.height, reduce), _ceil(width, reduce), _CHANNELS[colorspace]), np.uint8)
    size = jpeg.least(band.height, width, reduce)
    try:
        # Strict, it raises after the last row, when all pixels are in `out`.
        found = simplejpeg.decode_jpeg(band.data, colorspace, False, False, *size, buffer=out).shape
    except ValueError as error:
        return out if _LEFT_OVER.fullmatch(str(error)) else None
    return out if found == out.shape else None


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
)
