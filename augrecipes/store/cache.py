"""A bounded cache of remote files on this machine, in a folder that several processes share.

    remote/
      STORE~NAME.fetched           a complete file, checked before it got this name
      .STORE~NAME.fetched.x.new    a file that is being fetched
      00.lock to ff.lock           held while a file is fetched: the lock is chosen by the hash of the file's name
      room.lock                    held while files are evicted, and while a fetched file is renamed

A file is fetched under a temporary name, compared with its size and checksum, synced to disk and renamed: so a file
under its final name is complete, even if a process was killed. The least recently used file is evicted first; processes
that have it mapped keep their mapping. Only files that are being fetched may exceed the bound.
"""

import glob
import mmap
import os
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock

from augrecipes import machine, paths, remote
from augrecipes.cache import CACHE, REMOTE
from augrecipes.errors import AugrecipesError, StoreError
from augrecipes.store.disk import file_record, store_errors

SIZE = "AUGRECIPES_CACHE_SIZE"
_LOOK = 0.02  # seconds between two attempts to take a lock that another process holds
_TIMES = 2  # attempts to fetch a file that arrives damaged
_THREADS = 6  # for reading ahead: while some wait for the network, others compute checksums


class FileCache:
    """An LRU cache of remote files, in a local folder of bounded size.

    Args:
        limit: the bound in bytes; None: AUGRECIPES_CACHE_SIZE, or half of the free space and the cache together.
        folder: the cache's folder; None: that of `augrecipes.cache.REMOTE`.

    Raises:
        StoreError: there is no cache folder for this user, or AUGRECIPES_CACHE_SIZE is not a size.
    """

    def __init__(self, limit: int | None = None, folder: Path | None = None) -> None:
        if limit is None and (text := os.environ.get(SIZE, "")):
            try:
                limit = machine.parse_size(text)
            except StoreError as error:
                raise StoreError(f"{SIZE}: {error}") from None
        if folder is None:
            try:
                folder = REMOTE.folder
            except OSError as error:
                raise StoreError(f"there is no cache folder ({error}): say one with {CACHE}") from None
        self.folder, self._limit = folder, limit

    @property
    def limit(self) -> int:
        """The bytes that all files together may take."""
        if self._limit is None:
            place = next(place for place in (self.folder, *self.folder.absolute().parents) if place.exists())
            with store_errors(place):
                self._limit = (shutil.disk_usage(place).free + self._used()) // 2
        return self._limit

    def place(self, store: str, name: str) -> Path:
        """Return the path that a file of a store has once it is cached."""
        return self.folder / f"{quote(store, safe='')}~{quote(name, safe='')}{REMOTE.suffix}"

    def has(self, store: str, name: str, size: int) -> bool:
        """Whether a file is cached."""
        with suppress(OSError):
            return self.place(store, name).stat().st_size == size
        return False

    def mapped(self, store: str, name: str, size: int, fetch: Callable[[Path], None]) -> mmap.mmap | bytes:
        """Map a file for reading: the cached file or, where there is none, the one that `fetch` writes.

        Args:
            store: a key that determines the file's bytes, such as the store's digest.
            name: the file's name in the store.
            size: the file's size in bytes.
            fetch: writes the whole file to a path, or raises an error.

        Raises:
            StoreError: the disk is full, the folder cannot be written to, or the file is larger than the bound.
        """
        path = self.place(store, name)
        try:
            if (mapped := self._cached(path, size)) is not None:
                return mapped
            if size > self.limit:
                raise StoreError(
                    f"{name} has {size:,} bytes, and the cache of remote files may have {self.limit:,}: give it more "
                    f"with {SIZE} or cache_size=, or pack with smaller shards (--shard-size)",
                    str(self.folder),
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._lock(blake2b(path.name.encode()).hexdigest()[:2]):
                mapped = self._cached(path, size)  # another process may have been quicker
                return self._fetch(path, size, fetch) if mapped is None else mapped
        except OSError as error:
            why = f"the cache of remote files cannot be used ({error.strerror or error}; {size:,} bytes are needed)"
            raise StoreError(f"{why}: make room, or give another folder with {CACHE}", str(self.folder)) from error

    def _cached(self, path: Path, size: int) -> mmap.mmap | bytes | None:
        with suppress(FileNotFoundError, NotADirectoryError):
            if path.stat().st_size == size:
                with suppress(OSError):  # a cache that cannot be written can be read
                    os.utime(path)
                return _map(path, size)
            path.unlink()  # not ours: a file has its full size before it is renamed
        return None

    def _fetch(self, path: Path, size: int, fetch: Callable[[Path], None]) -> mmap.mmap | bytes:
        for stale in self.folder.glob(f".{glob.escape(path.name)}.*{paths.STAGED}"):
            stale.unlink()  # of a process that was killed: a live one would hold the lock
        with self._lock("room"):
            self._make_room(size)
        handle, name = tempfile.mkstemp(paths.STAGED, f".{path.name}.", self.folder)
        os.close(handle)
        staged = Path(name)
        try:
            fetch(staged)
            with staged.open("rb+") as file:
                os.fsync(file.fileno())
            staged.chmod(0o444)
            # Map the file before others can evict it; Windows does not rename a mapped file.
            mapped = None if os.name == "nt" else _map(staged, size)
            with self._lock("room"):
                self._make_room(size)
                staged.replace(path)
            return _map(path, size) if mapped is None else mapped
        finally:
            with suppress(OSError):
                staged.unlink(missing_ok=True)

    def _make_room(self, size: int) -> None:
        if not self._evict(self._used() + size - self.limit):
            raise StoreError(
                f"{size:,} bytes have no room in the cache of remote files, and what is there cannot be removed (is it "
                f"another user's?): give it more with {SIZE}, or another folder with {CACHE}",
                str(self.folder),
            )

    def _evict(self, excess: int) -> bool:
        """Remove the least recently used files, at least `excess` bytes; False where there is less to remove."""
        for file in sorted(REMOTE.files(self.folder), key=lambda file: file.used) if excess > 0 else ():
            with suppress(OSError):
                file.path.unlink()
                excess -= file.size
            if excess <= 0:
                break
        return excess <= 0

    def _used(self) -> int:
        return sum(file.size for file in REMOTE.files(self.folder))

    def _lock(self, name: str) -> AbstractContextManager[object]:
        """Take a lock, waiting until no thread or process holds it."""
        return FileLock(self.folder / f"{name}.lock", thread_local=False).acquire(poll_interval=_LOOK)


def _map(path: Path, size: int) -> mmap.mmap | bytes:
    """Map a file for reading; `FileCache.mapped` turns an OSError into a StoreError that names the cache."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""


class RemoteFiles:
    """The files of a remote store: each is fetched whole when first needed, and compared with its checksum.

    Args:
        there: the store's address.
        digest: the store's digest, which keys its files in the cache, whatever address they came from.
        cache: holds the files.
    """

    def __init__(self, there: remote.RemotePath, digest: str, cache: FileCache) -> None:
        self.there, self.digest, self.cache = there, digest[:32], cache

    def has(self, name: str, size: int) -> bool:
        """Whether a file is cached already."""
        return self.cache.has(self.digest, name, size)

    def mapped(self, name: str, size: int, checksum: int) -> mmap.mmap | bytes:
        """Map a file; fetch it first where it is not cached, and check it against the index.

        Raises:
            StoreError: the file is missing, was replaced since, or cannot be fetched.
        """
        there = self.there / name

        def fetch(staged: Path) -> None:
            for _ in range(_TIMES):  # a transfer may be cut short
                try:
                    there.fetch(staged)
                except OSError as error:
                    if error.errno in remote.DISK_ERRORS:  # `FileCache.mapped` names the cache
                        raise
                    with store_errors(there):
                        raise
                if file_record(staged) == {"size": size, "checksum": checksum}:
                    return
            raise StoreError(
                "is not the file that the store's index speaks of: it was changed or damaged since; open the store "
                "again, and where that does not help, copy or pack it again",
                str(there),
            )

        return self.cache.mapped(self.digest, name, size, fetch)


class ReadAhead:
    """Fetches files in order, in background threads that start at once.

    A failed fetch is ignored: the reader fetches the file again, and raises the error.

    Args:
        fetches: each fetches one file; in the order in which the files are needed.
    """

    def __init__(self, fetches: Iterable[Callable[[], object]]) -> None:
        self._queue = deque(fetches)
        for _ in range(min(_THREADS, len(self._queue))):
            threading.Thread(target=self._fetch, daemon=True, name="augrecipes-ahead").start()

    def end(self) -> None:
        """Start no more fetches; daemon threads finish those that are under way."""
        self._queue.clear()

    def _fetch(self) -> None:
        with suppress(IndexError):  # the queue is empty
            while True:
                fetch = self._queue.popleft()
                with suppress(AugrecipesError, OSError):
                    fetch()
