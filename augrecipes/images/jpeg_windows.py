"""Windows of JPEGs by libjpeg-turbo, and JPEGs as stores keep them.

The codec of `augrecipes.native` is used where augrecipes was built with it, for the kinds of JPEG of which it gives the
very pixels of simplejpeg. That is tried out, once, on an image of each. Without it, for whatever is unusual
(progressive, arithmetic, several scans), and at its first word, be it warning or error, the whole image is decoded and
the part cut from it: so what is said of a damaged file is what is said of it whole.

What is detected: whatever libjpeg stumbles on in rows that are decoded, and a missing end marker. What is not: damage
below the last row; damage above the restart interval that the window begins in, unless it changes the markers' order;
and damage that is only noticed, by the whole decode too, when the data run out at its end.
"""

from __future__ import annotations

import random
import struct
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.images import jpeg
from augrecipes.images.format import Area, Format, ImageHeader
from augrecipes.images.jpeg import Segments
from augrecipes.native.libjpeg import SPACES, Codec, Coded, Window, codec

# Rows and columns more around a window, at the scale decoded at: upsampling mixes samples of chroma with their
# neighbours, and does so at the edge of what is decoded as if the image ended there.
_ROWS, _LEFT, _RIGHT = 1, 2, 4
_ENCODED = {  # how blocks of the components lie, as simplejpeg calls it
    b"\x11\x11\x11": "444",
    b"\x21\x11\x11": "422",
    b"\x22\x11\x11": "420",
    b"\x12\x11\x11": "440",
    b"\x41\x11\x11": "411",
}
_PROBE = 90, 118  # rows and columns: several units of each, and no whole number of any
_PROBED = 4  # windows of it
_SEQUENTIAL, _SCALABLE = (0xC0, 0xC1), (0xC0, 0xC1, 0xC2)
TURNED = b"\xff\xe1"
"""What stands behind the first marker of a kept JPEG that has to be turned, and of no other."""


def scales(data: bytes, header: ImageHeader) -> tuple[int, ...]:
    """1/2, 1/4 and 1/8, for what has blocks of eight and is wide enough to tell the scales apart."""
    return (2, 4, 8) if header.width >= 8 and header.bits == 8 and header.layout.frame in _SCALABLE else ()


def decode(data: bytes, header: ImageHeader, channels: int | None, part: Area) -> NDArray[Any]:
    """Pixels of a part, uint8 H×W×C: C as asked for grey and colour, 3 for CMYK. Raises UnreadableError."""
    colorspace, s = jpeg.colorspace(data, header, channels), header.layout
    found = None if part == Area(0, 0, s.height, s.width) else _coded_as(data, s, colorspace, part)
    pixels = None if found is None else _pixels(found)
    if pixels is None:
        pixels = jpeg.samples(data, s, colorspace, part.reduce)[part.reduced]
    return jpeg.as_rgb(pixels, header)


def coded(data: bytes, header: ImageHeader, channels: int | None, part: Area) -> Coded | None:
    """A part that is not decoded yet; None where `decode` is to say what becomes of it. Raises UnreadableError."""
    return _coded_as(data, header.layout, jpeg.colorspace(data, header, channels), part)


def _coded_as(data: bytes, s: Segments, colorspace: str, part: Area) -> Coded | None:
    library, blocks = codec(), _blocks(data, s)
    kind = "Gray" if s.components == 1 else _ENCODED.get(blocks)
    in_one_scan = s.frame in _SEQUENTIAL and data[s.scan + 4 : s.scan + 5] == bytes([s.components])
    if library is None or kind is None or not in_one_scan or colorspace == "CMYK" or not isinstance(data, bytes):
        return None
    return _coded(library, data, s, colorspace, part) if agrees(library, kind, colorspace, part.reduce) else None


@cache
def agrees(library: Codec, kind: str, colorspace: str, reduce: int) -> bool:
    """Whether windows of an image are those of its whole decode by simplejpeg; tried out once a process."""
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
        part = Area(y0, x0, y1, x1, reduce)
        found = _pixels(_coded(library, data, s, colorspace, part))
        if found is None or not np.array_equal(found, whole[part.reduced]):
            return False
    return True


def _pixels(found: Coded) -> NDArray[np.uint8] | None:
    try:
        return found.pixels()
    except ValueError:
        return None


def _coded(library: Codec, data: bytes, s: Segments, colorspace: str, part: Area) -> Coded:
    k, (rows, columns) = part.reduce, part.reduced
    # Blocks of one component are coded one by one, whatever the sampling says.
    unit = 8 // k * (1 if s.components == 1 else max(both >> 4 for both in _blocks(data, s)))
    top, left = max(rows.start - _ROWS, 0), max(columns.start - _LEFT, 0) // unit * unit
    window = Window(
        size=len(data),
        strict=True,
        codes=True,
        reduce=k,
        channels=SPACES[colorspace],
        y0=top,
        y1=min(rows.stop + _ROWS, -(-s.height // k)),
        x0=left,
        x1=min(columns.stop + _RIGHT, -(-s.width // k)),
    )
    height, width = rows.stop - rows.start, columns.stop - columns.start
    return Coded(library, data, window, rows.start - top, columns.start - left, height, width)


def _blocks(data: bytes, s: Segments) -> bytes:
    """For each component, its blocks across (high four bits) and down (low) in a minimum coded unit."""
    return data[s.at + 11 : s.at + 10 + 3 * s.components : 3]


def kept(data: bytes, header: ImageHeader, turn: int) -> bytes | None:
    """A JPEG as a store keeps it: the coefficients of the file, so that it decodes to the file's own pixels.

    libjpeg-turbo writes them anew where augrecipes was built with it: in one scan, with Huffman codes of its own, and
    with a restart marker after every row of blocks, so that readers of windows skip what lies above. Without it the
    segments that decoding needs are kept. Either way nothing else is left of the file, thumbnails and places on earth
    included, but how it is turned.

    Args:
        data: the file.
        header: its header.
        turn: the EXIF orientation that is undone whenever it is read; 1 for none.

    Returns:
        A JPEG; whoever keeps it sees to it that it decodes to the same. None where the file is none, or is damaged.
    """
    if header.format != "jpeg" or header.bits != 8 or not header.layout.scan:
        return None
    plain: bytes = header.layout.plain(data)
    library = codec()
    if library is not None:
        with suppress(ValueError):  # kept as it is: what it is worth, decoding it says
            plain = library.transcoded(plain)
    if turn == 1:
        return plain
    block = b"Exif\0\0MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, turn, 0, 0)
    return plain[:2] + TURNED + struct.pack(">H", len(block) + 2) + block + plain[2:]


FORMAT = Format(
    "jpeg",
    "JPEG",
    lambda data: data[:3] == b"\xff\xd8\xff",
    jpeg.header,
    decode,
    labels=lambda data, header, part: decode(data, header, None, part),
    # Pixel data never holds an end marker. A thumbnail has one, in front of the start of the pixels.
    complete=lambda header, last, size: last.rfind(jpeg.END) > last.rfind(b"\xff\xda"),
    header_at="front",
    scales=scales,
    coded=coded,
)
