"""Whole files of elsewhere, kept on this machine: a bounded folder that several processes share.

    remote/
      STORE~NAME.fetched           a file, checked before it got this name
      .STORE~NAME.fetched.SIZE.x.new    one that is being fetched; who fetches it holds its lock
      HASH.lock, room.lock

A file is fetched under a name of its own, compared with what is known of it, made to last and renamed: whatever has its
own name is whole, whenever a process was killed. What was used least lately goes first; whoever has it mapped keeps it.
"""

from __future__ import annotations

import errno
import mmap
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

from augrecipes.atomic import STAGED
from augrecipes.caches import CACHE, REMOTE
from augrecipes.errors import StoreError
from augrecipes.machine import bytes_of
from augrecipes.store.disk import HeldError, Lock, map_file, naming

SIZE = "AUGRECIPES_CACHE_SIZE"
_LOCK = ".lock"
_LOOK = 0.01, 0.05  # seconds between two looks at a lock that another process holds: at first, and at most
# The file that is being fetched, and its bytes; others' files may lie in this folder, too.
_STAGED = re.compile(rf"\.(.+{re.escape(REMOTE.suffix)})\.([0-9]+)\.\w+{re.escape(STAGED)}")
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
_freed = threading.Condition()  # notified when a thread of this process lets go of a lock


def _renew() -> None:
    """In a fork: the condition that a thread which is not here may have held."""
    global _freed  # noqa: PLW0603
    _freed = threading.Condition()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


class FileCache:
    """Files of elsewhere, in a folder of this machine that is no larger than so many bytes.

    Args:
        limit: bytes; None: what AUGRECIPES_CACHE_SIZE says, or half of what is free or taken by it.
        folder: None: that of `augrecipes.caches.REMOTE`.

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
        with self._writing():
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked(self._lock_of(path)):
            if (found := self._here(path, size)) is not None:  # another process was quicker
                return found
            found = self._bring(path, size, fetch)
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
        except (FileNotFoundError, NotADirectoryError):
            return None
        except StoreError as error:
            if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
                return None
            raise
        except OSError as error:
            raise StoreError(f"cannot be read: {error.strerror or error}", str(path)) from None

    def _bring(self, path: Path, size: int, fetch: Callable[[Path], None]) -> mmap.mmap | bytes | None:
        staged = self._reserved(path, size)
        try:
            self._fetched(staged, size, fetch)
            with staged.open("rb+") as file:
                os.fsync(file.fileno())
            staged.chmod(0o444)
            # Mapped before it has its name, by which others that need room may take it away at once; on Windows nothing
            # that is mapped is renamed, nor taken away.
            with self._writing(size):
                found = map_file(staged, size) if os.name != "nt" and staged.stat().st_size == size else None
            staged.replace(path)
            return self._here(path, size) if found is None else found
        except OSError as error:
            if error.errno is None:  # of the server
                raise
            raise StoreError(self._why(error, size), str(self.folder)) from error
        finally:
            with suppress(OSError):
                staged.unlink(missing_ok=True)

    def _fetched(self, staged: Path, size: int, fetch: Callable[[Path], None]) -> None:
        for again in (True, False):
            try:
                fetch(staged)
            except (OSError, StoreError) as error:
                cause = error.__cause__ if isinstance(error, StoreError) else error
                full = getattr(cause, "errno", None) in _FULL
                if again and full and self._cleared(size):
                    continue  # others need the disk, too, and it is they who have grown
                here = getattr(cause, "errno", None) == errno.EFBIG or getattr(cause, "filename", None) == str(staged)
                if full or here:  # and not of the server
                    raise StoreError(self._why(cause, size), str(self.folder)) from cause
                raise
            return

    def _reserved(self, path: Path, size: int) -> Path:
        """A name for a file that is being fetched, once there is room for it."""
        wait = _LOOK[0]
        while True:
            with self._locked(self.folder / f"room{_LOCK}"), self._writing(size):
                under_way = self._under_way(path)
                if self._evict(self._taken() + sum(under_way.values()) + size - self.limit):
                    handle, name = tempfile.mkstemp(STAGED, f".{path.name}.{size}.", path.parent)
                    os.close(handle)
                    return Path(name)
                if not under_way:
                    raise StoreError(
                        f"{size:,} bytes have no room in the cache of remote files, and what is there cannot be "
                        f"removed (is it another user's?): give it more with {SIZE}, or another folder with {CACHE}",
                        str(self.folder),
                    )
            time.sleep(wait)  # until others are done with what they fetch, which can go then
            wait = min(2 * wait, _LOOK[1])

    def _evict(self, excess: int) -> bool:
        """Removes what was used least lately, so many bytes or more; whether there was so much."""
        for file in sorted(REMOTE.files(self.folder), key=lambda file: file.used) if excess > 0 else ():
            with suppress(OSError):
                file.path.unlink()
                excess -= file.size
            if excess <= 0:
                break
        return excess <= 0

    def _cleared(self, size: int) -> bool:
        with self._locked(self.folder / f"room{_LOCK}"):
            return self._evict(size)

    def _taken(self) -> int:
        return sum(file.size for file in REMOTE.files(self.folder))

    def _under_way(self, mine: Path) -> dict[Path, int]:
        """What others are fetching, and how large it will be; what nobody fetches any more is removed.

        Args:
            mine: a file whose lock is held by who asks: what is staged for it is of one that was killed.
        """
        found = {}
        for path in list(self.folder.iterdir()):
            if (match := _STAGED.fullmatch(path.name)) is None:
                continue
            held = None
            if match[1] != mine.name:
                try:
                    held = Lock(self._lock_of(path.with_name(match[1])))
                except HeldError:
                    found[path] = int(match[2])
                    continue
            with suppress(OSError):
                path.unlink()
            if held is not None:
                _let_go(held)
        return found

    def _lock_of(self, path: Path) -> Path:
        name = blake2b(path.name.encode()).hexdigest()[:32]
        return self.folder / f"{name}{_LOCK}"

    @contextmanager
    def _locked(self, path: Path) -> Iterator[None]:
        """Waits until nobody else in any process has this lock."""
        wait, lock = _LOOK[0], None
        while lock is None:
            with _freed:  # whoever lets go of it in this process does so before the look, or wakes who waits
                try:
                    with self._writing():
                        lock = Lock(path)
                except HeldError:
                    _freed.wait(wait)
                    wait = min(2 * wait, _LOOK[1])
        try:
            yield
        finally:
            _let_go(lock)

    @contextmanager
    def _writing(self, size: int = 0) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(self._why(error, size), str(self.folder)) from error
        except StoreError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            raise StoreError(self._why(error.__cause__, size), str(self.folder)) from error.__cause__

    def _why(self, error: Any, size: int) -> str:
        if error.errno in _FULL:
            return (
                f"the disk of the cache of remote files is full: {size:,} bytes are needed; make room, give the cache "
                f"less with {SIZE}, or another folder with {CACHE}"
            )
        why = error.strerror or error
        return f"the cache of remote files cannot be written: {why}; give another folder with {CACHE}"


def _let_go(lock: Lock) -> None:
    with suppress(OSError):
        lock.path.unlink()
    lock.release()
    with _freed:
        _freed.notify_all()
