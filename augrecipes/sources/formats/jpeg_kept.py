"""A JPEG as a store keeps it: the coefficients of the file, so that it decodes to the file's own pixels.

libjpeg-turbo writes them anew where augrecipes was built with it: in one scan, which a progressive file is not, with
Huffman codes of its own, and with a restart marker after every row of blocks, so that readers of windows skip what lies
above. Without it the segments that decoding needs are kept, byte by byte. Either way nothing else is left of the file,
thumbnails and places on earth included, but how it is turned.
"""

from __future__ import annotations

import struct
from contextlib import suppress

from augrecipes.native.libjpeg import codec
from augrecipes.sources.formats import jpeg
from augrecipes.sources.formats.header import ImageHeader

TURNED = b"\xff\xe1"
"""What stands behind the first marker of a kept JPEG that has to be turned, and of no other."""


def kept(data: bytes, header: ImageHeader, turn: int) -> bytes | None:
    """What to keep of a file.

    Args:
        data: the file.
        header: its header.
        turn: the EXIF orientation that is undone whenever it is read; 1 for none.

    Returns:
        A JPEG; whoever keeps it sees to it that it decodes to the same. None where the file is none, or is damaged.
    """
    if header.format != "jpeg" or header.bits != 8 or not header.layout.scan:
        return None
    s: jpeg.Segments = header.layout
    plain = b"".join(data[begin:end] for begin, end in s.kept) + data[s.scan :]
    library = codec()
    if library is not None:
        with suppress(ValueError):  # kept as it is: what it is worth, decoding it says
            plain = library.transcoded(plain)
    return plain[:2] + _orientation(turn) + plain[2:] if turn != 1 else plain


def _orientation(turn: int) -> bytes:
    """An EXIF block that says nothing else."""
    block = b"Exif\0\0MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, turn, 0, 0)
    return TURNED + struct.pack(">H", len(block) + 2) + block
