"""Tar archives: which ones a pattern names, and where the files in each lie, by its headers, as `tarfile` reads them.

Nothing is ever written to disk, so names are text and no places; those that would be misread in messages and as places,
with `..` or control characters, are refused all the same. `tarfile` takes a damaged header for the end of an archive:
what stands where it stops is looked at here. An archive that was changed since it was listed is an error.
"""

from __future__ import annotations

import glob
import io
import os
import re
import tarfile
from pathlib import Path
from typing import NamedTuple

from augrecipes import cache, lru, remote
from augrecipes.errors import DataError
from augrecipes.paths import is_archive

OPEN = 64
"""Archives that a process holds open."""
_BLOCK = 512
_WINDOW = 4096  # bytes that are read for a header: small files, and the headers behind them, come along
_MOST_SAID = 1 << 20  # bytes of a member's headers, with long names and pax records
_BEHIND = 1 << 16  # bytes behind the end of an archive that are looked at
_BAD_NAME = re.compile(rb"[\x00-\x1f\x7f]|(?:\A|/)\.\.(?:/|\Z)")
_NO_FILES = (tarfile.DIRTYPE, b"V")  # nor is the name of a volume
# What tarfile lets through of headers that nobody should write.
_ERRORS = (tarfile.TarError, OSError, ValueError, OverflowError, RecursionError, MemoryError, LookupError, TypeError)


def find_archives(pattern: str) -> list[str]:
    """The archives that a path or a pattern names; those of a folder and of `*` by name.

    Raises:
        DataError: there are none.
    """
    if remote.is_remote(pattern):
        raise DataError("archives are read from this machine alone: fetch them first", pattern)
    if os.path.isdir(pattern):  # noqa: PTH112  the texts of paths as the user gave them
        files = [file for file in Path(pattern).iterdir() if is_archive(file.name) and not file.name.startswith(".")]
        if not files:
            raise DataError("no tar archive is in this folder", pattern)
        return sorted(map(os.fspath, files))
    if not glob.has_magic(pattern) or os.path.lexists(pattern):
        return [pattern]
    paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
    if not paths:
        raise DataError("there is no archive of this name", pattern)
    return paths


class Archive:
    """A file that is open for reading, until nobody holds it any more.

    Args:
        path: of it.
        stamp: what `augrecipes.cache.stamp_of_file` said when it was listed.

    Raises:
        DataError: it cannot be opened, or was changed.
    """

    def __init__(self, path: str, stamp: str) -> None:
        self.path, self._stamp = path, stamp
        try:
            self._file = lru.OpenFile(path)
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror or error}", path) from None
        self.size = self.about().st_size

    def about(self) -> os.stat_result:
        """What the system says of it now, whatever has its path by now. DataError where it was changed."""
        about = self._file.about()
        if cache.file_stamp(about) != self._stamp:
            raise DataError("was changed since it was listed: list it again", self.path)
        return about

    def at_most(self, place: int, many: int) -> bytes:
        """So many bytes from a place on, or as many as there are."""
        try:
            return self._file.read(place, many)
        except OSError as error:
            raise DataError(f"cannot be read at byte {place:,}: {error.strerror or error}", self.path) from None

    def bytes_at(self, place: int, many: int) -> bytes:
        """So many bytes from a place on, as they were listed; DataError where the archive was changed since."""
        data = self.at_most(place, many)
        self.about()  # behind the reading: what was written before it is seen
        return data


OPENED = lru.OpenFiles(Archive, OPEN)
"""Those of this process."""


class Member(NamedTuple):
    """A file in an archive: its name, and where its header and what it holds are, in bytes."""

    name: bytes
    place: int
    start: int
    size: int


def list_members(path: str, archive: Archive) -> list[Member]:
    """The files in an archive, in their order.

    Raises:
        DataError: it is no tar archive, is damaged or cut off, or holds what is not read; names the archive and the
            place.
    """
    first = archive.at_most(0, _BLOCK)
    members: list[Member] = []
    at, member = 0, ""
    try:
        if not first or first[0]:  # else its end, at once
            with _Headers(io.FileIO(path), _WINDOW) as file, tarfile.TarFile(path, fileobj=file) as tar:
                if not os.path.samestat(os.fstat(file.fileno()), archive.about()):
                    raise ValueError("another archive has taken its place: list it again")
                while (info := tar.next()) is not None:
                    if {"path", "linkpath", "size"} & tar.pax_headers.keys():
                        raise ValueError("a pax header gives all files one name or size")
                    at, member = info.offset, f"{info.name!r} "
                    if info.type not in _NO_FILES:
                        members.append(_member(info))
                    if not 0 <= info.size <= archive.size - info.offset_data:
                        raise ValueError(f"is cut off: {info.size:,} bytes should follow: make the archive again")
                    at, member = tar.offset, ""
        _check_end(archive.at_most(at, _BEHIND))
    except _ERRORS as error:
        if not members and not member and first[257:262] != b"ustar":
            raise DataError(f"is not a tar archive ({error}); unpack a compressed one first", path) from None
        raise DataError(f"at byte {at:,}: {member}{error}", path) from None
    return members


def _member(info: tarfile.TarInfo) -> Member:
    """Where a file lies; ValueError where it cannot be read."""
    if not info.isreg() or info.issparse() or any(name.startswith("GNU.sparse") for name in info.pax_headers):
        how = "links and sparse files: `tar --dereference --hard-dereference` stores the files themselves"
        raise ValueError(f"is not a plain file (type {info.type!r}), but one of {how}")
    return Member(_checked(info.name), info.offset, info.offset_data, info.size)


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
    if len(rest) < _BLOCK or rest.strip(b"\0"):
        raise ValueError(
            "no header and no end: the archive was cut off or damaged here, or others were joined to it, for which "
            "`tar --concatenate` is right"
        )


class _Headers(io.BufferedReader):
    """An archive as tarfile reads it: a few kilobytes at a time, and nothing as large as a hostile header says.

    Newer releases of tarfile read a long name in pieces, so the pieces of one member's headers are added up: tarfile
    seeks before each member.
    """

    _member_bytes = 0

    def seek(self, place: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a place, where the headers of a member begin."""
        self._member_bytes = 0
        return super().seek(place, whence)

    def read(self, many: int | None = -1, /) -> bytes:
        """So many bytes, or as many as there are."""
        if many is None or not 0 <= many <= _MOST_SAID - self._member_bytes:
            raise ValueError(f"names and the like are beyond all limits ({_MOST_SAID:,} bytes): make the archive again")
        self._member_bytes += many
        return super().read(many)
