"""For each thread that asks a copy of its own of something that holds state; kept for the thread that comes after."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ThreadCopies(Generic[T]):
    """Copies by threads. A thread that bears the number of one that has ended goes on with its copy.

    So they outlive threads that read one epoch each, of which the next ones bear the same numbers. After a fork none is
    taken over: the thread that was at it is not there to finish.
    """

    def __init__(self) -> None:
        self._copies: dict[tuple[int, int], T] = {}

    def of_this_thread(self, make: Callable[[], T]) -> T:
        """The copy of the thread that asks; `make` makes one where there is none, and those of no thread go."""
        key = os.getpid(), threading.get_ident()
        if key not in self._copies:
            threading.current_thread()  # asked for, threads that others have started are counted below, too
            for gone in {*self._copies} - {(key[0], thread.ident or 0) for thread in threading.enumerate()}:
                self._copies.pop(gone, None)
            self._copies[key] = make()
        return self._copies[key]
