"""Files that are open: a few in each process, those that were read last; for any number of threads.

Nothing that is open travels to other processes, and nothing that a parent had open is used after a fork: locks of other
threads would stay locked for ever in it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Opened = TypeVar("Opened")
_POSITION = threading.Lock()


class OpenFiles(Generic[Opened]):
    """The files of a kind that a process has open.

    Args:
        make: opens one: of a path, and what told the file from others when it was listed.
        most: so many; the one that was not read for longest is closed first, once nobody reads it any more.

    >>> files = OpenFiles(lambda path, stamp: f"{path}, open", most=1)
    >>> files.at("a.tar", "1"), files.at("b.tar", "1"), len(files)
    ('a.tar, open', 'b.tar, open', 1)
    """

    def __init__(self, make: Callable[[str, str], Opened], most: int) -> None:
        self.most, self._make, self._lost = most, make, list[Any]()
        self._begin()

    def _begin(self) -> None:
        self._open: OrderedDict[tuple[str, str], Opened] = OrderedDict()
        self._lock, self._process = threading.Lock(), os.getpid()

    def at(self, path: str, stamp: str) -> Opened:
        """The file at a path, opened where it is not; raises what `make` raises."""
        self._own()
        key = path, stamp
        with self._lock:
            found = self._open.get(key)
        made = self._make(path, stamp) if found is None else found
        with self._lock:
            found = self._open.setdefault(key, made)
            self._open.move_to_end(key)
            while len(self._open) > self.most:
                self._open.popitem(last=False)
        return found

    def forget(self, path: str, stamp: str) -> None:
        """Have a file opened anew when it is read next: another one of the same stamp may lie at its path by now."""
        self._own()
        with self._lock:
            self._open.pop((path, stamp), None)

    def _own(self) -> None:
        """In a fork: begin with no file."""
        if self._process != os.getpid():
            self._lost.append(self._open)  # closing might wait for locks
            self._begin()

    def __len__(self) -> int:
        return len(self._open)


def bytes_at(handle: int, place: int, many: int) -> bytes:
    """So many bytes of an open file from a place on, or as many as there are; OSError where they cannot be read.

    Reading moves no position that threads, or processes after a fork, would share.
    """
    found = _some_at(handle, place, many)
    while 0 < len(found) < many and (more := _some_at(handle, place + len(found), many - len(found))):
        found += more
    return found


def _some_at(handle: int, place: int, many: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(handle, many, place)
    with _POSITION:  # Windows, which has no forks
        os.lseek(handle, place, os.SEEK_SET)
        return os.read(handle, many)
