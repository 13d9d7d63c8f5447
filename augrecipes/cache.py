"""What can be computed again: in folders of the user's cache folder, one a cache, never beside the user's data.

The cache folder is where `AUGRECIPES_CACHE` says, or else in the place that the system has for caches. What lies in it
is a hint: whoever reads it must find out whether it still holds. Files are put in place by renaming, so that processes
that work side by side see whole ones, and a crash leaves at most a staged one, which is swept later. Where nothing can
be written, everything works without, and that is said once.

Only files whose names end as a cache's own do are ever deleted: whatever else somebody keeps in such a folder stays.

`memo` keeps what was found out about files, as arrays, for as long as the files stay as they are: a digest of the
arrays, of the stamp under which they were found and of the rules, and then an `.npz` file. What is damaged in any way,
or of another stamp, is as if it were not there. It may be forged by whoever can write it: nobody may take a path or a
size from it that could not have been found.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augrecipes.errors import DataError, parsed
from augrecipes.paths import STAGED, write_file

if TYPE_CHECKING:  # checking a recipe does without numpy
    from numpy.typing import NDArray

CACHE = "AUGRECIPES_CACHE"
DAY = 86_400  # seconds
SWEEP_EVERY = 32
"""So many files are written to a cache by this process between two sweeps of it."""
SETTLED_NS = 3_000_000_000
"""What was changed less than this ago may change again within the same tick; FAT counts in steps of two seconds."""
_RULES = b"3"  # another one for each change of how arrays are kept
_DIGEST = 32

_log = logging.getLogger("augrecipes")
_said: set[str] = set()
_written = Counter[str]()  # by name of the cache, by this process
Arrays = Mapping[str, "NDArray[Any]"]


def cache_folder() -> Path:
    """The user's cache folder for augrecipes: `AUGRECIPES_CACHE`, or else in the place that the system has for caches.

    Raises:
        OSError: there is none: nobody knows where the user's home is.
    """
    if folder := os.environ.get(CACHE):
        return Path(folder)
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "augrecipes", "Cache")
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "augrecipes"
        folder = os.environ.get("XDG_CACHE_HOME", "")
        return Path(folder if os.path.isabs(folder) else Path.home() / ".cache", "augrecipes")  # noqa: PTH117
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
            data = path.read_bytes()
            with contextlib.suppress(OSError):  # a cache that cannot be written can be read
                os.utime(path)  # it was used
            return data
        return None

    def write(self, key: str, data: bytes) -> bool:
        """Keep something under a key, and let go of what is too old or too much.

        Args:
            key: what the file is called, without the suffix.
            data: its content.

        Returns:
            Whether it was kept; where it was not, the log says so, once.
        """
        try:
            path = self.path(key)
            write_file(path, data, lasting=False)
            if _written[self.name] % SWEEP_EVERY == 0:  # a look at all files for each of thousands takes long
                self.sweep(keep=path)
            _written[self.name] += 1
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

    def files(self, folder: Path | None = None, ending: str = "") -> Iterator[CacheFile]:
        """Its files, in no order; staged ones are not among them. Of another `folder` or `ending`, where given."""
        with contextlib.suppress(OSError), os.scandir(folder or self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # another process sweeps, too
                    if entry.name.endswith(ending or self.suffix) and entry.is_file(follow_symlinks=False):
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
        self._unstage()

    def clear(self) -> tuple[int, int]:
        """Delete its files; those that another process is about to put in place may come after. Returns how many were
        deleted, and their bytes.

        Raises:
            OSError: one of them cannot be deleted.
        """
        gone = list(self.files())
        for file in gone:
            file.path.unlink(missing_ok=True)
        self._unstage()
        return len(gone), sum(file.size for file in gone)

    def _unstage(self) -> None:
        """Delete staged files that no writer has touched for a day."""
        for file in self.files(ending=STAGED):
            if file.used < time.time() - DAY:
                with contextlib.suppress(OSError):
                    file.path.unlink()


FOLDERS = Cache("folders", "the images in folders", ".memo")
SLIDES = Cache("slides", "which tiles show tissue", ".windows")
STAINS = Cache("stains", "the stains of slides and bags", ".stains")
ARCHIVES = Cache("archives", "where files lie in tar archives", ".tarindex")
# How large it may grow is said by whoever fetches: see augrecipes.store.cache.
REMOTE = Cache("remote", "files of remote stores", ".fetched")
TRIALS = Cache("trials", "trainings that compare recipes", ".training")
CACHES = (FOLDERS, ARCHIVES, SLIDES, STAINS, TRIALS, REMOTE)


def now_ns() -> int:
    """The wall clock, in nanoseconds; here so that tests can move it."""
    return time.time_ns()


def settled(about: os.stat_result, now: int | None = None) -> bool:
    """Whether a file or folder was at rest by `now`, so that its times tell it from what it becomes later."""
    return max(about.st_mtime_ns, about.st_ctime_ns) < (now_ns() if now is None else now) - SETTLED_NS


def stamp_of(*abouts: os.stat_result) -> str | None:
    """What tells files from others, and from what they become; None while that cannot be told."""
    if not all(about.st_ino and settled(about) for about in abouts):
        return None
    return repr([(a.st_dev, a.st_ino, a.st_size, a.st_mtime_ns, a.st_ctime_ns) for a in abouts])


def stamp_of_file(path: str, what: str) -> str:
    """What tells a file that stays open from another one that takes its place.

    Args:
        path: of it.
        what: it should be, in words.

    Raises:
        DataError: there is none.
    """
    try:
        about = os.stat(path)  # noqa: PTH116  the text of a path that the user gave
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except (OSError, ValueError) as error:
        raise DataError(str(getattr(error, "strerror", None) or error), path) from None
    if not stat.S_ISREG(about.st_mode):
        raise DataError(f"is not a {what}: it is not a regular file", path)
    return file_stamp(about)


def file_stamp(about: os.stat_result) -> str:
    """What tells a file from what takes its place, on any machine: its size and time."""
    return f"{about.st_size} {about.st_mtime_ns}"


def memo(cache: Cache, key: str, stamp: str | None, make: Callable[[], Arrays]) -> Arrays:
    """What `make` finds, or what it has found under the same stamp before.

    Args:
        cache: where it is kept.
        key: of it.
        stamp: `stamp_of` what it is found in, before; None, and nothing is kept, while that cannot be told.
        make: finds it.
    """
    if stamp is not None and (known := recall(cache, key, stamp)) is not None:
        return known
    arrays = make()
    if stamp is not None:
        keep(cache, key, stamp, arrays)
    return arrays


def recall(cache: Cache, key: str, stamp: str) -> Arrays | None:
    """What was kept under a key with this stamp; None where nothing was."""
    data = cache.read(key)
    if data is None or data[:_DIGEST] != _digest(stamp, memoryview(data)[_DIGEST:]):
        return None
    import numpy as np

    with np.load(io.BytesIO(data[_DIGEST:]), allow_pickle=False) as file:
        arrays: Arrays = parsed(lambda: dict(file))
        return arrays


def keep(cache: Cache, key: str, stamp: str, arrays: Arrays) -> None:
    """Keep arrays under a key; where that cannot be done, the log says so once."""
    import numpy as np

    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    data = file.getvalue()
    cache.write(key, _digest(stamp, memoryview(data)) + data)


def _digest(stamp: str, data: memoryview) -> bytes:
    digest = blake2b(_RULES, digest_size=_DIGEST)
    digest.update(len(stamp).to_bytes(8, "little") + stamp.encode(errors="surrogateescape"))
    digest.update(data)
    return digest.digest()
