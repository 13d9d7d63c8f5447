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

import errno
import glob
import mmap
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock

from augrecipes.cache import CACHE, REMOTE
from augrecipes.errors import AugrecipesError, StoreError
from augrecipes.machine import bytes_of
from augrecipes.paths import STAGED
from augrecipes.remote_requests import RemoteError
from augrecipes.store.disk import map_file, naming

SIZE = "AUGRECIPES_CACHE_SIZE"
_LOOK = 0.02  # seconds between two looks at a lock that another process holds
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
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
        if limit is None and (said := os.environ.get(SIZE, "")):
            try:
                limit = bytes_of(said)
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
            with naming(place):
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
        if (found := self._here(path, size)) is not None:
            return found
        if size > self.limit:
            raise StoreError(
                f"{name} has {size:,} bytes, and the cache of remote files may have {self.limit:,}: give it more with "
                f"{SIZE} or cache_size=, or pack with smaller shards (--shard-size)",
                str(self.folder),
            )
        with self._saying_why(size):
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._lock(blake2b(path.name.encode()).hexdigest()[:2]):
                found = self._here(path, size)  # another process may have been quicker
                if found is None and (found := self._fetched(path, size, fetch)) is None:
                    found = self._here(path, size)
        if found is None:
            raise StoreError("was taken away as soon as it was fetched: who clears this folder?", str(path))
        return found

    def _here(self, path: Path, size: int) -> mmap.mmap | bytes | None:
        try:
            if path.stat().st_size != size:  # not ours: whatever is renamed is of its size
                path.unlink()
                return None
            with suppress(OSError):  # a cache that cannot be written can be read
                os.utime(path)
            return map_file(path, size)
        except (OSError, StoreError) as error:
            if isinstance(_cause(error), FileNotFoundError | NotADirectoryError):
                return None
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"cannot be read: {error.strerror or error}", str(path)) from None

    def _fetched(self, path: Path, size: int, fetch: Callable[[Path], None]) -> mmap.mmap | bytes | None:
        for left in self.folder.glob(f".{glob.escape(path.name)}.*{STAGED}"):
            left.unlink()  # of a process that was killed: who is alive has the lock
        with self._lock("room"):
            self._make_room(size)
        handle, name = tempfile.mkstemp(STAGED, f".{path.name}.", self.folder)
        os.close(handle)
        staged = Path(name)
        try:
            try:
                fetch(staged)
            except (OSError, StoreError) as error:  # others need the disk, too, and it is they who have grown
                if getattr(_cause(error), "errno", None) not in _FULL or not self._evict(size):
                    raise
                fetch(staged)
            with staged.open("rb+") as file:
                os.fsync(file.fileno())
            staged.chmod(0o444)
            # Mapped before others may take it away; on Windows nothing that is mapped is renamed.
            found = None if os.name == "nt" else map_file(staged, size)
            with self._lock("room"):
                self._make_room(size)
                staged.replace(path)
            return found
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

    @contextmanager
    def _saying_why(self, size: int) -> Iterator[None]:
        """Says what to do about what cannot be written here; what is wrong with the server is said already."""
        try:
            yield
        except (OSError, StoreError) as error:
            cause = _cause(error)
            here = str(getattr(cause, "filename", None)).startswith(str(self.folder))
            if cause is None or (isinstance(cause, RemoteError | FileNotFoundError | PermissionError) and not here):
                raise
            why = f"the cache of remote files cannot be written: {cause.strerror or cause}; give"
            if cause.errno in _FULL:
                why = f"the disk of the cache of remote files is full: {size:,} bytes are needed; make room, give the "
                why += f"cache less with {SIZE}, or"
            raise StoreError(f"{why} another folder with {CACHE}", str(self.folder)) from cause


def _cause(error: OSError | StoreError) -> OSError | None:
    """What the system said."""
    cause = error.__cause__ if isinstance(error, StoreError) else error
    return cause if isinstance(cause, OSError) else None


@dataclass(frozen=True, slots=True)
class Needed:
    """A file that will be needed.

    Attributes:
        place: when: a number that grows as reading goes on.
        size: bytes.
        fetch: brings it here, where it is not yet.
    """

    place: int
    size: int
    fetch: Callable[[], object]


class ReadAhead:
    """Fetches files in order, as far ahead of reading as they may lie unread. Threads start with `reached`.

    What cannot be fetched is left to whoever reads it, who says why.

    Args:
        needed: the files, in the order in which they are needed first.
        room: how many bytes may have been fetched of files that are not needed yet; None: all, which stay.
    """

    def __init__(self, needed: Sequence[Needed], room: int | None) -> None:
        self._left, self._room, self._place, self._ended = list(reversed(needed)), room, -1, False
        self._ahead: list[Needed] = []
        self._moved = threading.Condition()
        self._threads: list[threading.Thread] = []

    def reached(self, place: int) -> None:
        """Says how far reading has come."""
        with self._moved:
            self._place = place
            self._ahead = [one for one in self._ahead if one.place > place]
            self._moved.notify_all()
        if self._left and not self._threads and not self._ended:
            self._threads = [
                threading.Thread(target=self._work, daemon=True, name="augrecipes-ahead") for _ in range(_THREADS)
            ]
            for thread in self._threads:
                thread.start()

    def end(self) -> None:
        """Fetches nothing more; what is under way is finished by threads that nobody waits for."""
        with self._moved:
            self._ended = True
            self._moved.notify_all()

    def _work(self) -> None:
        while (one := self._taken()) is not None:
            with suppress(AugrecipesError, OSError):
                one.fetch()

    def _taken(self) -> Needed | None:
        """The next file, once there is room for it; None where nothing is left to do."""
        with self._moved:
            while not self._ended and self._left:
                one = self._left[-1]
                if self._room is not None and one.place < self._place:  # read by now, and maybe gone again
                    self._left.pop()
                    continue
                # Of what reading waits for already, or is about to, there is always room.
                fits = self._room is None or sum(other.size for other in self._ahead) + one.size <= self._room
                if fits or not self._ahead or one.place <= self._place:
                    self._left.pop()
                    if one.place > self._place:
                        self._ahead.append(one)
                    return one
                self._moved.wait()
            return None
