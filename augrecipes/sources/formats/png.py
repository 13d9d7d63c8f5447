"""PNG: chunks walked and inflated here, filters and interlacing undone by OpenCV's libpng.

libpng writes its complaints to stderr, trusts text and profile chunks, and OpenCV expands palettes. So it never sees
the file: it gets a fresh PNG made of the checked header, palette and pixel bytes, stored without compression. Inflating
is the larger part of the work and is done once, so this costs a tenth to a quarter more than OpenCV alone. For masks
the fresh PNG says "grey" where the file said "palette", and what comes out is the indices.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats import exif, opencv
from augrecipes.sources.formats.header import ImageHeader, UnreadableError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGBA = 0, 2, 3, 4, 6
_SAMPLES = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGBA: 4}
_DEPTHS = {_GREY: (1, 2, 4, 8, 16), _PALETTE: (1, 2, 4, 8), _RGB: (8, 16), _GREY_ALPHA: (8, 16), _RGBA: (8, 16)}
_BLOCK = 65535  # most bytes in a block of deflate that is not compressed
_NEEDED = (b"IHDR", b"PLTE", b"tRNS", b"IDAT")
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


@dataclass(frozen=True, slots=True)
class _Png:
    info: ImageHeader
    kind: int
    interlaced: bool
    palette: bytes
    transparent: bytes
    pixels: bytes  # inflated and complete: filter byte and samples, row by row
    checksum: int  # of the pixels, Adler-32


def header(data: bytes) -> ImageHeader:
    """The header of a PNG; the data may end after IHDR. Raises UnreadableError."""
    width, height, bits, kind, _ = _ihdr(data)
    alpha, turn = kind in (_GREY_ALPHA, _RGBA), 1
    for name, start, end in _chunks(data):
        if name == b"tRNS":
            alpha = True
        elif name == b"eXIf":
            turn = exif.orientation(data[start:end])
    color = {_GREY: "grey", _GREY_ALPHA: "grey", _PALETTE: "palette"}.get(kind, "rgb")
    return ImageHeader("png", width, height, bits, color, alpha, turn)  # type: ignore[arg-type]


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
    while at + 12 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        end = at + 8 + length
        if end + 4 > len(data):
            return
        yield name, at + 8, end
        if name == b"IEND":
            return
        at = end + 4


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
    pixels, checksum = _inflate(b"".join(found[b"IDAT"]), _passes(info, kind, interlaced))
    return _Png(info, kind, interlaced, palette, transparent, pixels, checksum)


def _passes(info: ImageHeader, kind: int, interlaced: bool) -> list[tuple[int, int]]:
    """Rows and bytes per row (filter byte included) of each pass."""
    bits = info.bits * _SAMPLES[kind]
    steps = _ADAM7 if interlaced else ((0, 0, 1, 1),)
    sizes = [(-((y - info.height) // dy), -((x - info.width) // dx)) for x, y, dx, dy in steps]
    return [(h, 1 + (w * bits + 7) // 8) for h, w in sizes if h > 0 and w > 0]


def _inflate(packed: bytes, passes: list[tuple[int, int]]) -> tuple[bytes, int]:
    """The pixels and their checksum."""
    needed = sum(rows * width for rows, width in passes)
    # One byte of deflate makes at most 1032: a bomb of a header is refused before memory is asked for.
    if needed > 1032 * len(packed):
        raise UnreadableError("truncated: its PNG data cannot hold the picture")
    unpacker, more = zlib.decompressobj(), b""
    try:
        pixels = unpacker.decompress(packed, needed)
        if len(pixels) == needed and not unpacker.eof:
            # Reads the checksum at the end, which decompress leaves alone once it has what was asked for.
            more = unpacker.decompress(unpacker.unconsumed_tail, 1)
    except (zlib.error, MemoryError) as error:
        raise UnreadableError(f"damaged PNG data ({error or 'out of memory'})") from None
    if len(pixels) < needed:
        raise UnreadableError(f"truncated: {len(pixels)} of {needed} bytes of PNG pixels")
    raw, at = np.frombuffer(pixels, np.uint8), 0
    for rows, width in passes:
        if raw[at : at + rows * width : width].max() > 4:
            raise UnreadableError("damaged PNG data (an unknown filter)")
        at += rows * width
    if unpacker.eof and not more:  # the checksum has just been compared
        end = len(packed) - len(unpacker.unused_data)
        return pixels, int.from_bytes(packed[end - 4 : end], "big")
    return pixels, zlib.adler32(pixels)  # the file has more pixels than the picture


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
    """A whole PNG: what stands before the pixels, and the pixels in uncompressed blocks, copied once."""
    pixels = np.frombuffer(png.pixels, np.uint8)
    whole, rest = divmod(len(pixels), _BLOCK)
    size = 2 + whole * (5 + _BLOCK) + 5 + rest + 4
    if size >= 2**31:
        raise UnreadableError("more than 2 GB of PNG pixels")
    start = len(before) + 8
    out = np.empty(start + size + 4 + 12, np.uint8)
    out[: start + 2] = np.frombuffer(before + struct.pack(">I", size) + b"IDAT\x78\x01", np.uint8)
    blocks = out[start + 2 : start + 2 + whole * (5 + _BLOCK)].reshape(whole, 5 + _BLOCK)
    blocks[:, :5] = np.frombuffer(struct.pack("<BHH", 0, _BLOCK, _BLOCK ^ 0xFFFF), np.uint8)
    blocks[:, 5:] = pixels[: whole * _BLOCK].reshape(whole, _BLOCK)
    at = start + 2 + blocks.size
    out[at : at + 5] = np.frombuffer(struct.pack("<BHH", 1, rest, rest ^ 0xFFFF), np.uint8)
    out[at + 5 : at + 5 + rest] = pixels[whole * _BLOCK :]
    out[at + 5 + rest : start + size] = np.frombuffer(struct.pack(">I", png.checksum), np.uint8)
    checksum = struct.pack(">I", zlib.crc32(out[start - 4 : start + size].data))
    out[start + size :] = np.frombuffer(checksum + _chunk(b"IEND", b""), np.uint8)
    return out


def _with_transparent_grey(grey: NDArray[Any], png: _Png) -> NDArray[Any]:
    value = int.from_bytes(png.transparent[:2], "big")
    value *= 255 // (2**png.info.bits - 1) if png.info.bits < 8 else 1
    alpha = np.where(grey == value, 0, np.iinfo(grey.dtype).max).astype(grey.dtype)
    return np.dstack([grey, grey, grey, alpha])
