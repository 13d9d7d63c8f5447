"""PNG: chunks are checked and inflated here, down to a window's last row, and a kernel reverses the filters.

Rows are inflated in strips that fit into the processor's caches; above and left of a window, only what the filters need
is reconstructed. Checksums and lengths of everything read are checked, and that the file has an end; data below the
window are checked only with AUGRECIPES_PNG=all. Pillow reverses the filters without kernels, and those of interlaced
images and of samples below 8 bits, which are inflated whole.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.images.format import (
    MOST_PARTS,
    Area,
    Format,
    ImageHeader,
    UnreadableError,
    orientation,
    raise_if_memory,
    too_many,
)
from augrecipes.native.kernels import Library, library

_inflate: Any = zlib
with suppress(ImportError):  # zlib where isal has no wheels
    _inflate = import_module("isal.isal_zlib")

SIGNATURE = b"\x89PNG\r\n\x1a\n"
REST = "AUGRECIPES_PNG"
_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGBA = 0, 2, 3, 4, 6
_SAMPLES = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGBA: 4}
_DEPTHS = {_GREY: (1, 2, 4, 8, 16), _PALETTE: (1, 2, 4, 8), _RGB: (8, 16), _GREY_ALPHA: (8, 16), _RGBA: (8, 16)}
_SLICE = 1 << 16  # bytes inflated at a time
_STRIP = 1 << 16  # bytes of rows unfiltered at a time; malloc keeps blocks of this size
_MARGIN = 16  # must equal png.c's
_PRESET = 0x20  # flag in the second byte of zlib's header
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
# Pillow's mode and raw modes that give the stored samples, by (samples, bits): for 16 bits the raw modes of the upper
# and the lower bytes. Where Pillow has no such mode, two 16-bit samples count as four bytes.
_PILLOW: dict[tuple[int, int], tuple[str, ...]] = {
    **{(1, bits): ("P", f"P;{bits}") for bits in (1, 2, 4)},
    (1, 8): ("P", "P"), (2, 8): ("LA", "LA"), (3, 8): ("RGB", "RGB"), (4, 8): ("RGBA", "RGBA"),
    (1, 16): ("LA", "LA"), (2, 16): ("RGBA", "RGBA"),
    (3, 16): ("RGB", "RGB;16B", "RGB;16L"), (4, 16): ("RGBA", "RGBA;16B", "RGBA;16L"),
}  # fmt: skip
Raster = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Png:
    """The chunks that decoding a PNG needs.

    Attributes:
        color_type: the number in the specification.
        interlaced: whether by Adam7.
        pixels: start and end of the content of each IDAT chunk.
        palette: start and end of the palette (PLTE).
        clear: start and end of the transparency (tRNS).
        fault: why the file is incomplete; empty if it is complete.
    """

    color_type: int
    interlaced: bool
    pixels: tuple[tuple[int, int], ...]
    palette: tuple[int, int] | None
    clear: tuple[int, int] | None
    fault: str


def header(data: bytes) -> ImageHeader:
    """The header of a PNG; the data may end after IHDR. Raises UnreadableError."""
    width, height, bits, color_type, interlaced = _ihdr(data)
    turn, frames, fault, name, chunks, profile = 1, 1, "", b"", dict[bytes, list[tuple[int, int]]](), b""
    for name, start, end in _chunks(data):
        if name in (b"PLTE", b"tRNS", b"IDAT"):
            chunks.setdefault(name, []).append((start, end))
        elif name == b"eXIf":
            turn = orientation(data[start:end])
        elif name == b"iCCP":
            profile = data[start:end]
        elif name == b"acTL" and end - start == 8:  # animated
            frames = min(2, max(1, int.from_bytes(data[start : start + 4], "big")))
        elif not name[0] & 32 and name not in (b"IHDR", b"IEND"):
            fault = fault or f"damaged: an unknown critical PNG chunk {name!r}"
    if name != b"IEND":
        fault = fault or "truncated: its PNG data has no end chunk"
    color = {_GREY: "grey", _GREY_ALPHA: "grey", _PALETTE: "palette"}.get(color_type, "rgb")
    alpha = color_type in (_GREY_ALPHA, _RGBA) or b"tRNS" in chunks
    palette, clear = (chunks.get(kind, [None])[0] for kind in (b"PLTE", b"tRNS"))
    layout = Png(color_type, interlaced, tuple(chunks.get(b"IDAT", ())), palette, clear, fault)
    about: Any = {"color": color, "alpha": alpha, "orientation": turn, "frames": frames, "layout": layout}
    return ImageHeader("png", width, height, bits, **about, profile=profile)


def decode(data: bytes, info: ImageHeader, channels: int | None, part: Area) -> Raster:
    """Pixels of a part, without inflating rows below it: uint8 or uint16, H×W, H×W×3, or H×W×4 if alpha is requested.

    Raises UnreadableError.
    """
    palette, clear = _checked_whole(data, info)
    samples, kind = _samples(data, info, part), info.layout.color_type
    alpha = info.alpha and channels in (None, 4)
    if kind == _PALETTE:
        return _apply_palette(samples[:, :, 0], palette, clear if alpha else b"", alpha)
    if kind == _RGBA or (kind == _RGB and not alpha):
        return samples
    colours = samples if kind == _RGB else samples[:, :, :1]
    if info.bits < 8:
        colours = colours * np.uint8(255 // (2**info.bits - 1))
    if not alpha:
        return colours
    if kind == _GREY_ALPHA:
        opacity = samples[:, :, 1]
    else:  # tRNS names the transparent colour
        opacity, count = np.full(samples.shape[:2], 255 if info.bits <= 8 else 65535, samples.dtype), samples.shape[2]
        if len(clear) >= 2 * count:
            opacity[(samples == np.frombuffer(clear, ">u2", count)).all(axis=2)] = 0
    return np.dstack([np.broadcast_to(colours, (*opacity.shape, 3)), opacity])


def labels(data: bytes, info: ImageHeader, part: Area) -> Raster:
    """Label ids of a part: palette indices, or grey samples as stored (4 bits: 0 to 15). Raises UnreadableError."""
    _checked_whole(data, info)
    samples = _samples(data, info, part)
    return samples if samples.shape[2] > 2 else samples[:, :, 0]


def _ihdr(data: bytes) -> tuple[int, int, int, int, bool]:
    if len(data) < 33 or data[12:16] != b"IHDR":
        raise UnreadableError("a PNG without a header")
    width, height, bits, color_type, packing, filters, interlace = struct.unpack_from(">IIBBBBB", data, 16)
    if _inflate.crc32(data[12:29]) != int.from_bytes(data[29:33], "big") or data[8:12] != b"\0\0\0\x0d":
        raise UnreadableError("damaged: the checksum of the PNG header is wrong")
    if bits not in _DEPTHS.get(color_type, ()) or packing or filters or interlace > 1 or max(width, height) >= 2**31:
        raise UnreadableError(f"not a valid PNG header: colour type {color_type}, {bits} bits, interlacing {interlace}")
    return width, height, bits, color_type, bool(interlace)


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, start and end of the content of each complete chunk, up to IEND or the end of the data."""
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


def _check_chunk(data: bytes, place: tuple[int, int] | None) -> memoryview:
    """The content of a chunk, whose checksum is checked."""
    start, end = place or (0, 0)
    whole = memoryview(data)
    if place and _inflate.crc32(whole[start - 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
        raise UnreadableError(f"damaged: the checksum of its PNG chunk {data[start - 4 : start].decode()} is wrong")
    return whole[start:end]


def _checked_whole(data: bytes, info: ImageHeader) -> tuple[bytes, bytes]:
    """The palette and transparency. Raises UnreadableError if the file is incomplete, or too short for its size."""
    png: Png = info.layout
    if png.fault:
        raise UnreadableError(png.fault)
    # Deflate expands at most 1032 times: a forged size is refused before memory is allocated.
    if sum(rows * width for rows, width in _passes(info)) > 1032 * sum(end - start for start, end in png.pixels):
        raise UnreadableError("truncated: its PNG data cannot hold the image")
    # isal ignores preset dictionaries, which PNG forbids.
    if next(islice((data[at] for start, end in png.pixels for at in range(start, end)), 1, None), 0) & _PRESET:
        raise UnreadableError("damaged PNG data (a preset dictionary)")
    palette, clear = bytes(_check_chunk(data, png.palette)), bytes(_check_chunk(data, png.clear))
    if png.color_type == _PALETTE and not 3 <= len(palette) <= 768:
        raise UnreadableError("a PNG with colour indices and no palette")
    return palette, clear


def _passes(info: ImageHeader) -> list[tuple[int, int]]:
    """The rows, and the bytes of a row with its filter byte, of each pass."""
    png: Png = info.layout
    bits = info.bits * _SAMPLES[png.color_type]
    steps = _ADAM7 if png.interlaced else ((0, 0, 1, 1),)
    sizes = [(-((y - info.height) // dy), -((x - info.width) // dx)) for x, y, dx, dy in steps]
    return [(h, 1 + (w * bits + 7) // 8) for h, w in sizes if h > 0 and w > 0]


def _inflated(data: bytes, png: Png, sizes: Sequence[int], *, whole: bool) -> Iterator[bytes]:
    """Yield inflated rows in pieces of these sizes; for a `whole` image also check all checksums up to the end."""
    unpacker, needed, inflated = _inflate.decompressobj(), sum(sizes), 0
    chunks = (_check_chunk(data, place) for place in png.pixels)
    slices = (part[at : at + _SLICE] for part in chunks for at in range(0, len(part), _SLICE))
    try:
        for size in sizes:
            pieces, left = [], size
            while left:
                fed = unpacker.unconsumed_tail or next(slices, b"")
                piece = unpacker.decompress(fed, left)
                pieces.append(piece)
                left -= len(piece)
                inflated += len(piece)
                if left and (unpacker.eof or not (fed or piece)):
                    raise UnreadableError(f"truncated: {inflated} of {needed} bytes of PNG pixels")
            yield pieces[0] if len(pieces) == 1 else b"".join(pieces)
        # Look for the end of the stream; a file may have more pixel data than the image needs.
        while whole and not unpacker.eof:
            fed = unpacker.unconsumed_tail or next(slices, b"")
            if unpacker.decompress(fed, 1):
                break
            if not (fed or unpacker.eof):
                raise UnreadableError("truncated: PNG pixels without the end of their data")
        for _ in slices if whole else ():
            pass
        if whole and not unpacker.eof:  # no checksum: check with zlib too, as isal accepts invalid codes
            zlib.decompressobj().decompress(b"".join(data[start:end] for start, end in png.pixels), needed)
    except (zlib.error, _inflate.error) as error:
        raise_if_memory(error)
        raise UnreadableError(f"damaged PNG data ({error})") from None


def _samples(data: bytes, info: ImageHeader, part: Area) -> Raster:
    """Stored samples of a part, H×W×S, uint8 or uint16."""
    png: Png = info.layout
    kernels = library()
    if kernels is None or png.interlaced or info.bits < 8:
        return _samples_by_pillow(data, info)[part.y0 : part.y1, part.x0 : part.x1]
    samples = _SAMPLES[png.color_type]
    pixel, wide = samples * info.bits // 8, part.x1 - part.x0
    row, x0, x1 = info.width * pixel, part.x0 * pixel, part.x1 * pixel
    undo, out = _kernel(kernels), np.empty((part.y1 - part.y0, wide * pixel), np.uint8)
    scratch = np.zeros(3 * (x1 + _MARGIN), np.uint8)
    scratch_at, out_at, y = scratch.ctypes.data, out.ctypes.data, 0
    whole = part.y1 == info.height or os.environ.get(REST) == "all"
    last = info.height if whole else part.y1
    most = max(_STRIP // (row + 1), 1)
    counts = [min(most, last - top) for top in range(0, last, most)]
    strips = _inflated(data, png, [n * (row + 1) for n in counts], whole=whole)
    for count, rows in zip(counts, strips, strict=True):
        needed, first = min(count, part.y1 - y), max(part.y0 - y, 0)
        to = out_at + max(y - part.y0, 0) * wide * pixel
        if needed > 0 and undo(rows, needed, row, pixel, min(first, needed), x0, x1, scratch_at, to, wide * pixel):
            raise UnreadableError("damaged PNG data (an unknown filter)")
        y += count
    return _unpack(out, info.bits, (len(out), wide, samples))


@lru_cache(8)
def _kernel(kernels: Library) -> Any:
    return kernels.kernel("png_rows", "pllllllppl")


def _samples_by_pillow(data: bytes, info: ImageHeader) -> Raster:
    """All samples by Pillow, after inflating them to check their length and filters."""
    from PIL import Image

    png: Png = info.layout
    passes, samples, size = _passes(info), _SAMPLES[png.color_type], (info.width, info.height)
    parts = list(_inflated(data, png, [h * w for h, w in passes], whole=True))
    for (_, width), rows in zip(passes, parts, strict=True):
        if np.frombuffer(rows, np.uint8)[::width].max(initial=0) > 4:
            raise UnreadableError("damaged PNG data (an unknown filter)")
    stored = zlib.compress(b"".join(parts), 0)  # Pillow uses zlib, which refuses some streams that isal accepts
    mode, *raw = _PILLOW[samples, info.bits]
    planes = [np.asarray(Image.frombytes(mode, size, stored, "zip", (how, png.interlaced))) for how in raw]
    joined = planes[0] if len(planes) == 1 else np.stack(planes, axis=-1)
    return _unpack(np.ascontiguousarray(joined).reshape(info.height, -1), info.bits, (*size[::-1], samples))


def _unpack(rows: Raster, bits: int, shape: tuple[int, int, int]) -> Raster:
    """Rows of bytes as samples, H×W×S."""
    return (rows.view(">u2").astype(np.uint16) if bits == 16 else rows).reshape(shape)


def _apply_palette(ids: Raster, palette: bytes, clear: bytes, alpha: bool) -> Raster:
    """The colours of palette indices; indices beyond the palette are black, as in other readers."""
    table = np.zeros((256, 4), np.uint8)
    table[:, 3] = 255
    table[: len(palette) // 3, :3] = np.frombuffer(palette[: len(palette) // 3 * 3], np.uint8).reshape(-1, 3)
    table[: len(clear), 3] = np.frombuffer(clear[:256], np.uint8)
    channels = 4 if alpha else 3
    return np.asarray(cv2.LUT(cv2.merge([ids] * channels), table[None, :, :channels])).reshape(*ids.shape, channels)


FORMAT = Format(
    "png",
    "PNG",
    lambda data: data[:8] == SIGNATURE,
    header,
    decode,
    labels,
    complete=lambda header, last, size: b"\0\0\0\0IEND\xaeB`\x82" in last,
    header_at="first",
    by_parts=True,
)
