"""What is known of a picture before any pixel is decoded."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

MOST_PARTS = 2**18
"""Segments, chunks, blocks or boxes that are walked through in search of a header: real files have far fewer, and one
that is made of tiny ones, or that is not what it begins as, is not worth minutes."""

Color = Literal["grey", "rgb", "palette", "cmyk", "lab", "other"]


class UnreadableError(ValueError):
    """A picture cannot be read; the text is the reason. Callers who know the file's name make a DataError of it."""


# What libraries say instead of raising a MemoryError: libjpeg, zlib, OpenCV.
_NO_MEMORY = re.compile(r"insufficient memory|memory allocation|cannot allocate|out of memory|Error -4 ", re.IGNORECASE)


def raise_if_memory(error: Exception) -> None:
    """MemoryError where a library's own error says that memory is short: no file is to be blamed for that."""
    if _NO_MEMORY.search(str(error)):
        raise MemoryError(str(error)) from error


def too_many(kind: str, parts: str, at: int) -> UnreadableError:
    """The error for a file of more than `MOST_PARTS`, which end at byte `at`."""
    return UnreadableError(f"not a real {kind}: more than {MOST_PARTS:,} {parts} in its first {at:,} bytes")


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """The first bytes of a picture, understood. The file's name and extension play no part.

    Attributes:
        format: ``jpeg``, ``png``, ``tiff``, ``bmp``, ``webp``, ``gif``, ``pnm``, ``jp2`` or ``avif``.
        width: stored width in pixels, before any EXIF rotation.
        height: stored height in pixels, before any EXIF rotation.
        bits: bits per sample as stored (palette: per index).
        color: how samples are to be understood; a JPEG's YCbCr counts as ``rgb``, its YCCK as ``cmyk``.
        alpha: the picture has an alpha channel, or a transparent colour.
        orientation: EXIF orientation, 1 (upright) to 8; anything else in a file counts as 1.
        frames: pictures in the file, counted up to two.
        layout: what the format's own reader found on the way and needs again; of use only with the same bytes.
    """

    format: str
    width: int
    height: int
    bits: int = 8
    color: Color = "rgb"
    alpha: bool = False
    orientation: int = 1
    frames: int = 1
    layout: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise UnreadableError(f"its header says {self.width}×{self.height} pixels")
