"""PNG: chunks walked and inflated here, filters and interlacing undone by OpenCV's libpng.

libpng writes its complaints to stderr, trusts text and profile chunks, and OpenCV expands palettes. So it never sees
the file: it gets a fresh PNG made of the checked header, palette and pixel bytes, stored without compression. Inflating
is the larger part of the work and is done once, so this costs a tenth to a quarter more than OpenCV alone. For masks
the fresh PNG says "grey" where the file said "palette", and what comes out is the indices.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Generator, Iterator
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
_BLOCK = 65535  # most bytes in a block of deflate that is not compressed
_SLICE = 1 << 16  # bytes inflated at a time, to at most 64 MiB
_NEEDED = (b"IHDR", b"PLTE", b"tRNS", b"IDAT")
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


@dataclass(frozen=True, slots=True)
class _Png:
    info: ImageHeader
    kind: int
    interlaced: bool
    palette: bytes
    transparent: bytes
    packed: list[memoryview]  # the deflated pixels, in parts


def header(data: bytes) -> ImageHeader:
    """The header of a PNG; the data may end after IHDR. Raises UnreadableError."""
    width, height, bits, kind, _ = _ihdr(data)
    alpha, turn, frames = kind in (_GREY_ALPHA, _RGBA), 1, 1
    for name, start, end in _chunks(data):
        if name == b"tRNS":
            alpha = True
        elif name == b"eXIf":
            turn = exif.orientation(data[start:end])
        elif name == b"acTL" and end - start == 8:  # animated
            frames = min(2, max(1, int.from_bytes(data[start : start + 4], "big")))
    color = {_GREY: "grey", _GREY_ALPHA: "grey", _PALETTE: "palette"}.get(kind, "rgb")
    return ImageHeader("png", width, height, bits, color, alpha, turn, frames)  # type: ignore[arg-type]


def decode(data: bytes, info: ImageHeader, channels: int | None) -> NDArray[Any]:
    """Pixels, uint8 or uint16, H×W, H×W×3 or H×W×4 (only where alpha is asked for). Raises UnreadableError."""
    png = _read(data, info)
    alpha = info.alpha and channels in (None, 4)
    if png.kind == _GREY:
        # Small samples come out scaled to the full range: 0..15 times 17.
        grey = _libpng(png, _GREY)
        return _with_transparent_grey(grey, png) if alpha and len(png.transparent) >= 2 else grey
    out = _libpng(png, png.kind, alpha=alpha)
    if alpha and out.ndim == 3 and out.shape[2] == 3:  # OpenCV leaves out the alpha of a wholly opaque palette
        opaque = np.iinfo(out.dtype).max
        return np.dstack([out, np.full(out.shape[:2], opaque, out.dtype)])
    return out if alpha or out.ndim == 2 else np.ascontiguousarray(out[:, :, :3])


def decode_mask(data: bytes, info: ImageHeader) -> NDArray[Any]:
    """Label ids: palette indices, or grey samples as stored (4 bits: 0 to 15). Raises UnreadableError."""
    png = _read(data, info)
    if png.kind in (_GREY, _PALETTE):
        ids = _libpng(png, _GREY)
        return ids // (255 // (2**info.bits - 1)) if info.bits < 8 else ids
    return _libpng(png, png.kind, alpha=True)


def _ihdr(data: bytes) -> tuple[int, int, int, int, bool]:
    if len(data) < 33 or data[12:16] != b"IHDR":
        raise UnreadableError("a PNG without a header")
    width, height, bits, kind, packing, filters, interlace = struct.unpack_from(">IIBBBBB", data, 16)
    if zlib.crc32(data[12:29]) != int.from_bytes(data[29:33], "big") or data[8:12] != b"\0\0\0\x0d":
        raise UnreadableError("damaged: the checksum of the PNG header is wrong")
    if bits not in _DEPTHS.get(kind, ()) or packing or filters or interlace > 1 or max(width, height) >= 2**31:
        raise UnreadableError(f"not a valid PNG header: colour type {kind}, {bits} bits, interlacing {interlace}")
    return width, height, bits, kind, bool(interlace)


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
    *_, kind, interlaced = _ihdr(data)
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
    if kind == _PALETTE and not 3 <= len(palette) <= 768:
        raise UnreadableError("a PNG with colour indices and no palette")
    transparent = bytes(found[b"tRNS"][0]) if found[b"tRNS"] else b""
    return _Png(info, kind, interlaced, palette, transparent, found[b"IDAT"])


def _passes(png: _Png) -> list[tuple[int, int]]:
    """Rows and bytes per row (filter byte included) of each pass."""
    info, bits = png.info, png.info.bits * _SAMPLES[png.kind]
    steps = _ADAM7 if png.interlaced else ((0, 0, 1, 1),)
    sizes = [(-((y - info.height) // dy), -((x - info.width) // dx)) for x, y, dx, dy in steps]
    return [(h, 1 + (w * bits + 7) // 8) for h, w in sizes if h > 0 and w > 0]


def _inflated(packed: list[memoryview], needed: int) -> Generator[bytes, None, int | None]:
    """The first `needed` bytes of pixels in pieces; returns their checksum, where it has been compared with them."""
    unpacker, left, last = zlib.decompressobj(), needed, b""
    for part in packed:
        for at in range(0, len(part), _SLICE):
            fed = part[at : at + _SLICE]
            try:
                # One byte more than is needed: the checksum at the end is only read once nothing else can come.
                piece = unpacker.decompress(fed, left + 1)
            except zlib.error as error:
                raise_if_memory(error)
                raise UnreadableError(f"damaged PNG data ({error})") from None
            last = (last + bytes(fed[: len(fed) - len(unpacker.unused_data)][-4:]))[-4:]
            yield piece[:left]
            if len(piece) > left:  # the file has more pixels than the picture
                return None
            left -= len(piece)
            if unpacker.eof:
                break
    if left:
        raise UnreadableError(f"truncated: {needed - left} of {needed} bytes of PNG pixels")
    return int.from_bytes(last, "big") if unpacker.eof else None


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(content, zlib.crc32(name)))


def _libpng(png: _Png, kind: int, *, alpha: bool = False) -> NDArray[Any]:
    info = png.info
    parts = [SIGNATURE]
    ihdr = struct.pack(">IIBBBBB", info.width, info.height, info.bits, kind, 0, 0, png.interlaced)
    parts.append(_chunk(b"IHDR", ihdr))
    if kind == _PALETTE:
        # An index past the palette's end is black, as in other readers.
        entries = 2**info.bits
        parts.append(_chunk(b"PLTE", png.palette[: 3 * entries].ljust(3 * entries, b"\0")))
        if alpha and png.transparent:
            parts.append(_chunk(b"tRNS", png.transparent[:entries]))
    elif kind == _RGB and alpha and len(png.transparent) >= 6:
        parts.append(_chunk(b"tRNS", png.transparent[:6]))
    color = info.bits <= 8 and kind in (_RGB, _PALETTE, _RGBA) and not alpha
    return opencv.imdecode(_stored(b"".join(parts), png), info, color=color)


def _stored(before: bytes, png: _Png) -> NDArray[np.uint8]:
    """A whole PNG: what stands before the pixels, and the pixels, inflated into blocks that are not compressed."""
    passes = _passes(png)
    needed = sum(rows * width for rows, width in passes)
    # One byte of deflate makes at most 1032: a bomb of a header is refused before memory is asked for.
    if needed > 1032 * sum(map(len, png.packed)):
        raise UnreadableError("truncated: its PNG data cannot hold the picture")
    whole, rest = divmod(needed, _BLOCK)
    size = 2 + whole * (5 + _BLOCK) + 5 + rest + 4
    if size >= 2**31:
        raise UnreadableError("more than 2 GB of PNG pixels")
    start = len(before) + 8
    out = np.empty(start + size + 4 + 12, np.uint8)
    out[: start + 2] = np.frombuffer(before + struct.pack(">I", size) + b"IDAT\x78\x01", np.uint8)
    blocks = [out[at : at + 5 + _BLOCK] for at in range(start + 2, start + size - 4, 5 + _BLOCK)]
    blocks[-1] = blocks[-1][: 5 + rest]
    for block in blocks:
        length = len(block) - 5
        block[:5] = np.frombuffer(struct.pack("<BHH", block is blocks[-1], length, length ^ 0xFFFF), np.uint8)
    checksum = _fill([block[5:] for block in blocks], passes, _inflated(png.packed, needed))
    out[start + size - 4 : start + size] = np.frombuffer(struct.pack(">I", checksum), np.uint8)
    crc = struct.pack(">I", zlib.crc32(out[start - 4 : start + size].data))
    out[start + size :] = np.frombuffer(crc + _chunk(b"IEND", b""), np.uint8)
    return out


def _fill(
    blocks: list[NDArray[np.uint8]], passes: list[tuple[int, int]], pieces: Generator[bytes, None, int | None]
) -> int:
    """Lays pixels into blocks of `_BLOCK` bytes; their checksum."""
    at, checksum = 0, None
    try:
        while True:
            piece = np.frombuffer(next(pieces), np.uint8)
            _check_filters(piece, at, passes)
            done = 0
            while done < len(piece):
                number, inside = divmod(at + done, _BLOCK)
                part = piece[done : done + _BLOCK - inside]
                blocks[number][inside : inside + len(part)] = part
                done += len(part)
            at += done
    except StopIteration as end:
        checksum = end.value
    if checksum is None:
        checksum = reduce(lambda known, block: zlib.adler32(block.data, known), blocks, 1)
    return checksum


def _check_filters(piece: NDArray[np.uint8], at: int, passes: list[tuple[int, int]]) -> None:
    """UnreadableError where a row that begins in the piece, which begins at byte `at`, names a filter that is none."""
    begin = 0
    for rows, width in passes:
        end = begin + rows * width
        first = max(begin, begin - (begin - at) // width * width)  # the first row that begins in it, of this pass
        if piece[first - at : max(end - at, 0) : width].max(initial=0) > 4:
            raise UnreadableError("damaged PNG data (an unknown filter)")
        begin = end


def _with_transparent_grey(grey: NDArray[Any], png: _Png) -> NDArray[Any]:
    value = int.from_bytes(png.transparent[:2], "big")
    value *= 255 // (2**png.info.bits - 1) if png.info.bits < 8 else 1
    alpha = np.where(grey == value, 0, np.iinfo(grey.dtype).max).astype(grey.dtype)
    return np.dstack([grey, grey, grey, alpha])


def _whole(info: ImageHeader, ends: Ends) -> bool:
    return b"\0\0\0\0IEND\xaeB`\x82" in ends.last


FORMAT = Format(
    "png", "PNG", lambda data: data[:8] == SIGNATURE, header, decode, decode_mask, _whole, header_at="first"
)
