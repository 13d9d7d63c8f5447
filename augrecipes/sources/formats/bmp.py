"""BMP: header and sizes checked here, pixels by OpenCV, and indices for masks unpacked here."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.formats import opencv
from augrecipes.sources.formats.format import Ends, Format
from augrecipes.sources.formats.header import ImageHeader, UnreadableError

_PLAIN, _RLE8, _RLE4, _FIELDS, _ALPHA_FIELDS = 0, 1, 2, 3, 6


@dataclass(frozen=True, slots=True)
class _Bmp:
    width: int
    height: int  # negative: rows from the top
    bits: int
    packing: int
    alpha: bool
    start: int  # of the pixels
    row: int  # bytes, padding included


def header(data: bytes) -> ImageHeader:
    """The header of a BMP; the data may end after it. Raises UnreadableError."""
    bmp = _read(data)
    color = "palette" if bmp.bits <= 8 else "rgb"
    return ImageHeader("bmp", bmp.width, abs(bmp.height), min(bmp.bits, 8), color, bmp.alpha)  # type: ignore[arg-type]


def decode(data: bytes, info: ImageHeader, channels: int | None) -> NDArray[Any]:
    """Pixels, uint8 H×W×3 or H×W×4 (only where alpha is asked for). Raises UnreadableError, also if truncated."""
    bmp = _read(data)
    padded = _padded(data, bmp)
    return opencv.imdecode(padded, info, color=not (bmp.alpha and channels in (None, 4)))


def decode_mask(data: bytes, info: ImageHeader) -> NDArray[Any]:
    """Palette indices, uint8 H×W, where there is a palette and no run lengths; else as `decode`."""
    bmp = _read(data)
    if bmp.bits > 8 or bmp.packing != _PLAIN:
        return decode(data, info, None)
    rows = np.frombuffer(_padded(data, bmp), np.uint8, bmp.row * info.height, bmp.start).reshape(info.height, bmp.row)
    ids = unpack_bits(rows, bmp.bits)[:, : info.width]
    return ids if bmp.height < 0 else ids[::-1]


def unpack_bits(rows: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Samples of 1, 2, 4 or 8 bits, first sample in the high bits, one to a byte: rows×bytes to rows×samples.

    >>> unpack_bits(np.array([[0xB0]], np.uint8), 2).tolist()
    [[2, 3, 0, 0]]
    """
    shifts = np.arange(8 - bits, -1, -bits, dtype=np.uint8)
    return ((rows[:, :, None] >> shifts) & np.uint8(2**bits - 1)).reshape(len(rows), -1)


def _padded(data: bytes, bmp: _Bmp) -> bytes:
    if bmp.packing in (_RLE8, _RLE4):
        return data
    if _least(bmp) > len(data):
        raise UnreadableError(f"truncated: {len(data)} of {_least(bmp)} bytes of BMP data")
    needed = bmp.start + bmp.row * abs(bmp.height)
    return data[:10] + struct.pack("<I", bmp.start) + data[14:].ljust(needed - 14, b"\0")


def _least(bmp: _Bmp) -> int:
    """Bytes of a file that is not packed; the last row's padding is often missing."""
    return bmp.start + bmp.row * (abs(bmp.height) - 1) + (bmp.width * bmp.bits + 7) // 8


def _read(data: bytes) -> _Bmp:
    if len(data) < 26:
        raise UnreadableError("truncated in its BMP header")
    start, size = struct.unpack_from("<II", data, 10)
    if size == 12:
        width, height, _, bits = struct.unpack_from("<HHHH", data, 18)
        packing = colors = mask = 0
    elif size < 40 or len(data) < 54:
        raise UnreadableError(f"a BMP whose header is {size} bytes long")
    else:
        width, height, _, bits, packing, _, _, _, colors = struct.unpack_from("<iiHHIIiiI", data, 18)
        (mask,) = struct.unpack_from("<I", data, 66) if size >= 56 and len(data) >= 70 else (0,)
    if width < 0:
        raise UnreadableError(f"its header says a width of {width}")
    if bits not in (1, 2, 4, 8, 16, 24, 32) or packing not in (_PLAIN, _RLE8, _RLE4, _FIELDS, _ALPHA_FIELDS):
        raise UnreadableError(f"a BMP of {bits} bits per pixel and compression {packing}")
    if bits <= 8:
        if colors > 2**bits:
            raise UnreadableError(f"a BMP of {bits} bits and {colors} colours")
        if start == 14 + size:  # some writers forget the palette between header and pixels
            start += (3 if size == 12 else 4) * (colors or 2**bits)
    return _Bmp(width, height, bits, packing, bits == 32 and mask != 0, start, (width * bits + 31) // 32 * 4)


def _complete(info: ImageHeader, ends: Ends) -> bool:
    bmp = _read(ends.first)
    return bmp.packing in (_RLE8, _RLE4) or ends.size >= _least(bmp)


FORMAT = Format("bmp", "BMP", lambda data: data[:2] == b"BM", header, decode, decode_mask, _complete, header_at="first")
