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
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from augrecipes import cache, lru, remote
from augrecipes.errors import DataError
from augrecipes.paths import is_archive

OPEN = 64
"""Archives that a process holds open."""
_MOST = 100_000  # archives that a pattern names
_MOST_BRACES = 64
_BRACES, _RANGE = re.compile(r"\{([^{}]*)\}"), re.compile(r"(\d{1,9})\.\.(\d{1,9})")
_BLOCK = 512
_WINDOW = 4096  # bytes that are read for a header: small files, and the headers behind them, come along
_MOST_SAID = 1 << 20  # bytes of a long name, or of pax records
_BEHIND = 1 << 16  # bytes behind the end of an archive that are looked at
_BAD_NAME = re.compile(rb"[\x00-\x1f\x7f]|(?:\A|/)\.\.(?:/|\Z)")
_NO_FILES = (tarfile.DIRTYPE, b"V")  # nor is the name of a volume
_COMPRESSED = {
    b"\x1f\x8b": "gunzip", b"BZh": "bunzip2", b"\xfd7zXZ": "unxz", b"\x28\xb5\x2f\xfd": "unzstd",
    b"\x04\x22\x4d\x18": "unlz4",
}  # fmt: skip
# What tarfile lets through of headers that nobody should write.
_ERRORS = (tarfile.TarError, OSError, ValueError, OverflowError, RecursionError, MemoryError, LookupError, TypeError)


def find_archives(pattern: str) -> list[str]:
    """The archives that a path or a pattern names, in its order; those of a folder and of `*` by name.

    Raises:
        DataError: there are none, or one that braces name is missing.
    """
    if remote.is_remote(pattern):
        raise DataError("archives are read from this machine alone: fetch them first", pattern)
    if os.path.isdir(pattern):  # noqa: PTH112  a pattern may be too long for a path, of which Path makes an error
        files = [file for file in Path(pattern).iterdir() if is_archive(file.name) and not file.name.startswith(".")]
        if not files:
            raise DataError("has no tar archive in it", pattern)
        return sorted(map(os.fspath, files))
    if os.path.exists(pattern):  # noqa: PTH110
        return [pattern]
    return [archive for alternative in expand_braces(pattern) for archive in _matching(alternative)]


def _matching(pattern: str) -> list[str]:
    if not glob.has_magic(pattern) or os.path.lexists(pattern):
        return [pattern]
    paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207  the texts of paths as the user gave them
    if not paths:
        raise DataError("no archive is called so", pattern)
    return paths


def expand_braces(pattern: str) -> list[str]:
    """The texts that braces stand for: ranges of numbers and lists, as a shell has them; other braces stay.

    Raises:
        DataError: they are too many.

    >>> expand_braces("train-{08..10}.tar"), expand_braces("{a,b}{1..2}.tar"), expand_braces("{one}.tar")
    (['train-08.tar', 'train-09.tar', 'train-10.tar'], ['a1.tar', 'a2.tar', 'b1.tar', 'b2.tar'], ['{one}.tar'])
    """
    texts = list(islice(_expanded(pattern), _MOST + 1)) if pattern.count("{") <= _MOST_BRACES else []
    if not 0 < len(texts) <= _MOST:
        raise DataError(f"its braces name more than {_MOST:,} archives", pattern)
    return texts


def _expanded(pattern: str, at: int = 0) -> Iterator[str]:
    while (match := _BRACES.search(pattern, at)) is not None:
        if numbers := _RANGE.fullmatch(match[1]):
            first, last = map(int, numbers.groups())
            padded = any(text.startswith("0") and len(text) > 1 for text in numbers.groups())
            width, step = max(map(len, numbers.groups())) if padded else 1, 1 if last >= first else -1
            choices: Any = (f"{number:0{width}}" for number in range(first, last + step, step))
        elif "," in match[1]:
            choices = match[1].split(",")
        else:
            at = match.end()
            continue
        for choice in choices:
            yield from _expanded(f"{pattern[: match.start()]}{choice}{pattern[match.end() :]}", at)
        return
    yield pattern


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
        DataError: it is no tar archive, or a compressed one; or it is damaged, cut off, or holds what is not read.
            Names the archive and the place.
    """
    first = archive.at_most(0, _BLOCK)
    if how := next((how for magic, how in _COMPRESSED.items() if first.startswith(magic)), None):
        raise DataError(
            f"is compressed: nothing in it can be found without reading all that is before it. `{how}` undoes that; "
            "images are compressed by themselves",
            path,
        )
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
                    if info.size < 0:
                        raise ValueError("its size is negative")
                    if info.type not in _NO_FILES:
                        members.append(_member(info))
                    if info.offset_data + info.size > archive.size:
                        there = max(0, archive.size - info.offset_data)
                        raise ValueError(f"is cut off: {info.size:,} bytes are said to follow, and {there:,} do")
                    at, member = tar.offset, ""
        _check_end(archive.at_most(at, _BEHIND))
    except _ERRORS as error:
        if not members and not member and first[257:262] != b"ustar":
            raise DataError(f"is no tar archive: {error}", path) from None
        raise DataError(f"at byte {at:,}: {member}{error}", path) from None
    return members


def _member(info: tarfile.TarInfo) -> Member:
    """Where a file lies; ValueError where it cannot be read."""
    if info.issparse() or any(name.startswith("GNU.sparse") for name in info.pax_headers):
        raise ValueError("is a sparse file: make the archive without --sparse")
    if info.issym() or info.islnk():
        how = "--dereference" if info.issym() else "--hard-dereference"
        raise ValueError(f"is a link to {info.linkname!r}: `tar {how}` stores the file itself")
    if not info.isreg():
        raise ValueError(f"is of type {info.type!r}, no file: make the archive of files, whole and in one volume")
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
    if len(rest) < _BLOCK:
        raise ValueError("it ends here without the mark of an end: it was cut off, or is still being written")
    if rest[:_BLOCK].strip(b"\0"):
        raise ValueError("this is no header: its checksum is wrong, or it holds what is no number")
    if rest.strip(b"\0"):
        raise ValueError(
            "this is its end, and there is more behind: of archives that were joined, `tar --concatenate` makes one, "
            "or give each of them"
        )


class _Headers(io.BufferedReader):
    """An archive as tarfile reads it: a few kilobytes at a time, and nothing as large as a hostile header says."""

    def read(self, many: int | None = -1, /) -> bytes:
        """So many bytes, or as many as there are."""
        if many is None or not 0 <= many <= _MOST_SAID:
            raise ValueError(f"{many:,} bytes of names and the like are beyond all limits")
        return super().read(many)
