"""PNG: chunks walked and inflated here, filters and interlacing undone by OpenCV's libpng.

libpng writes its complaints to stderr, trusts text and profile chunks, and OpenCV expands palettes. So it never sees
the file: it gets fresh PNGs made of the checked header, palette and pixel bytes, stored without compression; of a large
picture one for each strip, so that pixels are not in memory several times. For masks the fresh PNG says "grey" where
the file said "palette", and what comes out is the indices.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats import exif, opencv
from augrecipes.sources.formats.format import Ends, Format
from augrecipes.sources.formats.header import MOST_PARTS, ImageHeader, UnreadableError, raise_if_memory, too_many

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGBA = 0, 2, 3, 4, 6
_SAMPLES = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGBA: 4}
_DEPTHS = {_GREY: (1, 2, 4, 8, 16), _PALETTE: (1, 2, 4, 8), _RGB: (8, 16), _GREY_ALPHA: (8, 16), _RGBA: (8, 16)}
_SLICE = 1 << 16  # bytes that are inflated at a time
_BLOCK = 65535  # most bytes in a block of deflate that is not compressed
_WHOLE = 1 << 20  # bytes of pixels that are decoded at once: little memory, and quicker than strips
_STRIP, _ROWS = 1 << 16, 16  # of larger pictures at a time, little enough for malloc to keep; and rows
_MOST = 2**31 - 2**20  # bytes in a chunk, and what comes with them
_NEEDED = (b"IHDR", b"PLTE", b"tRNS", b"IDAT")
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


@dataclass(frozen=True, slots=True)
class _Png:
    info: ImageHeader
    color_type: int
    interlaced: bool
    palette: bytes
    transparent: bytes
    packed: list[memoryview]  # the deflated pixels, in parts


def header(data: bytes) -> ImageHeader:
    """The header of a PNG; the data may end after IHDR. Raises UnreadableError."""
    width, height, bits, color_type, _ = _ihdr(data)
    alpha, turn, frames = color_type in (_GREY_ALPHA, _RGBA), 1, 1
    for name, start, end in _chunks(data):
        if name == b"tRNS":
            alpha = True
        elif name == b"eXIf":
            turn = exif.orientation(data[start:end])
        elif name == b"acTL" and end - start == 8:  # animated
            frames = min(2, max(1, int.from_bytes(data[start : start + 4], "big")))
    color = {_GREY: "grey", _GREY_ALPHA: "grey", _PALETTE: "palette"}.get(color_type, "rgb")
    return ImageHeader("png", width, height, bits, color, alpha, turn, frames)  # type: ignore[arg-type]


def decode(data: bytes, info: ImageHeader, channels: int | None) -> NDArray[Any]:
    """Pixels, uint8 or uint16, H×W, H×W×3 or H×W×4 (only where alpha is asked for). Raises UnreadableError."""
    png = _read(data, info)
    alpha = info.alpha and channels in (None, 4)
    if png.color_type == _GREY:
        # Small samples come out scaled to the full range: 0..15 times 17.
        grey = _libpng(png, _GREY)
        return _with_transparent_grey(grey, png) if alpha and len(png.transparent) >= 2 else grey
    out = _libpng(png, png.color_type, alpha=alpha)
    if alpha and out.ndim == 3 and out.shape[2] == 3:  # OpenCV leaves out the alpha of a wholly opaque palette
        opaque = np.iinfo(out.dtype).max
        return np.dstack([out, np.full(out.shape[:2], opaque, out.dtype)])
    return out if alpha or out.ndim == 2 or out.shape[2] == 3 else np.ascontiguousarray(out[:, :, :3])


def decode_mask(data: bytes, info: ImageHeader) -> NDArray[Any]:
    """Label ids: palette indices, or grey samples as stored (4 bits: 0 to 15). Raises UnreadableError."""
    png = _read(data, info)
    if png.color_type in (_GREY, _PALETTE):
        ids = _libpng(png, _GREY)
        return ids // (255 // (2**info.bits - 1)) if info.bits < 8 else ids
    return _libpng(png, png.color_type, alpha=True)


def _ihdr(data: bytes) -> tuple[int, int, int, int, bool]:
    if len(data) < 33 or data[12:16] != b"IHDR":
        raise UnreadableError("a PNG without a header")
    width, height, bits, color_type, packing, filters, interlace = struct.unpack_from(">IIBBBBB", data, 16)
    if zlib.crc32(data[12:29]) != int.from_bytes(data[29:33], "big") or data[8:12] != b"\0\0\0\x0d":
        raise UnreadableError("damaged: the checksum of the PNG header is wrong")
    if bits not in _DEPTHS.get(color_type, ()) or packing or filters or interlace > 1 or max(width, height) >= 2**31:
        raise UnreadableError(f"not a valid PNG header: colour type {color_type}, {bits} bits, interlacing {interlace}")
    return width, height, bits, color_type, bool(interlace)


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Name, start and end of the content of each whole chunk, in order, up to IEND or the end of the data."""
    at = 8
    for _ in range(MOST_PARTS):
        if at + 12 > len(data):
            return
        length, name = struct.unpack_from(">I4s", data, at)
        end = at + 8 + length
        if not name.isalpha():
            raise UnreadableError(f"damaged: {name!r} at byte {at:,}, where the name of a PNG chunk should be")
        if end + 4 > len(data):
            return
        yield name, at + 8, end
        if name == b"IEND":
            return
        at = end + 4
    raise too_many("PNG", "chunks", at)


def _read(data: bytes, info: ImageHeader) -> _Png:
    *_, color_type, interlaced = _ihdr(data)
    found: dict[bytes, list[memoryview]] = {name: [] for name in _NEEDED}
    name = b""
    view = memoryview(data)
    for name, start, end in _chunks(data):
        if name in found:
            if zlib.crc32(view[start - 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
                raise UnreadableError(f"damaged: the checksum of its PNG chunk {name.decode()} is wrong")
            found[name].append(view[start:end])
        elif not name[0] & 32 and name != b"IEND":
            raise UnreadableError(f"damaged: an unknown critical PNG chunk {name!r}")
    if name != b"IEND":
        raise UnreadableError("truncated: its PNG data has no end chunk")
    palette = bytes(found[b"PLTE"][0]) if found[b"PLTE"] else b""
    if color_type == _PALETTE and not 3 <= len(palette) <= 768:
        raise UnreadableError("a PNG with colour indices and no palette")
    transparent = bytes(found[b"tRNS"][0]) if found[b"tRNS"] else b""
    return _Png(info, color_type, interlaced, palette, transparent, found[b"IDAT"])


def _passes(png: _Png, color_type: int) -> list[tuple[int, int]]:
    """Rows, and bytes of a row with its filter, of each pass."""
    info, bits = png.info, png.info.bits * _SAMPLES[color_type]
    steps = _ADAM7 if png.interlaced else ((0, 0, 1, 1),)
    sizes = [(-((y - info.height) // dy), -((x - info.width) // dx)) for x, y, dx, dy in steps]
    return [(h, 1 + (w * bits + 7) // 8) for h, w in sizes if h > 0 and w > 0]


def _inflated(packed: list[memoryview], sizes: list[int]) -> Iterator[bytes]:
    """So many bytes of pixels, and so many, and so on; and in the end their checksum is compared."""
    unpacker, needed, found = zlib.decompressobj(), sum(sizes), 0
    slices = (part[at : at + _SLICE] for part in packed for at in range(0, len(part), _SLICE))
    try:
        for size in sizes:
            pieces, left = [], size
            while left:
                fed = unpacker.unconsumed_tail or next(slices, b"")
                piece = unpacker.decompress(fed, left)
                pieces.append(piece)
                left -= len(piece)
                found += len(piece)
                if left and (unpacker.eof or not (fed or piece)):
                    raise UnreadableError(f"truncated: {found} of {needed} bytes of PNG pixels")
            yield b"".join(pieces)
        # It is only read where nothing else can come; a file may have more pixels than the picture.
        while not unpacker.eof and (fed := unpacker.unconsumed_tail or next(slices, b"")):
            if unpacker.decompress(fed, 1):
                return
    except zlib.error as error:
        raise_if_memory(error)
        raise UnreadableError(f"damaged PNG data ({error})") from None


def _stored(pieces: tuple[bytes, ...]) -> list[bytes | memoryview]:
    """Deflate that is not compressed, in parts: zlib makes it, too, but clears large tables first."""
    parts: list[bytes | memoryview] = [b"\x78\x01"]
    checksum = 1
    for piece in pieces:
        checksum = zlib.adler32(piece, checksum)
        for at in range(0, len(piece), _BLOCK):
            part = memoryview(piece)[at : at + _BLOCK]
            parts += [struct.pack("<BHH", 0, len(part), len(part) ^ 0xFFFF), part]
    return [*parts, b"\1\0\0\xff\xff", struct.pack(">I", checksum)]


def _chunk(name: bytes, *content: bytes | memoryview) -> list[bytes | memoryview]:
    checksum = reduce(lambda known, part: zlib.crc32(part, known), content, zlib.crc32(name))
    return [struct.pack(">I", sum(map(len, content))), name, *content, struct.pack(">I", checksum)]


def _libpng(png: _Png, color_type: int, *, alpha: bool = False) -> NDArray[Any]:
    """Pixels, strip by strip where the picture is large; each begins with the last row of the one above."""
    info, passes = png.info, _passes(png, color_type)
    # One byte of deflate makes at most 1032: a bomb of a header is refused before memory is asked for.
    if sum(rows * width for rows, width in passes) > 1032 * sum(map(len, png.packed)):
        raise UnreadableError("truncated: its PNG data cannot hold the picture")
    if png.interlaced or info.bits < 8 or color_type == _PALETTE:
        (raw,) = _inflated(png.packed, [sum(rows * width for rows, width in passes)])
        return _strip(png, color_type, (raw,), passes, info.height, alpha=alpha)
    ((_, width),) = passes
    most = info.height if info.height * width <= _WHOLE else max(_STRIP // width, _ROWS)
    heights = [min(most, info.height - top) for top in range(0, info.height, most)]
    above, top, out = b"", 0, np.empty(0, np.uint8)
    for rows, raw in zip(heights, _inflated(png.packed, [rows * width for rows in heights]), strict=True):
        more = bool(above)
        found = _strip(png, color_type, (above, raw), [(rows, width)], rows + more, alpha=alpha)
        if rows == info.height:
            return found
        if not more:
            out = np.empty((info.height, *found.shape[1:]), found.dtype)
        out[top : top + rows] = found[more:]
        above, top = b"\0" + _samples(found[-1], color_type), top + rows
    return out


def _samples(row: NDArray[Any], color_type: int) -> bytes:
    """A row of pixels, as OpenCV gives it, as it would be stored; alpha that was left out may be anything."""
    match color_type:
        case 2:
            row = row[:, :3]
        case 4:
            row = row[:, ::3]
        case 6 if row.shape[1] == 3:
            row = np.pad(row, [(0, 0), (0, 1)])
    return row.astype(row.dtype.newbyteorder(">")).tobytes()


def _strip(
    png: _Png, color_type: int, pieces: tuple[bytes, ...], passes: list[tuple[int, int]], height: int, *, alpha: bool
) -> NDArray[Any]:
    """Pixels from inflated bytes, which are given to OpenCV as a fresh PNG; `passes` are those of the last piece."""
    info, at = png.info, 0
    for rows, width in passes:
        if np.frombuffer(pieces[-1], np.uint8)[at : at + rows * width : width].max(initial=0) > 4:
            raise UnreadableError("damaged PNG data (an unknown filter)")
        at += rows * width
    if at >= _MOST:
        raise UnreadableError("more than 2 GB of PNG pixels")
    ihdr = struct.pack(">IIBBBBB", info.width, height, info.bits, color_type, 0, 0, png.interlaced)
    parts = [SIGNATURE, *_chunk(b"IHDR", ihdr)]
    if color_type == _PALETTE:
        # An index past the palette's end is black, as in other readers.
        entries = 2**info.bits
        parts += _chunk(b"PLTE", png.palette[: 3 * entries].ljust(3 * entries, b"\0"))
        if alpha and png.transparent:
            parts += _chunk(b"tRNS", png.transparent[:entries])
    elif color_type == _RGB and alpha and len(png.transparent) >= 6:
        parts += _chunk(b"tRNS", png.transparent[:6])
    parts += [*_chunk(b"IDAT", *_stored(pieces)), *_chunk(b"IEND", b"")]
    color = info.bits <= 8 and color_type in (_RGB, _PALETTE, _RGBA) and not alpha
    return opencv.imdecode(b"".join(parts), ImageHeader("png", info.width, height, info.bits), color=color)


def _with_transparent_grey(grey: NDArray[Any], png: _Png) -> NDArray[Any]:
    value = int.from_bytes(png.transparent[:2], "big")
    value *= 255 // (2**png.info.bits - 1) if png.info.bits < 8 else 1
    alpha = np.where(grey == value, 0, np.iinfo(grey.dtype).max).astype(grey.dtype)
    return np.dstack([grey, grey, grey, alpha])


def _complete(info: ImageHeader, ends: Ends) -> bool:
    return b"\0\0\0\0IEND\xaeB`\x82" in ends.last


FORMAT = Format(
    "png", "PNG", lambda data: data[:8] == SIGNATURE, header, decode, decode_mask, _complete, header_at="first"
)
