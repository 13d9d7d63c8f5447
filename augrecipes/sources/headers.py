"""Which format a file is in, and what its header says; from its first bytes, never from its name.

>>> sniff(b"GIF89a...").title
'GIF'
>>> read_header(b"P5 640 480 255\\n").width
640
>>> sniff(b"<!DOCTYPE html>") is None
True
"""

from __future__ import annotations

import struct

from augrecipes.sources.formats import jpeg_window, npy, pillow, png
from augrecipes.sources.formats.format import Format
from augrecipes.sources.formats.header import ImageHeader, UnreadableError

_ALL = (jpeg_window.FORMAT, png.FORMAT, *pillow.ALL, npy.FORMAT)
FORMATS: dict[str, Format] = {format.name: format for format in _ALL}


def sniff(data: bytes) -> Format | None:
    """The format that `data` begins with, or None for anything else."""
    return next((format for format in FORMATS.values() if format.begins(data)), None)


def read_header(data: bytes) -> ImageHeader:
    """The header of a picture; `data` may be the beginning of a file where the format has its header there.

    Raises:
        UnreadableError: not a picture in a known format, or its header is cut or damaged.
    """
    if not data:
        raise UnreadableError("the file is empty")
    format = sniff(data)
    if format is None:
        known = ", ".join(format.title for format in FORMATS.values())
        raise UnreadableError(f"not a picture in a known format ({known})")
    try:
        return format.header(data)
    except (struct.error, IndexError) as error:
        raise UnreadableError(f"truncated or damaged in its {format.name.upper()} header ({error})") from None
