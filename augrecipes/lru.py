"""A thread-safe LRU cache, and files that stay open: within one process."""

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags for opening files: opening a pipe without a writer does not block."""
_POSITION = threading.Lock()


class LruCache(Generic[T]):
    """An LRU cache bounded by the number of items, or by their sizes; concurrent threads make each item once.

    A fork begins with an empty cache: a lock that another thread held would stay locked for ever.

    Args:
        most: the largest sum of sizes.
        size: returns the size of an item.

    Attributes:
        total: the current sum of sizes.

    >>> cache = LruCache(most=2)
    >>> [cache.get(key, lambda key=key: key * 10) for key in (1, 2, 3)], cache.peek(1), cache.total
    ([10, 20, 30], None, 2)
    """

    def __init__(self, most: int, size: Callable[[T], int] = lambda item: 1) -> None:
        self.most, self._size, self._inherited = most, size, list[Any]()
        self.clear()
        _caches.add(self)

    def clear(self) -> None:
        """Forget everything."""
        self.total, self._items, self._lock = 0, OrderedDict[Hashable, T](), threading.Lock()
        # The locks of items that threads are making.
        self._making = weakref.WeakValueDictionary[Hashable, threading.Lock]()

    def peek(self, key: Hashable) -> T | None:
        """Return the item of a key; None where it is not cached."""
        with self._lock:
            if (item := self._items.get(key)) is not None:
                self._items.move_to_end(key)
            return item

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the item of a key; where it is not cached, make it. Raises what `make` raises."""
        if (item := self.peek(key)) is not None:
            return item
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            if (item := self.peek(key)) is None:
                item = make()
                with self._lock:
                    self._add(key, item)
            return item

    def _add(self, key: Hashable, item: T) -> None:
        """Cache an item and evict others beyond the bound; the caller holds the lock."""
        self._items[key] = item
        self.total += self._size(item)
        while self.total > self.most and len(self._items) > 1:
            self.total -= self._size(self._items.popitem(last=False)[1])

    def forget(self, key: Hashable) -> None:
        """Drop the item of a key; `get` makes it anew."""
        with self._lock:
            if key in self._items:
                self.total -= self._size(self._items.pop(key))

    def __len__(self) -> int:
        return len(self._items)

    def begin_in_fork(self) -> None:
        """Forget everything, but keep the parent's items alive: closing them might wait for locks."""
        self._inherited.append(self._items)
        self.clear()


class OpenFiles(LruCache[T]):
    """A cache of open files, keyed by path and by the stamp that each had when it was listed.

    Args:
        open: opens a file, given its path and stamp.
        most: the number of open files; the least recently used is closed first, once nobody reads it any more.
    """

    def __init__(self, open: Callable[[str, str], T], most: int) -> None:
        super().__init__(most)
        self._open = open

    def at(self, path: str, stamp: str) -> T:
        """Return the open file at a path; open it where needed. Raises what `open` raises."""
        return self.get((path, stamp), lambda: self._open(path, stamp))


_caches: weakref.WeakSet[LruCache[Any]] = weakref.WeakSet()


def _begin_in_fork() -> None:
    for cache in list(_caches):
        cache.begin_in_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_fork)


class OpenFile:
    """The bytes of a file that stays open, read by slices; thread-safe and fork-safe.

    Reads use pread, so no file position is shared. A memory map would be as fast, but if another process truncates the
    file, the system kills the reader (SIGBUS); here a slice is then short.

    Args:
        file: its path, or a file descriptor, which is duplicated.
    """

    def __init__(self, file: str | int) -> None:
        self._handle = os.dup(file) if isinstance(file, int) else os.open(file, FLAGS)
        weakref.finalize(self, os.close, self._handle)

    def status(self) -> os.stat_result:
        """Return the current status of the open file, even if another file has its path by now."""
        return os.fstat(self._handle)

    def __len__(self) -> int:
        return self.status().st_size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(len(self))
        return self.read(start, stop - start)

    def read(self, start: int, count: int) -> bytes:
        """Read `count` bytes from `start` on, or fewer at the end of the file. Raises OSError."""
        data = self._piece(start, count)
        while 0 < len(data) < count and (more := self._piece(start + len(data), count - len(data))):
            data += more
        return data

    def _piece(self, start: int, count: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._handle, count, start)
        with _POSITION:  # Windows, which has no forks
            os.lseek(self._handle, start, os.SEEK_SET)
            return os.read(self._handle, count)
