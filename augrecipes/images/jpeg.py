"""JPEG: headers are parsed here; pixels come from simplejpeg, which reports errors where OpenCV returns grey rows.

Windows are decoded by the codec of `augrecipes.native` (libjpeg-turbo), if augrecipes was built with it, for the kinds
of JPEG for which it gives exactly simplejpeg's pixels; this is tested once on an image of each kind. Without it, for
unusual files (progressive, arithmetic, several scans), and after any warning or error, the whole image is decoded and
the window cut out: so messages on damaged files do not depend on the window.

Detected is any damage that libjpeg meets in decoded rows, and a missing end marker. Not detected is damage below the
last row; damage above the restart interval in which the window begins, unless it changes the markers' order; and damage
that even a whole decode notices only when the data run out at its end.
"""

import random
import re
import struct
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from augrecipes.images.format import (
    MOST_PARTS,
    Area,
    Color,
    Format,
    ImageHeader,
    UnreadableError,
    orientation,
    raise_if_memory,
    too_many,
)
from augrecipes.native.kernels import SPACES, Codec, Coded, Window, codec

_SOS, _APP0, _APP1, _APP2, _APP14, _COM = 0xDA, 0xE0, 0xE1, 0xE2, 0xEE, 0xFE
_FRAMES = {0xC0 + n for n in range(16)} - {0xC4, 0xC8, 0xCC}  # SOF0 to SOF15, less DHT, JPG and DAC
# The next marker with a length, or the end: not stuffing (00), fill (FF), junk, or a marker that stands alone.
_SEGMENT = re.compile(rb"\xff[^\x00\x01\xd0-\xd8\xff]")
_NEXT = frozenset((*range(0xC0, 0xD0), *range(0xDA, 0xFF)))  # markers that usually follow a segment directly
END = b"\xff\xd9"
_MOST_JUNK = 2**24  # bytes between segments
_MOST_EXIF = 16  # blocks searched for an orientation
_COLORS: dict[int, Color] = {1: "grey", 3: "rgb", 4: "cmyk"}

# Each block of 64 pixels has a Huffman code of at least one bit; the factor 4 allows for unusual sampling. Arithmetic
# codes of plain images can be shorter, but such files are rare, and forged ones with many empty scans take long.
_MOST_PIXELS_PER_BYTE = 8 * 64 * 4
# libjpeg decodes the whole image once per scan: real progressive files have about ten.
_USUAL_SCANS, _MOST_SCANS = 10, 100

# libjpeg's warnings on intact pixels: junk between segments or before the end marker, a damaged ICC profile, unusual
# but harmless parameters. Skipped restart markers (D0 to D7), however, mean lost data.
_HARMLESS = re.compile(
    r"extraneous bytes before marker 0x(?!d[0-7])|bad ICC marker|Inconsistent progression sequence"
    r"|unknown JFIF revision|Unknown Adobe color transform|Invalid SOS parameters"
)
# Margins around a window, in decoded pixels: chroma upsampling interpolates between neighbours, and treats the edge of
# the decoded part as the image's edge.
_ROWS, _LEFT, _RIGHT = 1, 2, 4
_ENCODED = {  # simplejpeg's names of chroma subsamplings
    b"\x11\x11\x11": "444",
    b"\x21\x11\x11": "422",
    b"\x22\x11\x11": "420",
    b"\x12\x11\x11": "440",
    b"\x41\x11\x11": "411",
}
_PROBE = 90, 118  # rows and columns of a test image: several MCUs, and not a multiple of any MCU size
_PROBED = 4  # windows tested in it
_SEQUENTIAL, _SCALABLE = (0xC0, 0xC1), (0xC0, 0xC1, 0xC2)


@dataclass(frozen=True, slots=True)
class Segments:
    """The positions of segments in a JPEG, and the contents of its frame header."""

    at: int  # start of the frame header
    frame: int  # its SOF marker
    width: int
    height: int
    bits: int
    components: int
    orientation: int
    scan: int  # start of the first SOS marker; 0 if the data ends before it
    needed: tuple[tuple[int, int], ...]  # the segments that decoding needs, in order
    profile: bytes  # ICC

    def plain(self, data: bytes) -> bytes:
        """The file without segments that decoding does not need."""
        return b"".join(data[begin:end] for begin, end in self.needed) + data[self.scan :]


def header(data: bytes) -> ImageHeader:
    """The header of a JPEG; the data may end after the frame marker. Raises UnreadableError."""
    s = _walk(data)
    more: Any = {"orientation": s.orientation, "lossy": True, "layout": s, "profile": s.profile}
    return ImageHeader("jpeg", s.width, s.height, s.bits, _COLORS.get(s.components, "other"), **more)


def _space_of(data: bytes, info: ImageHeader, channels: int | None) -> str:
    """The colour space for simplejpeg. Raises UnreadableError for unsupported files, before decoding."""
    s: Segments = info.layout
    if info.bits != 8:
        raise UnreadableError(f"a JPEG of {info.bits} bits per sample; 8 are supported")
    if not s.scan:
        raise UnreadableError("truncated: its JPEG data ends before the image")
    scans = 1 if s.frame in _SEQUENTIAL else data.count(b"\xff\xda", s.scan)
    if scans > _MOST_SCANS:
        raise UnreadableError(f"a JPEG of more than {_MOST_SCANS} scans")
    if info.width * info.height * max(scans / _USUAL_SCANS, 1) > _MOST_PIXELS_PER_BYTE * len(data):
        size = f"{info.width}×{info.height} pixels (scans: {scans})"
        raise UnreadableError(f"truncated: {len(data)} bytes cannot hold {size}")
    if info.color == "cmyk":
        return "CMYK"
    if info.color == "other":
        raise UnreadableError(f"a JPEG of {s.components} components")
    return {1: "GRAY", 3: "RGB", 4: "RGBA"}[channels or s.components]


def _walk(data: bytes) -> Segments:
    at, end, needed, frame, turn, blocks, junk, profile = 2, 2, [(0, 2)], None, 1, 0, _MOST_JUNK, list[bytes]()
    for _ in range(MOST_PARTS):
        if end + 4 <= len(data) and data[end] == 0xFF and data[end + 1] in _NEXT:
            at = end
        else:
            segment = _SEGMENT.search(data, end, end + junk)
            if segment is None and end + junk < len(data):
                where = f"no segment in front of byte {end + junk:,} of {len(data):,}, but fill or junk"
                raise UnreadableError(f"not a real JPEG: {where}: {data[end + junk : end + junk + 8].hex(' ')} …")
            if segment is None or segment.group() == END or segment.start() + 4 > len(data):
                at = len(data)
                break
            junk -= segment.start() - end
            at = segment.start()
        marker, length = data[at + 1], data[at + 2] << 8 | data[at + 3]
        end = at + 2 + length
        if length < 2:
            raise UnreadableError(f"a JPEG segment of {length} bytes")
        if marker in _FRAMES and frame is None:
            if length < 8 or end > len(data):
                raise UnreadableError("truncated in its JPEG header")
            bits, height, width, components = struct.unpack_from(">BHHB", data, at + 4)
            frame = at, marker, width, height, bits, components
        elif marker == _APP1 and data[at + 4 : at + 8] == b"Exif" and turn == 1 and blocks < _MOST_EXIF:
            turn, blocks = orientation(data[at + 4 : end]), blocks + 1
        elif marker == _APP2 and data[at + 4 : at + 16] == b"ICC_PROFILE\0":
            profile.append(data[at + 16 : end])  # its number, the number of parts, and a part
        if marker == _SOS:
            break
        if (not _APP0 <= marker <= _APP0 + 15 and marker != _COM) or marker in (_APP0, _APP14):
            needed.append((at, end))
    else:
        raise too_many("JPEG", "segments", end)
    if frame is None:
        where = f"no segment says a size, none follows behind byte {min(end, len(data)):,} of {len(data):,}"
        raise UnreadableError(f"truncated in its JPEG header, or a JPEG without one: {where}")
    whole = b"".join(part[2:] for part in sorted(profile, key=lambda part: part[:1]))
    return Segments(*frame, turn, at if at < len(data) else 0, tuple(needed), whole)


def samples(data: bytes, s: Segments, colorspace: str, reduce: int = 1) -> NDArray[np.uint8]:
    """Decode the whole image at 1/`reduce` (1, 2, 4 or 8; above 1 only for images at least 7 pixels wide).

    libjpeg reports only its first warning, and a worse one may follow a harmless one. Without segments that decoding
    does not need, and without junk between them, most files pass the strict decoder.

    Raises:
        UnreadableError: the file is damaged, truncated, or of a kind that libjpeg does not support.
        MemoryError: there is too little memory.
    """
    for attempt in range(3):
        if attempt == 2 and data.rfind(END) < s.scan:
            raise UnreadableError("truncated: its JPEG data has no end marker")
        try:
            file = s.plain(data) if attempt else data
            return _decode_whole(file, s, colorspace, reduce, strict=attempt < 2)
        except ValueError as error:
            if attempt == 2 or not _HARMLESS.search(str(error)):
                _refuse(error)
    raise AssertionError  # the third attempt returns or refuses


def _decode_whole(file: bytes, s: Segments, colorspace: str, reduce: int, *, strict: bool) -> NDArray[np.uint8]:
    """Decode all pixels with simplejpeg, or with our codec for samplings that simplejpeg does not know. ValueError.

    Pillow would not report damage.
    """
    rows, columns = -(-s.height // reduce), -(-s.width // reduce)
    # The least size selects the scale: from 7 columns on, only one of libjpeg's scales fits it.
    least = (rows, columns) if reduce > 1 else (0, 0)
    try:
        return np.asarray(simplejpeg.decode_jpeg(file, colorspace, False, False, *least, strict=strict))
    except ValueError as error:
        if "subsampling level" not in str(error) or (library := codec()) is None:
            raise
    window = Window(len(file), strict, False, reduce, SPACES[colorspace], 0, rows, 0, columns)
    return library.decode(bytes(file), window)


def _refuse(error: Exception) -> NoReturn:
    raise_if_memory(error)
    text = str(error)
    if "premature end" in text.lower():
        raise UnreadableError(f"truncated or damaged JPEG ({text})") from None
    if "subsampling level" in text:
        cure = "build augrecipes with libjpeg-turbo, which reads it, or save it again as 4:4:4 or 4:2:0"
        raise UnreadableError(f"a JPEG of unusual chroma subsampling: {cure}")
    raise UnreadableError(f"damaged or unsupported JPEG ({text or type(error).__name__})") from None


def as_rgb(samples: NDArray[np.uint8], info: ImageHeader) -> NDArray[np.uint8]:
    """Convert CMYK to RGB; other images stay unchanged."""
    if info.color != "cmyk":
        return samples
    # As Adobe and all common writers do, samples are 255 minus the ink; OpenCV and Pillow read all files so.
    wide = samples.astype(np.uint16)
    return ((wide[:, :, :3] * wide[:, :, 3:] + 127) // 255).astype(np.uint8)


def scales(data: bytes, header: ImageHeader) -> tuple[int, ...]:
    """The scales 1/2, 1/4 and 1/8, for DCT-based files that are wide enough to tell the scales apart."""
    return (2, 4, 8) if header.width >= 8 and header.bits == 8 and header.layout.frame in _SCALABLE else ()


def decode(data: bytes, header: ImageHeader, channels: int | None, part: Area) -> NDArray[Any]:
    """Pixels of a part, uint8 H×W×C: `channels` for grey and colour, 3 for CMYK. Raises UnreadableError."""
    colorspace, s = _space_of(data, header, channels), header.layout
    window = _coded_as(data, s, colorspace, part)
    pixels = None if window is None else _pixels(window)
    if pixels is None:
        pixels = samples(data, s, colorspace, part.reduce)[part.reduced]
    return as_rgb(pixels, header)


def coded(data: bytes, header: ImageHeader, channels: int | None, part: Area) -> Coded | None:
    """A part for kernels that decode it; None for files that only `decode` handles. Raises UnreadableError."""
    return _coded_as(data, header.layout, _space_of(data, header, channels), part)


def _coded_as(data: bytes, s: Segments, colorspace: str, part: Area) -> Coded | None:
    library, blocks = codec(), _blocks(data, s)
    kind = "Gray" if s.components == 1 else _ENCODED.get(blocks)
    in_one_scan = s.frame in _SEQUENTIAL and data[s.scan + 4 : s.scan + 5] == bytes([s.components])
    if library is None or kind is None or not in_one_scan or colorspace == "CMYK" or not isinstance(data, bytes):
        return None
    return _read_coded(library, data, s, colorspace, part) if agrees(library, kind, colorspace, part.reduce) else None


@cache
def agrees(library: Codec, kind: str, colorspace: str, reduce: int) -> bool:
    """Whether our codec's windows equal simplejpeg's whole decode; tested once per process and kind."""
    draw, (height, width) = np.random.default_rng(0), _PROBE
    colours = draw.integers(0, 256, (height, width, 1 if kind == "Gray" else 3), np.uint8)
    data = simplejpeg.encode_jpeg(colours, 90, "GRAY" if kind == "Gray" else "RGB", kind)
    s, corners = header(data).layout, random.Random(0)
    whole = samples(data, s, colorspace, reduce)
    for _ in range(_PROBED):
        y0, x0 = (corners.randrange(size * 3 // 4) // reduce * reduce for size in _PROBE)
        y1, x1 = (
            min(start + reduce * corners.randint(1, 5), size) for start, size in zip((y0, x0), _PROBE, strict=True)
        )
        part = Area(y0, x0, y1, x1, reduce)
        window = _pixels(_read_coded(library, data, s, colorspace, part))
        if window is None or not np.array_equal(window, whole[part.reduced]):
            return False
    return True


def _pixels(coded: Coded) -> NDArray[np.uint8] | None:
    try:
        return coded.pixels()
    except ValueError:
        return None


def _read_coded(library: Codec, data: bytes, s: Segments, colorspace: str, part: Area) -> Coded:
    k, (rows, columns) = part.reduce, part.reduced
    # A single component is coded block by block, regardless of its sampling factors.
    unit = 8 // k * (1 if s.components == 1 else max(both >> 4 for both in _blocks(data, s)))
    top, left = max(rows.start - _ROWS, 0), max(columns.start - _LEFT, 0) // unit * unit
    bottom, right = min(rows.stop + _ROWS, -(-s.height // k)), min(columns.stop + _RIGHT, -(-s.width // k))
    size, channels = len(data), SPACES[colorspace]
    window = Window(size, True, library.reads_codes, k, channels, y0=top, y1=bottom, x0=left, x1=right)
    height, width = rows.stop - rows.start, columns.stop - columns.start
    return Coded(library, data, window, rows.start - top, columns.start - left, height, width)


def _blocks(data: bytes, s: Segments) -> bytes:
    """The sampling factors of each component: blocks across (high four bits) and down (low) in an MCU."""
    return data[s.at + 11 : s.at + 10 + 3 * s.components : 3]


FORMAT = Format(
    "jpeg",
    "JPEG",
    lambda data: data[:3] == b"\xff\xd8\xff",
    header,
    decode,
    labels=lambda data, header, part: decode(data, header, None, part),
    # Pixel data never contain an end marker; a thumbnail's end marker comes before the start of scan.
    complete=lambda header, last, size: last.rfind(END) > last.rfind(b"\xff\xda"),
    header_at="front",
    scales=scales,
    coded=coded,
)
