"""Which format a file is in, and what its header says; from its first bytes, never from its name.

>>> sniff(b"GIF89a...")
'gif'
>>> read_header(b"P5 640 480 255\\n").width
640
>>> sniff(b"<!DOCTYPE html>") is None
True
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from augrecipes.sources.formats import avif, bmp, gif, jp2, jpeg, png, pnm, tiff, webp
from augrecipes.sources.formats.header import ImageHeader, UnreadableError

Decode = Callable[[bytes, ImageHeader, int | None], NDArray[Any]]
DecodeMask = Callable[[bytes, ImageHeader], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Format:
    """How one format is read.

    Attributes:
        header: bytes to header; works on the beginning of a file where the format allows it.
        decode: pixels as stored: uint8 or uint16, H×W or H×W×C in RGB order, not turned.
        mask: samples as label ids where that differs from `decode`.
    """

    header: Callable[[bytes], ImageHeader]
    decode: Decode
    mask: DecodeMask | None = None


FORMATS: dict[str, Format] = {
    "jpeg": Format(jpeg.header, jpeg.decode),
    "png": Format(png.header, png.decode, png.decode_mask),
    "tiff": Format(tiff.header, tiff.decode, tiff.decode_mask),
    "bmp": Format(bmp.header, bmp.decode, bmp.decode_mask),
    "webp": Format(webp.header, webp.decode),
    "gif": Format(gif.header, gif.decode),
    "pnm": Format(pnm.header, pnm.decode, pnm.decode_mask),
    "jp2": Format(jp2.header, jp2.decode, jp2.decode_mask),
    "avif": Format(avif.header, avif.decode),
}

_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


def sniff(data: bytes) -> str | None:
    """The name of the format that `data` begins with, or None for anything else."""
    if data[:3] == b"\xff\xd8\xff":
        return "jpeg"
    if data[:8] == png.SIGNATURE:
        return "png"
    if data[:4] in _TIFF:
        return "tiff"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "gif"
    if data[:4] == jp2.BARE or data[4:12] == b"jP  \r\n\x87\n":
        return "jp2"
    if data[4:8] == b"ftyp" and data[8:12] in (b"avif", b"avis", b"mif1"):
        return "avif"
    if data[:2] == b"BM":
        return "bmp"
    if data[:1] == b"P" and data[1:2] in b"123456" and data[2:3] in (b" ", b"\n", b"\r", b"\t", b"#"):
        return "pnm"
    return None


def read_header(data: bytes) -> ImageHeader:
    """The header of a picture; `data` may be the beginning of a file where the format has its header there.

    Raises:
        UnreadableError: not a picture in a known format, or its header is cut or damaged.
    """
    if not data:
        raise UnreadableError("the file is empty")
    name = sniff(data)
    if name is None:
        raise UnreadableError("not a picture in a known format (JPEG, PNG, TIFF, BMP, WebP, GIF, PNM, JPEG 2000, AVIF)")
    try:
        return FORMATS[name].header(data)
    except (struct.error, IndexError) as error:
        raise UnreadableError(f"truncated or damaged in its {name.upper()} header ({error})") from None
