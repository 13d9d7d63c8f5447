"""Threads that work on one batch: whoever has nothing left to take helps another with what that is at.

An interrupt may come between any two calls of the main thread: what is waited for here is in C, and whoever waits for
the end looks up now and then.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TypeVar

Work = Callable[[], object]
T = TypeVar("T")
_LOOK_UP = 0.1  # seconds
_here = threading.local()


class SharingThreads:
    """So many threads, `count`, each of which enters with `at_work`.

    >>> threads, left = SharingThreads(1), [3, 2, 1]
    >>> with threads.at_work():
    ...     of_this_thread().share(left.clear, left.clear)
    >>> left
    []
    """

    def __init__(self, count: int) -> None:
        self.count, self.ended, self._busy = count, False, count
        self._lock, self._shared = threading.Lock(), SimpleQueue[_SharedWork | None]()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Inside this thread works; at the end it helps the others until none is at work."""
        before, _here.threads = of_this_thread(), self
        try:
            yield
        finally:
            _here.threads = before
            with self._lock:
                self._busy -= 1
            if not self._busy:
                self.end()
            self._help()

    def share(self, work: Work, helping: Work) -> None:
        """Do some work that others may help with, until all of it is done.

        Args:
            work: what this thread does; returns when nothing is left to begin.
            helping: what others do meanwhile, each in its own thread; the same.
        """
        if self.ended:
            work()
            return
        shared = _SharedWork(helping)
        for _ in range(self.count - 1):
            self._shared.put(shared)
        try:
            work()
        finally:
            shared.close()

    def end(self) -> None:
        """Nobody helps any more, once they are done with what they are at."""
        self.ended = True
        for _ in range(self.count):
            self._shared.put(None)

    def _help(self) -> None:
        while True:
            try:
                shared = self._shared.get(timeout=_LOOK_UP)
            except Empty:
                shared = None
            if shared is not None:
                shared.help()
            elif self.ended:
                return


class _SharedWork:
    """Work that others may help with until it is closed."""

    def __init__(self, helping: Work) -> None:
        self._lock, self._left = threading.Lock(), SimpleQueue[None]()
        self._helping: Work | None = helping
        self._begun = 0

    def help(self) -> None:
        begun = False
        try:
            with self._lock:
                if (helping := self._helping) is None:
                    return
                self._begun += 1
                begun = True
            helping()
        finally:
            if begun:
                self._left.put(None)

    def close(self) -> None:
        """Let nobody begin any more, and wait for those who have."""
        with self._lock:
            self._helping = None  # nor is what it holds kept until somebody has time to find this closed
        for _ in range(self._begun):
            self._left.get()


def mapped(make: Callable[[int], T], numbers: Sequence[int]) -> list[T | None]:
    """What a function gives for each of some numbers, made by this thread and those that help it."""
    threads, turn, found = of_this_thread(), itertools.count(), list[T | None]([None] * len(numbers))

    def work() -> None:
        while (at := next(turn)) < len(numbers):
            found[at] = make(numbers[at])

    if threads is None or len(numbers) < 2:
        work()
    else:
        threads.share(work, work)
    return found


def of_this_thread() -> SharingThreads | None:
    """The threads that this one works with."""
    return getattr(_here, "threads", None)
