"""Parts of a JPEG by the machine's libjpeg-turbo: rows and columns that nobody looks at are not made into pixels.

It is used where augrecipes was built with it, for the kinds of JPEG of which it gives the very pixels of simplejpeg.
That is tried out, once, on a picture of each. At the first word of libjpeg, be it warning or error, it is left,
and simplejpeg says what becomes of the file: so the verdict on a damaged one is the same with and without it.
"""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.native.libjpeg import SPACES, Codec, Coded, Window, codec
from augrecipes.sources.formats import jpeg
from augrecipes.sources.formats.format import StoredRegion
from augrecipes.sources.formats.jpeg_band import MARGIN, Band, band_of, units

# Upsampling mixes columns of chroma, too, and does so at the edge of a window as if the picture ended there. As many
# more columns are decoded, at whatever scale, and cut off.
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


def pixels(data: bytes, s: jpeg.Segments, colorspace: str, band: Band, part: StoredRegion) -> NDArray[np.uint8] | None:
    """A part of a band, uint8 H×W×C; None where simplejpeg is to decode it."""
    found = coded(data, s, colorspace, band, part)
    return None if found is None else _pixels(found)


def coded(data: bytes, s: jpeg.Segments, colorspace: str, band: Band, part: StoredRegion) -> Coded | None:
    """The same, not decoded yet."""
    library = codec()
    if library is None or colorspace == "CMYK" or not isinstance(data, bytes):
        return None
    kind = "Gray" if s.components == 1 else _ENCODED.get(jpeg.sampling(data, s))
    if kind is None or not agrees(library, kind, colorspace, part.reduce):
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


def _coded(library: Codec, data: bytes, s: jpeg.Segments, colorspace: str, band: Band, part: StoredRegion) -> Coded:
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
