"""The files in a tar archive: where each of them lies, by its headers alone, as Python's `tarfile` reads them.

Nothing is ever written to disk, so names are text and no places; those that would be misread in messages and as places,
with `..` or control characters, are refused all the same. `tarfile` takes a damaged header for the end of an archive:
what stands where it stops is looked at here.
"""

from __future__ import annotations

import io
import os
import re
import tarfile
from typing import NamedTuple

from augrecipes.errors import DataError
from augrecipes.sources.tar.opened import Archive

_BLOCK = 512
_WINDOW = 4096  # bytes that are read for a header: small files, and the headers behind them, come along
_MOST_SAID = 1 << 20  # bytes of a long name, or of pax records
_BEHIND = 1 << 16  # bytes behind the end of an archive that are looked at
_BAD_NAME = re.compile(rb"[\x00-\x1f\x7f]|(?:\A|/)\.\.(?:/|\Z)")
_NO_FILES = (tarfile.DIRTYPE, b"V")  # nor is the name of a volume
_COMPRESSED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ": ("xz", "unxz"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"\x04\x22\x4d\x18": ("lz4", "unlz4"),
}
# What tarfile lets through of headers that nobody should write.
_ERRORS = (tarfile.TarError, ValueError, OverflowError, RecursionError, MemoryError, IndexError, KeyError, TypeError)


class Member(NamedTuple):
    """A file in an archive: its name, and where its header and what it holds are, in bytes."""

    name: bytes
    place: int
    start: int
    size: int


def members_of(path: str, archive: Archive) -> list[Member]:
    """The files in an archive, in their order.

    Raises:
        DataError: it is no tar archive, or a compressed one; or it is damaged, cut off, or holds what is not read.
            Names the archive and the place.
    """
    first = archive.at_most(0, _BLOCK)
    if how := next((how for magic, how in _COMPRESSED.items() if first.startswith(magic)), None):
        raise DataError(
            f"is compressed by {how[0]}: nothing in it can be found without reading all that is before it. "
            f"`{how[1]}` undoes that; pictures are compressed by themselves",
            path,
        )
    found: list[Member] = []
    known: dict[bytes, Member] = {}
    at, what = 0, ""
    try:
        if not first or first[0]:  # else its end, at once
            with tarfile.TarFile(path, fileobj=_Headers(archive)) as tar:
                while (info := tar.next()) is not None:
                    if {"path", "linkpath", "size"} & tar.pax_headers.keys():
                        raise ValueError("a pax header gives all files one name or size")
                    at, what = info.offset, f"{info.name!r} "
                    if info.size < 0:
                        raise ValueError("its size is negative")
                    if info.type not in _NO_FILES:
                        member = _member(info, known)
                        found.append(member)
                        known[member.name] = member
                    if info.offset_data + max(info.size, 0) > archive.size and info.type != tarfile.LNKTYPE:
                        there = max(0, archive.size - info.offset_data)
                        raise ValueError(f"is cut off: {info.size:,} bytes are said to follow, and {there:,} do")
                    at, what = tar.offset, ""
        _check_end(archive.at_most(at, _BEHIND))
    except _ERRORS as error:
        if not found and not what and first[257:262] != b"ustar":
            raise DataError(f"is no tar archive: {error}", path) from None
        raise DataError(f"at byte {at:,}: {what}{error}", path) from None
    return found


def _member(info: tarfile.TarInfo, known: dict[bytes, Member]) -> Member:
    """Where a file lies; ValueError where it cannot be read."""
    if info.issparse() or any(name.startswith("GNU.sparse") for name in info.pax_headers):
        raise ValueError("is a sparse file: make the archive without --sparse")
    name = _checked(info.name)
    if info.type == tarfile.LNKTYPE:
        there = known.get(_checked(info.linkname))
        if there is None:
            raise ValueError(
                f"is a link to {info.linkname!r}, which is not in the archive before it: `tar --hard-dereference` "
                "stores the file itself"
            )
        return Member(name, info.offset, there.start, there.size)
    if not info.isreg():
        raise ValueError(
            "is a symbolic link: `tar --dereference` stores what it points to"
            if info.issym()
            else f"is of type {info.type!r}, no file: make the archive of files, whole and in one volume"
        )
    return Member(name, info.offset, info.offset_data, info.size)


def _checked(text: str) -> bytes:
    """A name without what leads to the same place, `./` in front and slashes; ValueError for one that is not taken.

    >>> _checked("./train//0001.jpg")
    b'train/0001.jpg'
    """
    name = os.fsencode(text)
    if _BAD_NAME.search(name):
        raise ValueError("its name holds `..` or control characters, which are not taken")
    if name.startswith((b".", b"/")) or b"//" in name or b"/./" in name:
        return b"/".join(part for part in name.split(b"/") if part not in (b"", b"."))
    return name


def _check_end(rest: bytes) -> None:
    """ValueError unless an archive ends where its headers do."""
    if len(rest) < _BLOCK:
        raise ValueError("it ends here without the mark of an end: it was cut off, or is still being written")
    if rest[:_BLOCK].strip(b"\0"):
        raise ValueError("this is no header: its checksum is wrong, or it holds what is no number")
    if rest.strip(b"\0"):
        raise ValueError(
            "this is its end, and there is more behind: of archives that were joined, `tar --concatenate` makes one, "
            "or give each of them"
        )


class _Headers(io.RawIOBase):
    """An archive as tarfile reads it: a window of a few kilobytes, and nothing as large as a hostile header says."""

    def __init__(self, archive: Archive) -> None:
        self._archive, self._at, self._base, self._window = archive, 0, 0, b""

    def seek(self, place: int, whence: int = 0, /) -> int:
        """Go to a place, of which there are no more than an archive can have."""
        if whence or not 0 <= place < 1 << 62:
            raise ValueError(f"{place:,} is no place in an archive")
        self._at = place
        return place

    def tell(self) -> int:
        """The place at hand."""
        return self._at

    def read(self, many: int = -1, /) -> bytes:
        """So many bytes, or as many as there are."""
        if not 0 <= many <= _MOST_SAID:
            raise ValueError(f"{many:,} bytes of names and the like are beyond all limits")
        start = self._at - self._base
        if not 0 <= start <= start + many <= len(self._window):
            self._base, start = self._at, 0
            self._window = self._archive.at_most(self._at, max(_WINDOW, many))
        found = self._window[start : start + many]
        self._at += len(found)
        return found
