"""Timers of reading an image: a function that is called when its bytes are read, and when they are decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Literal

Stage = Literal["read", "decode"]
Watch = Callable[[Stage], AbstractContextManager[object]]

_NOBODY: AbstractContextManager[object] = nullcontext()
_watching: list[Watch] = []  # of this process; the last one is called


def stage(name: Stage) -> AbstractContextManager[object]:
    """What the work of a stage is done inside; nothing at all while nobody watches."""
    return _watching[-1](name) if _watching else _NOBODY


def is_watched() -> bool:
    """Whether somebody watches."""
    return bool(_watching)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Inside the block every stage, in whatever thread of this process, is done inside what `watch` returns for it.

    >>> names = []
    >>> with watched(lambda name: nullcontext(names.append(name))), stage("read"):
    ...     names
    ['read']
    """
    _watching.append(watch)
    try:
        yield
    finally:
        _watching.remove(watch)
