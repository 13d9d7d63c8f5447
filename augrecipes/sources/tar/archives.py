"""Tar archives: finds them by patterns, and lists the files in each with `tarfile`.

Nothing is ever unpacked, so names cannot lead anywhere; names with `..` or control characters, which mislead in
messages, are refused all the same. `tarfile` takes a damaged header for the end of an archive, so the bytes where it
stops are checked here. An archive that changed since it was listed is an error.
"""

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
"""Archives that a process keeps open."""
_BLOCK = 512
_WINDOW = 4096  # bytes read at once, so that small files and the next headers come along
_MOST_METADATA = 1 << 20  # bytes of a member's headers, with long names and pax records
_TRAILER = 1 << 16  # bytes checked after the last file
_BAD_NAME = re.compile(rb"[\x00-\x1f\x7f]|(?:\A|/)\.\.(?:/|\Z)")
_NO_FILES = (tarfile.DIRTYPE, b"V")  # folders, and the name of a volume
# Everything that tarfile may raise for malformed headers.
_ERRORS = (tarfile.TarError, OSError, ValueError, OverflowError, RecursionError, MemoryError, LookupError, TypeError)


def find_archives(pattern: str) -> list[str]:
    """The archives that a path, folder or pattern names; sorted by name.

    Raises:
        DataError: there are none.
    """
    if remote.is_remote(pattern):
        raise DataError("archives are read from this machine alone: fetch them first", pattern)
    if os.path.isdir(pattern):  # noqa: PTH112  keeps the paths as the user wrote them
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
    """An archive that is open for reading; closed when garbage collected.

    Args:
        path: the file.
        stamp: its `augrecipes.cache.stamp_of_file` when it was listed.

    Raises:
        DataError: the archive cannot be opened, or has changed.
    """

    def __init__(self, path: str, stamp: str) -> None:
        self.path, self._stamp = path, stamp
        try:
            self._file = lru.OpenFile(path)
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror or error}", path) from None
        self.size = self.status().st_size

    def status(self) -> os.stat_result:
        """The current status of the open file, even if another has its path. DataError if it changed since listing."""
        status = self._file.status()
        if cache.file_stamp(status) != self._stamp:
            raise DataError("was changed since it was listed: list it again", self.path)
        return status

    def at_most(self, place: int, count: int) -> bytes:
        """The `count` bytes from a position on, or fewer at the end of the file."""
        try:
            return self._file.read(place, count)
        except OSError as error:
            raise DataError(f"cannot be read at byte {place:,}: {error.strerror or error}", self.path) from None

    def bytes_at(self, place: int, count: int) -> bytes:
        """The `count` bytes from a position on; DataError if the archive changed since listing."""
        data = self.at_most(place, count)
        self.status()  # after the read, to notice writes before it
        return data


OPENED = lru.OpenFiles(Archive, OPEN)
"""The open archives of this process."""


class Member(NamedTuple):
    """A file in an archive: its name, the positions of its header and content, and its size, bytes."""

    name: bytes
    place: int
    start: int
    size: int


def list_members(path: str, archive: Archive) -> list[Member]:
    """The files in an archive, in their order.

    Raises:
        DataError: the file is not a tar archive, is damaged or truncated, or has entries that are not read; the message
            names the archive and the position.
    """
    first = archive.at_most(0, _BLOCK)
    members: list[Member] = []
    at, member = 0, ""
    try:
        if not first or first[0]:  # otherwise it is empty
            with _Headers(io.FileIO(path), _WINDOW) as file, tarfile.TarFile(path, fileobj=file) as tar:
                if not os.path.samestat(os.fstat(file.fileno()), archive.status()):
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
        _check_end(archive.at_most(at, _TRAILER))
    except _ERRORS as error:
        if not members and not member and first[257:262] != b"ustar":
            raise DataError(f"is not a tar archive ({error}); unpack a compressed one first", path) from None
        raise DataError(f"at byte {at:,}: {member}{error}", path) from None
    return members


def _member(info: tarfile.TarInfo) -> Member:
    """The Member of a header; ValueError for a link or sparse file."""
    if not info.isreg() or info.issparse() or any(name.startswith("GNU.sparse") for name in info.pax_headers):
        how = "links and sparse files: `tar --dereference --hard-dereference` stores the files themselves"
        raise ValueError(f"is not a plain file (type {info.type!r}), but one of {how}")
    return Member(_clean_name(info.name), info.offset, info.offset_data, info.size)


def _clean_name(text: str) -> bytes:
    """A name without leading `./` and repeated slashes; ValueError for a name that is refused.

    >>> _clean_name("./train//0001.jpg")
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
    """A reader for tarfile, which refuses the large reads that a hostile header asks for.

    Newer releases of tarfile read a long name in pieces, so the pieces of one member's headers are added up: tarfile
    seeks before each member.
    """

    _member_bytes = 0

    def seek(self, place: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a position, where the headers of a member begin."""
        self._member_bytes = 0
        return super().seek(place, whence)

    def read(self, count: int | None = -1, /) -> bytes:
        """As of any file, up to a limit per member."""
        if count is None or not 0 <= count <= _MOST_METADATA - self._member_bytes:
            limit = f"{_MOST_METADATA:,} bytes"
            raise ValueError(f"names and the like are beyond all limits ({limit}): make the archive again")
        self._member_bytes += count
        return super().read(count)
