"""Whole files of elsewhere, kept on this machine: a bounded folder that several processes share.

    remote/
      STORE~NAME.fetched           a file, checked before it got this name
      .STORE~NAME.fetched.x.new    one that is being fetched
      00.lock to ff.lock           who fetches a file holds one of them, by the hash of its name
      room.lock                    held while files are removed, and one gets its name

A file is fetched under a name of its own, compared with what is known of it, made to last and renamed: whatever has its
own name is whole, whenever a process was killed. What was used least lately goes first; whoever has it mapped keeps it.
Beyond the bound there is no more than what is being fetched.
"""

from __future__ import annotations

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
_LOOK = 0.02  # seconds between two looks at a lock that another process holds
_TIMES = 2  # that a file which arrived damaged is fetched
_THREADS = 6  # that fetch ahead: more than files of a store come at a time, as the others compare what has come


class FileCache:
    """Files of elsewhere, in a folder of this machine that is no larger than so many bytes.

    Args:
        limit: bytes; None: what AUGRECIPES_CACHE_SIZE says, or half of what is free or taken by it.
        folder: None: that of `augrecipes.cache.REMOTE`.

    Raises:
        StoreError: nobody knows where the user's cache folder is, or AUGRECIPES_CACHE_SIZE says no size.
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
        """How many bytes all files may take."""
        if self._limit is None:
            place = next(place for place in (self.folder, *self.folder.absolute().parents) if place.exists())
            with store_errors(place):
                self._limit = (shutil.disk_usage(place).free + self._taken()) // 2
        return self._limit

    def place(self, store: str, name: str) -> Path:
        """Where a file of a store is, once it is here."""
        return self.folder / f"{quote(store, safe='')}~{quote(name, safe='')}{REMOTE.suffix}"

    def has(self, store: str, name: str, size: int) -> bool:
        """Whether a file is here."""
        with suppress(OSError):
            return self.place(store, name).stat().st_size == size
        return False

    def mapped(self, store: str, name: str, size: int, fetch: Callable[[Path], None]) -> mmap.mmap | bytes:
        """A file, mapped for reading: the one that is here, or, where there is none, the one that `fetch` writes.

        Args:
            store: what it is of: all that decides its bytes, such as a digest.
            name: of it in there.
            size: bytes.
            fetch: writes the whole file to a path, or raises an error.

        Raises:
            StoreError: the disk is full, the folder cannot be written to, or the file is larger than all may be.
        """
        path = self.place(store, name)
        try:
            if (mapped := self._here(path, size)) is not None:
                return mapped
            if size > self.limit:
                raise StoreError(
                    f"{name} has {size:,} bytes, and the cache of remote files may have {self.limit:,}: give it more "
                    f"with {SIZE} or cache_size=, or pack with smaller shards (--shard-size)",
                    str(self.folder),
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._lock(blake2b(path.name.encode()).hexdigest()[:2]):
                mapped = self._here(path, size)  # another process may have been quicker
                return self._fetched(path, size, fetch) if mapped is None else mapped
        except OSError as error:
            why = f"the cache of remote files cannot be used ({error.strerror or error}; {size:,} bytes are needed)"
            raise StoreError(f"{why}: make room, or give another folder with {CACHE}", str(self.folder)) from error

    def _here(self, path: Path, size: int) -> mmap.mmap | bytes | None:
        with suppress(FileNotFoundError, NotADirectoryError):
            if path.stat().st_size == size:
                with suppress(OSError):  # a cache that cannot be written can be read
                    os.utime(path)
                return _map(path, size)
            path.unlink()  # not ours: whatever is renamed is of its size
        return None

    def _fetched(self, path: Path, size: int, fetch: Callable[[Path], None]) -> mmap.mmap | bytes:
        for left in self.folder.glob(f".{glob.escape(path.name)}.*{paths.STAGED}"):
            left.unlink()  # of a process that was killed: who is alive has the lock
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
            # Mapped before others may take it away; on Windows nothing that is mapped is renamed.
            mapped = None if os.name == "nt" else _map(staged, size)
            with self._lock("room"):
                self._make_room(size)
                staged.replace(path)
            return _map(path, size) if mapped is None else mapped
        finally:
            with suppress(OSError):
                staged.unlink(missing_ok=True)

    def _make_room(self, size: int) -> None:
        if not self._evict(self._taken() + size - self.limit):
            raise StoreError(
                f"{size:,} bytes have no room in the cache of remote files, and what is there cannot be removed (is it "
                f"another user's?): give it more with {SIZE}, or another folder with {CACHE}",
                str(self.folder),
            )

    def _evict(self, excess: int) -> bool:
        """Removes what was used least lately, so many bytes or more; whether there was so much."""
        for file in sorted(REMOTE.files(self.folder), key=lambda file: file.used) if excess > 0 else ():
            with suppress(OSError):
                file.path.unlink()
                excess -= file.size
            if excess <= 0:
                break
        return excess <= 0

    def _taken(self) -> int:
        return sum(file.size for file in REMOTE.files(self.folder))

    def _lock(self, name: str) -> AbstractContextManager[object]:
        """Waits until nobody else, in any process, has this lock."""
        return FileLock(self.folder / f"{name}.lock", thread_local=False).acquire(poll_interval=_LOOK)


def _map(path: Path, size: int) -> mmap.mmap | bytes:
    """Maps a file for reading; what the system says against it names the cache in `FileCache.mapped`."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""


class Fetched:
    """The files of a store elsewhere: fetched whole when they are first needed, and compared with their checksums.

    Args:
        there: its address.
        digest: of the store: what is in the cache under it is of this store, wherever it was fetched from.
        cache: keeps the files.
    """

    def __init__(self, there: remote.RemotePath, digest: str, cache: FileCache) -> None:
        self.there, self.digest, self.cache = there, digest[:32], cache

    def has(self, name: str, size: int) -> bool:
        """Whether a file is here already."""
        return self.cache.has(self.digest, name, size)

    def mapped(self, name: str, size: int, checksum: int) -> mmap.mmap | bytes:
        """Maps a file, which was fetched now or before, and is what the index says.

        Raises:
            StoreError: it is not there, it is another by now, or cannot be fetched.
        """
        there = self.there / name

        def fetch(staged: Path) -> None:
            for _ in range(_TIMES):  # what arrives may have been cut on its way
                try:
                    there.fetch(staged)
                except OSError as error:
                    if error.errno in remote.OF_THE_DISK:  # which the cache names
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
    """Fetches files in order, in threads of its own, from now on.

    What cannot be fetched is left to whoever reads it, who says why.

    Args:
        fetches: each brings a file here, in the order in which they are needed first.
    """

    def __init__(self, fetches: Iterable[Callable[[], object]]) -> None:
        self._left = deque(fetches)
        for _ in range(min(_THREADS, len(self._left))):
            threading.Thread(target=self._fetch, daemon=True, name="augrecipes-ahead").start()

    def end(self) -> None:
        """Fetches nothing more; what is under way is finished by threads that nobody waits for."""
        self._left.clear()

    def _fetch(self) -> None:
        with suppress(IndexError):  # all are taken
            while True:
                fetch = self._left.popleft()
                with suppress(AugrecipesError, OSError):
                    fetch()
