"""The headers of tar archives: numbers, names and what pax records say, of blocks that may hold anything.

POSIX (ustar, pax), GNU and old archives. Nothing is ever written to disk, so names are text and no places; those that
would be misread in messages and as places, with `..` or control characters, are refused all the same.
"""

from __future__ import annotations

import re
from zlib import adler32

BLOCK = 512
REGULAR, FOLDER, HARD_LINK, LONG_NAME, LONG_LINK, PAX, PAX_OF_ALL = b"0", b"5", b"1", b"L", b"K", b"x", b"g"
_OTHER = {
    b"2": "a symbolic link: `tar --dereference` stores what it points to",
    b"3": "a device, and no file",
    b"4": "a device, and no file",
    b"6": "a pipe, and no file",
    b"D": "a folder of an incremental backup: make the archive without --listed-incremental",
    b"M": "a file that began in another volume: make the archive in one volume",
    b"S": "a sparse file: make the archive without --sparse",
}
_SPACES = b" " * 8
_MODULUS = 65_521  # of adler32, whose lower half is one more than the sum of the bytes
_BAD_NAME = re.compile(rb"[\x00-\x1f\x7f]|(?:\A|/)\.\.(?:/|\Z)")
_COMPRESSED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ": ("xz", "unxz"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"\x04\x22\x4d\x18": ("lz4", "unlz4"),
}


class HeaderError(Exception):
    """What is wrong with a header, or with what it says."""


def type_of(block: bytes) -> bytes:
    """The type of what a header is of: REGULAR for each kind of plain file.

    Raises:
        HeaderError: the header is damaged, or none.
    """
    if not _fits(block, number(block[148:156], "checksum")):
        raise HeaderError("its checksum is wrong")
    kind = block[156:157]
    if kind in (b"0", b"\0", b"7"):
        return FOLDER if kind == b"\0" and name_of(block).endswith(b"/") else REGULAR
    if kind in (FOLDER, HARD_LINK, LONG_NAME, LONG_LINK, PAX, PAX_OF_ALL, b"V"):
        return FOLDER if kind == b"V" else kind  # the name of a volume: nothing to be read, either
    raise HeaderError(f"is {_OTHER[kind]}" if kind in _OTHER else f"is of type {kind!r}, which is not read")


def _fits(block: bytes, checksum: int) -> bool:
    """Whether a header has a checksum: the sum of its bytes, which some old programs took to have a sign."""
    summed = block[:148] + _SPACES + block[156:]
    if (adler32(summed) & 0xFFFF) == (checksum + 1) % _MODULUS:
        return True
    return checksum == sum(byte - 256 if byte > 127 else byte for byte in summed)


def number(field: bytes, what: str) -> int:
    """A number of a header: octal digits, or behind a marked byte in binary. HeaderError where it is none.

    >>> number(b"00000001234\\0", "size"), number(b"   17 \\0", "size"), number(b"\\x80" + bytes(10) + b"\\x05", "size")
    (668, 15, 5)
    """
    if field[0] >= 0x80:
        if field[0] != 0x80:
            raise HeaderError(f"its {what} is negative, or beyond all limits")
        return int.from_bytes(field[1:], "big")
    text = field.partition(b"\0")[0].strip(b" ")
    if not text:
        return 0
    try:
        return int(text, 8) if text.isdigit() else int("none")
    except ValueError:
        raise HeaderError(f"its {what} is no number: {text!r}") from None


def name_of(block: bytes) -> bytes:
    """The name that a header has room for."""
    name = block[:100].partition(b"\0")[0]
    if block[257:263] == b"ustar\0" and block[345]:
        return block[345:500].partition(b"\0")[0] + b"/" + name
    return name


def link_of(block: bytes) -> bytes:
    """The name of the file that a header's own is a link to, as far as there is room."""
    return block[157:257].partition(b"\0")[0]


def checked_name(name: bytes) -> bytes:
    """A name without what leads to the same place: `./` in front, slashes.

    Raises:
        HeaderError: it holds `..` or control characters.

    >>> checked_name(b"./train//0001.jpg")
    b'train/0001.jpg'
    """
    if _BAD_NAME.search(name):
        raise HeaderError(f"its name is {name!r}: names with `..` or control characters are not taken")
    if name.startswith((b".", b"/")) or b"//" in name or b"/./" in name:
        return b"/".join(part for part in name.split(b"/") if part not in (b"", b"."))
    return name


def pax_of(data: bytes) -> dict[bytes, bytes]:
    """The records of a pax header.

    Raises:
        HeaderError: they are damaged.

    >>> pax_of(b"12 path=a.b\\n11 size=70\\n")
    {b'path': b'a.b', b'size': b'70'}
    """
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(data):
        length, space, _ = data[at : at + 20].partition(b" ")
        end = at + int(length) if space and length.isdigit() else at
        name, equals, value = data[at + len(length) + 1 : end - 1].partition(b"=")
        if not at < end <= len(data) or data[end - 1 : end] != b"\n" or not equals:
            raise HeaderError("its pax records are damaged")
        found[name] = value
        at = end
    return found


def compressed_by(first: bytes) -> tuple[str, str] | None:
    """What the file that begins so was compressed by, and what undoes it; None where it was not."""
    return next((how for magic, how in _COMPRESSED.items() if first.startswith(magic)), None)
