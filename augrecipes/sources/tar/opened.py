"""Archives that are open, and what tells them from others."""

from __future__ import annotations

import os
import stat
from typing import Any

from augrecipes.errors import DataError
from augrecipes.sources.open_files import OpenFiles, bytes_at

OPEN = 64
"""Archives that a process holds open."""


class Archive:
    """A file that is open for reading, until nobody holds it any more.

    Args:
        path: of it.
        stamp: what `stamp_of` said when it was listed.

    Raises:
        DataError: it cannot be opened, or was changed.
    """

    def __init__(self, path: str, stamp: str) -> None:
        self.path, self._handle = path, -1
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            self._handle = os.open(path, flags)
            about = os.fstat(self._handle)
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror or error}", path) from None
        self._stamp = stamp
        self._check(about)
        self.size = about.st_size

    def _check(self, about: os.stat_result) -> None:
        if _stamp(about) != self._stamp:
            raise DataError("was changed since it was listed: list it again", self.path)

    def at_most(self, place: int, many: int) -> bytes:
        """So many bytes from a place on, or as many as there are."""
        try:
            return bytes_at(self._handle, place, many)
        except OSError as error:
            raise DataError(f"cannot be read at byte {place:,}: {error.strerror or error}", self.path) from None

    def bytes_at(self, place: int, many: int) -> bytes:
        """So many bytes from a place on, as they were listed; DataError where the archive was changed since."""
        found = self.at_most(place, many)
        self._check(os.fstat(self._handle))  # behind the reading: what was written before it is seen
        return found

    def about(self) -> os.stat_result:
        """What the system says of it now, whatever has its path by now."""
        return os.fstat(self._handle)

    def __del__(self, close: Any = os.close) -> None:  # when Python ends there is no `os` any more
        if self._handle >= 0:
            close(self._handle)


OPENED = OpenFiles(Archive, OPEN)
"""Those of this process."""


def stamp_of(path: str) -> str:
    """What tells an archive from another one that takes its place; DataError where there is none."""
    try:
        about = os.stat(path)  # noqa: PTH116  the text of a path that the user gave
    except (OSError, ValueError) as error:
        what = "no such file" if isinstance(error, FileNotFoundError) else getattr(error, "strerror", None) or error
        raise DataError(str(what), path) from None
    if not stat.S_ISREG(about.st_mode):
        raise DataError("is no tar archive: not a regular file", path)
    return _stamp(about)


def _stamp(about: os.stat_result) -> str:
    return f"{about.st_size} {about.st_mtime_ns}"
