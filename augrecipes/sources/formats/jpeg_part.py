"""Parts of a JPEG: by the machine's libjpeg-turbo, or over simplejpeg, which only knows whole ones.

simplejpeg is given a smaller picture that begins alike.
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
from itertools import islice
from typing import Any

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.native.libjpeg import Coded
from augrecipes.sources.formats import jpeg, jpeg_window
from augrecipes.sources.formats.format import Ends, Format, StoredRegion
from augrecipes.sources.formats.header import ImageHeader
from augrecipes.sources.formats.jpeg_band import Band, band_of

_SCALABLE = (0xC0, 0xC1, 0xC2)
_END = b"\xff\xd9"
_MARKER = re.compile(rb"\xff[\x01-\xfe]")
_LEFT_OVER = re.compile(r"Corrupt JPEG data: \d+ extraneous bytes before marker 0xd9")
_CHANNELS = {"GRAY": 1, "RGB": 3, "RGBA": 4, "CMYK": 4}


def scales(data: bytes, header: ImageHeader) -> tuple[int, ...]:
    """1/2, 1/4 and 1/8, for what has blocks of eight and is wide enough to tell the scales apart."""
    return (2, 4, 8) if header.width >= 8 and header.bits == 8 and header.layout.frame in _SCALABLE else ()


def region(data: bytes, header: ImageHeader, channels: int | None, part: StoredRegion) -> NDArray[Any]:
    """Pixels of a part; of the whole decode, if that is what it takes. Raises UnreadableError."""
    segments: jpeg.Segments = header.layout
    colorspace = jpeg.colorspace(data, header, channels)
    band = band_of(data, segments, part)
    if band is not None:
        seen = jpeg_window.pixels(data, segments, colorspace, band, part)
        if seen is not None:
            return seen
    top, pixels = 0, None
    if band is not None and not band.whole:
        cut = _cut(data, segments, band)
        if cut is not None:
            top, pixels = band.top, _decoded(cut, band.height, segments.width, colorspace, part.reduce)
    if pixels is None:
        top, pixels = 0, jpeg.samples(data, segments, colorspace, part.reduce)
    rows, columns = part.reduced
    top //= part.reduce
    return jpeg.as_rgb(pixels[rows.start - top : rows.stop - top, columns], header)


def coded(data: bytes, header: ImageHeader, channels: int | None, part: StoredRegion) -> Coded | None:
    """A part that is not decoded yet; None where `region` is to say what becomes of it. Raises UnreadableError."""
    colorspace = jpeg.colorspace(data, header, channels)
    band = band_of(data, header.layout, part)
    return None if band is None else jpeg_window.coded(data, header.layout, colorspace, band, part)


def _cut(data: bytes, s: jpeg.Segments, band: Band) -> bytearray | None:
    """A band as a JPEG of its own; None where the restart markers are not all there and in order."""
    if not band.count:
        return _with_height(data, s, band.height)
    first, last, count = band.first, band.last, band.count
    pixels = jpeg.pixels_at(data, s)
    ends = [found.start() for found in islice(_MARKER.finditer(data, pixels), min(last, count - 1))]
    in_order = len(ends) == min(last, count - 1) and all(data[at + 1] == 0xD0 + k % 8 for k, at in enumerate(ends))
    if not in_order or data.rfind(_END, ends[-1]) < 0:
        return None
    begin = ends[first - 1] + 2 if first else pixels
    end = ends[last - 1] if last < count else len(data)
    made = _with_height(data[:pixels], s, band.height)
    made += data[begin:end]
    for k, at in enumerate(ends[first : last - 1]):
        made[pixels + at - begin + 1] = 0xD0 + k % 8
    made += _END
    return made


def _with_height(data: bytes, s: jpeg.Segments, height: int) -> bytearray:
    changed = bytearray(data)
    struct.pack_into(">H", changed, s.at + 5, height)
    return changed


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _decoded(cut: bytearray, height: int, width: int, colorspace: str, reduce: int) -> NDArray[np.uint8] | None:
    """Pixels of a band at 1/`reduce`, or None if libjpeg has anything to say but that bytes are left over."""
    out = np.empty((_ceil(height, reduce), _ceil(width, reduce), _CHANNELS[colorspace]), np.uint8)
    size = jpeg.least(height, width, reduce)
    try:
        # Strict, it raises after the last row, when all pixels are in `out`.
        found = simplejpeg.decode_jpeg(cut, colorspace, False, False, *size, buffer=out).shape
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
    coded=coded,
)
