"""TIFF samples of 1, 2 and 4 bits, which OpenCV scales, expands or refuses: unpacked here as they are stored."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats.bmp import unpack_bits
from augrecipes.sources.formats.header import ImageHeader, UnreadableError, raise_if_memory
from augrecipes.sources.formats.tiff_ifd import Directory

_BITS, _PACKING, _STRIPS, _SAMPLES, _STRIP_BYTES, _FILL, _PREDICTOR = 258, 259, 273, 277, 279, 266, 317
_COLORS = 320
_NONE, _DEFLATE, _OLD_DEFLATE, _PACKBITS = 1, 8, 32946, 32773


def can(page: Directory, data: bytes) -> bool:
    """Whether `samples` understands this page: strips of one sample, plain, deflated or run-length packed."""
    return (
        page.first(data, _BITS, 1) in (1, 2, 4)
        and page.first(data, _SAMPLES, 1) == 1
        and page.first(data, _FILL, 1) == 1
        and page.first(data, _PREDICTOR, 1) == 1
        and page.first(data, _PACKING, 1) in (_NONE, _DEFLATE, _OLD_DEFLATE, _PACKBITS)
        and _STRIPS in page.entries
    )


def samples(page: Directory, data: bytes, info: ImageHeader) -> NDArray[np.uint8]:
    """Samples as stored, H×W. Raises UnreadableError where there are too few."""
    row = (info.width * info.bits + 7) // 8
    needed = row * info.height
    packing = page.first(data, _PACKING, 1)
    parts, have = [], 0
    for at, size in zip(page.values(data, _STRIPS), page.values(data, _STRIP_BYTES), strict=True):
        part = _unpacked(data[at : at + size], packing, needed - have)
        parts.append(part)
        have += len(part)
    if have < needed:
        raise UnreadableError(f"truncated: {have} of {needed} bytes of TIFF pixels")
    rows = np.frombuffer(b"".join(parts), np.uint8, needed).reshape(info.height, row)
    return unpack_bits(rows, info.bits)[:, : info.width]


def colors(page: Directory, data: bytes, indices: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """H×W×3 colours of palette indices."""
    table = page.values(data, _COLORS)
    if len(table) != 3 * 2**bits:
        raise UnreadableError("a TIFF with colour indices and no palette")
    return (np.array(table, np.uint16).reshape(3, -1).T >> 8).astype(np.uint8)[indices]


def _unpacked(part: bytes, packing: int, most: int) -> bytes:
    if packing == _NONE:
        return part[:most]
    if packing == _PACKBITS:
        return _packbits(part, most)
    try:
        return zlib.decompressobj().decompress(part, most) if most else b""
    except zlib.error as error:
        raise_if_memory(error)
        raise UnreadableError(f"damaged TIFF data ({error})") from None


def _packbits(part: bytes, most: int) -> bytes:
    out, at = bytearray(), 0
    while at + 1 < len(part) and len(out) < most:
        count = part[at]
        if count < 128:
            out += part[at + 1 : at + 2 + count]
            at += 2 + count
        elif count > 128:
            out += part[at + 1 : at + 2] * (257 - count)
            at += 2
        else:
            at += 1
    return bytes(out[:most])
