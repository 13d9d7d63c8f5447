"""What took time to make, kept for the next request: the least recently used goes first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """So many things, or things of so many bytes, by key; each is made once, also when several threads ask for it.

    >>> kept = Kept(most=2)
    >>> [kept.get(key, lambda key=key: key * 10) for key in (1, 2, 3)], len(kept)
    ([10, 20, 30], 2)
    """

    def __init__(self, most: int, size: Callable[[T], int] = lambda thing: 1) -> None:
        self._most, self._size, self._sum = most, size, 0
        self._things: OrderedDict[Hashable, T] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._things)

    @property
    def total(self) -> int:
        """The sum of the sizes."""
        return self._sum

    def forget(self, key: Hashable) -> None:
        """Let the next `get` make it anew."""
        with self._lock:
            if key in self._things:
                self._sum -= self._size(self._things.pop(key))

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The thing of a key; made where it is not there, and what making it raises is raised."""
        with self._lock:
            if key in self._things:
                self._things.move_to_end(key)
                return self._things[key]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._things:
                    return self._things[key]
            try:
                thing = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            size = self._size(thing)
            with self._lock:
                if key not in self._things:
                    self._things[key] = thing
                    self._sum += size
                while self._sum > self._most and len(self._things) > 1:
                    _, gone = self._things.popitem(last=False)
                    self._sum -= self._size(gone)
            return thing
