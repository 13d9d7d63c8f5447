"""A clock that charges time to whatever was begun last: the parts of nested work add up to the whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any


class Clock:
    """Seconds by what they were spent on. What the clock itself takes is charged to nobody. One thread.

    >>> clock = Clock()
    >>> with clock.stage("outer"), clock.stage("inner"):
    ...     pass
    >>> sorted(clock.spent)
    ['inner', 'outer']
    """

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._stack: list[str] = []
        self._since = 0.0

    @property
    def under_way(self) -> str | None:
        """What time is charged to now."""
        return self._stack[-1] if self._stack else None

    def enter(self, what: str) -> None:
        """From now on time belongs to `what`."""
        now = perf_counter()
        if self._stack:
            self.spent[self._stack[-1]] += now - self._since
        self._stack.append(what)
        self._since = perf_counter()

    def leave(self) -> None:
        """From now on time belongs to what was under way before."""
        now = perf_counter()
        self.spent[self._stack.pop()] += now - self._since
        self._since = perf_counter()

    @contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """The time inside the block."""
        self.enter(what)
        try:
            yield
        finally:
            self.leave()

    def run(self, what: str, work: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `work` returns; its time."""
        self.enter(what)
        try:
            return work(*args, **kwargs)
        finally:
            self.leave()

    def take(self) -> dict[str, float]:
        """What was spent since the last time."""
        taken = dict(self.spent)
        self.spent.clear()
        return taken
