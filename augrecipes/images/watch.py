"""Timers of reading a picture: a function that is called when its bytes are read, and when they are decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Literal

Stage = Literal["read", "decode"]
Watch = Callable[[Stage], AbstractContextManager[object]]

_NOBODY: AbstractContextManager[object] = nullcontext()
_watch: Watch | None = None


def stage(name: Stage) -> AbstractContextManager[object]:
    """What the work of a stage is done inside; nothing at all while nobody watches."""
    return _NOBODY if _watch is None else _watch(name)


def is_watched() -> bool:
    """Whether somebody watches."""
    return _watch is not None


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Inside the block every stage, in whatever thread of this process, is done inside what `watch` returns for it.

    >>> seen = []
    >>> with watched(lambda name: nullcontext(seen.append(name))), stage("read"):
    ...     seen
    ['read']
    """
    global _watch  # noqa: PLW0603  one process, one watcher
    before, _watch = _watch, watch
    try:
        yield
    finally:
        _watch = before
