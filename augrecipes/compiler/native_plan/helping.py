"""Threads that work on one batch: whoever has nothing left to take helps another with what that is at."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Work = Callable[[], object]
T = TypeVar("T")
_here = threading.local()


class HelpingThreads:
    """So many threads, `count`, each of which enters with `at_work`.

    >>> threads, left = HelpingThreads(1), [3, 2, 1]
    >>> with threads.at_work():
    ...     of_this_thread().share(left.clear, left.clear)
    >>> left
    []
    """

    def __init__(self, count: int) -> None:
        self.count, self._busy = count, count
        self._changed, self._open = threading.Condition(), dict[object, Work]()
        self._helped = Counter[object]()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Inside this thread works; at the end it helps the others until none is at work."""
        _here.threads = self
        try:
            yield
        finally:
            _here.threads = None
            self._help()

    def share(self, work: Work, helping: Work) -> None:
        """Do some work that others may help with, until all of it is done.

        Args:
            work: what this thread does; returns when nothing is left to begin.
            helping: what others do meanwhile, each in its own thread; the same.
        """
        key = object()
        with self._changed:
            self._open[key] = helping
            self._changed.notify_all()
        try:
            work()
        finally:
            with self._changed:
                self._open.pop(key, None)
                self._changed.wait_for(lambda: not self._helped[key])

    def _help(self) -> None:
        with self._changed:
            self._busy -= 1
            self._changed.notify_all()
            while True:
                self._changed.wait_for(lambda: self._open or not self._busy)
                if not self._open:
                    return
                key, helping = next(iter(self._open.items()))
                self._helped[key] += 1
                self._changed.release()
                try:
                    helping()
                finally:
                    self._changed.acquire()
                    self._open.pop(key, None)  # nothing is left of it to begin
                    self._helped[key] -= 1
                    self._changed.notify_all()


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


def of_this_thread() -> HelpingThreads | None:
    """The threads that this one works with."""
    return getattr(_here, "threads", None)
