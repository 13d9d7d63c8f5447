"""What can be computed again: in folders of the user's cache folder, one a cache, never beside the user's data.

The cache folder is where `AUGRECIPES_CACHE` says, or else in the place that the system has for caches. What lies in it
is a hint: whoever reads it must find out whether it still holds. Files are put in place by renaming, so that processes
that work side by side see whole ones, and a crash leaves at most a staged one, which is swept later. Where nothing can
be written, everything works without, and that is said once.

Only files whose names end as a cache's own do are ever deleted: whatever else somebody keeps in such a folder stays.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from augrecipes import atomic

CACHE = "AUGRECIPES_CACHE"
DAY = 86_400  # seconds

_log = logging.getLogger("augrecipes")
_said: set[str] = set()


def cache_folder() -> Path:
    """The user's cache folder for augrecipes: `AUGRECIPES_CACHE`, or else in the place that the system has for caches.

    Raises:
        OSError: there is none: nobody knows where the user's home is.
    """
    if given := os.environ.get(CACHE):
        return Path(given)
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "augrecipes", "Cache")
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "augrecipes"
        given = os.environ.get("XDG_CACHE_HOME", "")
        return Path(given if os.path.isabs(given) else Path.home() / ".cache", "augrecipes")  # noqa: PTH117
    except RuntimeError as error:
        raise FileNotFoundError(str(error)) from None


def identity(path: str | bytes | os.PathLike[str]) -> str:
    """A name for a file or folder that is the same under every path that leads to it, and after a move.

    Raises:
        OSError: there is nothing at `path`.
    """
    about = os.stat(path)  # noqa: PTH116
    if about.st_ino:
        return f"{about.st_dev:x}-{about.st_ino:x}"
    return blake2b(os.path.realpath(os.fsencode(path))).hexdigest()[:32]  # some file systems number nothing


@dataclass(frozen=True, slots=True)
class CacheFile:
    """A file of a cache.

    Attributes:
        path: of the file.
        size: in bytes.
        used: when it was used last, in seconds since 1970.
    """

    path: Path
    size: int
    used: float


@dataclass(frozen=True, slots=True)
class Cache:
    """Something that can be computed again, and is kept.

    Attributes:
        name: what it is called, and its folder.
        about: what it is for, in a few words.
        suffix: how its files end; must be unlike anything that users call files.
        most_bytes: that all of them may take together; the least used leave first.
        most_seconds: that one may lie there unused.

    >>> import tempfile
    >>> os.environ[CACHE], before = tempfile.mkdtemp(), os.environ.get(CACHE, "")
    >>> FOLDERS.write("7-1", b"what was found"), FOLDERS.read("7-1"), FOLDERS.read("7-2")
    (True, b'what was found', None)
    >>> [file.size for file in FOLDERS.files()], FOLDERS.clear(), FOLDERS.read("7-1")
    ([14], (1, 14), None)
    >>> os.environ[CACHE] = before
    """

    name: str
    about: str
    suffix: str
    most_bytes: int = 256 << 20
    most_seconds: float = 90 * DAY

    @property
    def folder(self) -> Path:
        """Where its files lie; need not be there yet. OSError where there is no cache folder."""
        return cache_folder() / self.name

    def path(self, key: str) -> Path:
        """The file of `key`. OSError where there is no cache folder."""
        return self.folder / (key + self.suffix)

    def read(self, key: str) -> bytes | None:
        """What was kept under a key; None where nothing was, or it cannot be read."""
        with contextlib.suppress(OSError):
            path = self.path(key)
            found = path.read_bytes()
            with contextlib.suppress(OSError):  # a cache that cannot be written can be read
                os.utime(path)  # it was used
            return found
        return None

    def write(self, key: str, data: bytes, *, private: bool = False) -> bool:
        """Keep something under a key, and let go of what is too old or too much.

        Args:
            key: what the file is called, without the suffix.
            data: its content.
            private: only this user may read it.

        Returns:
            Whether it was kept; where it was not, the log says so, once.
        """
        try:
            path = self.path(key)
            atomic.write(path, data, lasting=False, private=private)
            self.sweep(keep=path)
        except OSError as error:
            self.unwritable(error)
            return False
        return True

    def unwritable(self, error: OSError) -> None:
        """Say, once in this process, that nothing is kept."""
        where = error.filename2 or error.filename or self.name
        reason = error.strerror or str(error)
        if reason not in _said:
            _said.add(reason)
            _log.warning(
                "the cache folder cannot be written (%s: %s): nothing is kept from run to run, which costs time alone; "
                "%s names another folder",
                os.fsdecode(where),
                reason,
                CACHE,
            )

    def files(self, folder: Path | None = None) -> Iterator[CacheFile]:
        """Its files, in no order; staged ones are not among them. Of another `folder`, where that is given."""
        with contextlib.suppress(OSError), os.scandir(folder or self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # another process sweeps, too
                    if entry.name.endswith(self.suffix) and entry.is_file(follow_symlinks=False):
                        about = entry.stat(follow_symlinks=False)
                        yield CacheFile(Path(entry.path), about.st_size, about.st_mtime)

    def sweep(self, keep: Path | None = None) -> None:
        """Delete what was not used for long, what is left of writers that were killed, and the least used of too much.

        Args:
            keep: stays, whatever it takes.
        """
        now, room = time.time(), self.most_bytes
        for file in sorted(self.files(), key=lambda file: (file.path == keep, file.used), reverse=True):
            room -= file.size
            if file.path != keep and (room < 0 or file.used < now - self.most_seconds):
                with contextlib.suppress(OSError):
                    file.path.unlink()
        self._unstage(now - DAY)

    def clear(self) -> tuple[int, int]:
        """Delete its files; those that another process is about to put in place may come after. Returns how many were
        deleted, and their bytes.

        Raises:
            OSError: one of them cannot be deleted.
        """
        count = size = 0
        for file in list(self.files()):
            file.path.unlink(missing_ok=True)
            count, size = count + 1, size + file.size
        self._unstage(time.time() - DAY)
        return count, size

    def _unstage(self, before: float) -> None:
        """Delete staged files that no writer has touched since."""
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.name.endswith(atomic.STAGED) and entry.stat(follow_symlinks=False).st_mtime < before:
                        Path(entry.path).unlink()


FOLDERS = Cache("folders", "the pictures in folders", ".memo")
SLIDES = Cache("slides", "which tiles of slides show tissue", ".windows")
ARCHIVES = Cache("archives", "where files lie in tar archives", ".tarindex")
VERDICTS = Cache("verdicts", "arguments of steps, tried before", ".verdicts", most_bytes=16 << 20)
STUDIOS = Cache("studio", "studios that were killed", ".studio", most_bytes=1 << 20, most_seconds=7 * DAY)
# How large it may grow is said by whoever fetches: see augrecipes.store.cache.
REMOTE = Cache("remote", "files of remote stores", ".fetched")
CACHES = (FOLDERS, ARCHIVES, SLIDES, VERDICTS, STUDIOS, REMOTE)
