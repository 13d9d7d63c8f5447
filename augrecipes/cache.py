"""Caches of what can be computed again: one folder each in the user's cache folder, never beside the user's data.

The cache folder is `AUGRECIPES_CACHE`, or else the system's place for caches. Entries are hints: readers must check
that they are still valid. Files are put in place by renaming, so that concurrent processes see complete files, and a
crash leaves at most a staged file, which is swept later. Where the folder cannot be written, everything works without
it, and a warning is logged once.

Only files with a cache's own suffix are ever deleted: other files in such a folder stay.

`memo` keeps arrays computed from files for as long as the files do not change: a digest of the arrays, the stamp and
the format, then an `.npz` file. An entry that is damaged, or of another stamp, counts as missing. Whoever can write to
the folder can forge entries: readers must not trust a path or a size from it.
"""

import contextlib
import io
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

from augrecipes.errors import DataError, logger, retry_parser
from augrecipes.paths import STAGED, write_file

if TYPE_CHECKING:  # checking a recipe does without numpy
    from numpy.typing import NDArray

CACHE = "AUGRECIPES_CACHE"
DAY = 86_400  # seconds
SWEEP_EVERY = 32
"""How many files this process writes to a cache between two sweeps of it."""
SETTLED_NS = 3_000_000_000
"""A file changed less than this ago may change again within one tick of its clock; FAT ticks every two seconds."""
_FORMAT = b"3"  # increased with each change of the format of entries
_DIGEST = 32

_warned: set[str] = set()
_written = Counter[str]()  # files that this process wrote, by cache
Arrays = Mapping[str, "NDArray[Any]"]


def cache_folder() -> Path:
    """Return the cache folder for augrecipes: `AUGRECIPES_CACHE`, or else a folder in the system's place for caches.

    Raises:
        OSError: the user's home folder is unknown.
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
    """Return a name for a file or folder that is the same for every path to it, and after a move.

    Raises:
        OSError: there is nothing at `path`.
    """
    about = os.stat(path)  # noqa: PTH116
    if about.st_ino:
        return f"{about.st_dev:x}-{about.st_ino:x}"
    return blake2b(os.path.realpath(os.fsencode(path))).hexdigest()[:32]  # some file systems have no inode numbers


@dataclass(frozen=True, slots=True)
class CacheFile:
    """A file of a cache.

    Attributes:
        path: its path.
        size: in bytes.
        used: the time of its last use, in seconds since 1970.
    """

    path: Path
    size: int
    used: float


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache: a folder of files that can be computed again.

    Attributes:
        name: its name, and that of its folder.
        about: what it holds, in a few words.
        suffix: the suffix of its files; must be unlike any suffix that users give to files.
        most_bytes: the bytes that all files may take together; the least recently used are deleted first.
        most_seconds: how long a file may stay unused.

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
        """The folder of its files; may not exist yet. OSError where there is no cache folder."""
        return cache_folder() / self.name

    def path(self, key: str) -> Path:
        """Return the path of the file of `key`. OSError where there is no cache folder."""
        return self.folder / (key + self.suffix)

    def read(self, key: str) -> bytes | None:
        """Read the entry of a key; None where there is none, or it cannot be read."""
        with contextlib.suppress(OSError):
            path = self.path(key)
            data = path.read_bytes()
            with contextlib.suppress(OSError):  # a cache that cannot be written can be read
                os.utime(path)  # marks the file as used
            return data
        return None

    def write(self, key: str, data: bytes) -> bool:
        """Write the entry of a key, and now and then sweep the cache.

        Args:
            key: the file's name, without the suffix.
            data: the file's content.

        Returns:
            Whether it was written; a failure is logged once.
        """
        try:
            path = self.path(key)
            write_file(path, data, lasting=False)
            if _written[self.name] % SWEEP_EVERY == 0:  # listing all files at each write would be slow
                self.sweep(keep=path)
            _written[self.name] += 1
        except OSError as error:
            self.unwritable(error)
            return False
        return True

    def unwritable(self, error: OSError) -> None:
        """Warn, once per process and reason, that nothing is cached."""
        where = error.filename2 or error.filename or self.name
        reason = error.strerror or str(error)
        if reason not in _warned:
            _warned.add(reason)
            logger.warning(
                "the cache folder cannot be written (%s: %s): nothing is kept from run to run, which costs time alone; "
                "%s names another folder",
                os.fsdecode(where),
                reason,
                CACHE,
            )

    def files(self, folder: Path | None = None, ending: str = "") -> Iterator[CacheFile]:
        """Yield its files, in no order and without staged ones; or those of another `folder` or `ending`."""
        with contextlib.suppress(OSError), os.scandir(folder or self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # another process sweeps, too
                    if entry.name.endswith(ending or self.suffix) and entry.is_file(follow_symlinks=False):
                        about = entry.stat(follow_symlinks=False)
                        yield CacheFile(Path(entry.path), about.st_size, about.st_mtime)

    def sweep(self, keep: Path | None = None) -> None:
        """Delete expired files, staged files of killed writers, and the least recently used files beyond the limit.

        Args:
            keep: a file that is never deleted.
        """
        now, room = time.time(), self.most_bytes
        for file in sorted(self.files(), key=lambda file: (file.path == keep, file.used), reverse=True):
            room -= file.size
            if file.path != keep and (room < 0 or file.used < now - self.most_seconds):
                with contextlib.suppress(OSError):
                    file.path.unlink()
        self._unstage()

    def clear(self) -> tuple[int, int]:
        """Delete its files; return how many, and their bytes. Another process may write new ones meanwhile.

        Raises:
            OSError: a file cannot be deleted.
        """
        files = list(self.files())
        for file in files:
            file.path.unlink(missing_ok=True)
        self._unstage()
        return len(files), sum(file.size for file in files)

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
# Its size is bounded by augrecipes.store.cache.
REMOTE = Cache("remote", "files of remote stores", ".fetched")
TRIALS = Cache("trials", "trainings that compare recipes", ".training")
CACHES = (FOLDERS, ARCHIVES, SLIDES, STAINS, TRIALS, REMOTE)


def now_ns() -> int:
    """Return the wall clock in nanoseconds; a function so that tests can replace it."""
    return time.time_ns()


def settled(about: os.stat_result, now: int | None = None) -> bool:
    """Whether a file or folder has not changed just before `now`, so that any later change shows in its times."""
    return max(about.st_mtime_ns, about.st_ctime_ns) < (now_ns() if now is None else now) - SETTLED_NS


def stamp_of(*stats: os.stat_result) -> str | None:
    """Return a stamp of files, which differs once any of them changes; None while they have changed too recently."""
    if not all(about.st_ino and settled(about) for about in stats):
        return None
    return repr([(a.st_dev, a.st_ino, a.st_size, a.st_mtime_ns, a.st_ctime_ns) for a in stats])


def stamp_of_file(path: str, what: str) -> str:
    """Return the stamp of a regular file, which differs once another file replaces it.

    Args:
        path: the file.
        what: what the file should be, in words, for errors.

    Raises:
        DataError: there is no such file.
    """
    try:
        about = os.stat(path)  # noqa: PTH116  keeps the path as the user wrote it
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except (OSError, ValueError) as error:
        raise DataError(str(getattr(error, "strerror", None) or error), path) from None
    if not stat.S_ISREG(about.st_mode):
        raise DataError(f"is not a {what}: it is not a regular file", path)
    return file_stamp(about)


def file_stamp(about: os.stat_result) -> str:
    """Return a file's size and modification time as a stamp, which is the same on all machines."""
    return f"{about.st_size} {about.st_mtime_ns}"


def memo(cache: Cache, key: str, stamp: str | None, make: Callable[[], Arrays]) -> Arrays:
    """Return what `make` returns; cached under a key and a stamp.

    Args:
        cache: the cache to use.
        key: the entry's key.
        stamp: `stamp_of` the files that `make` reads, taken before; None: cache nothing.
        make: computes the arrays.
    """
    if stamp is not None and (known := recall(cache, key, stamp)) is not None:
        return known
    arrays = make()
    if stamp is not None:
        keep(cache, key, stamp, arrays)
    return arrays


def recall(cache: Cache, key: str, stamp: str) -> Arrays | None:
    """Return the arrays cached under a key with this stamp; None where there are none."""
    data = cache.read(key)
    if data is None or data[:_DIGEST] != _digest(stamp, memoryview(data)[_DIGEST:]):
        return None
    import numpy as np

    with np.load(io.BytesIO(data[_DIGEST:]), allow_pickle=False) as file:
        return retry_parser(lambda: dict(file))


def keep(cache: Cache, key: str, stamp: str, arrays: Arrays) -> None:
    """Cache arrays under a key and a stamp; a failure is logged once."""
    import numpy as np

    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    data = file.getvalue()
    cache.write(key, _digest(stamp, memoryview(data)) + data)


def _digest(stamp: str, data: memoryview) -> bytes:
    digest = blake2b(_FORMAT, digest_size=_DIGEST)
    digest.update(len(stamp).to_bytes(8, "little") + stamp.encode(errors="surrogateescape"))
    digest.update(data)
    return digest.digest()
