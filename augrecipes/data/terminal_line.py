"""A line on a terminal that says how far long work is. Nothing where standard error is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_QUIET = 1.0  # seconds before anything is shown
_EVERY = 0.1


@contextmanager
def progress_line(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function of (done, total) that shows both, once the work has taken a second; None without a terminal.

    >>> with progress_line("reading headers") as advance:
    ...     advance is None or callable(advance)
    True
    """
    if not sys.stderr.isatty():
        yield None
        return
    next_at = time.monotonic() + _QUIET
    shown = 0

    def advance(done: int, total: int) -> None:
        nonlocal next_at, shown
        now = time.monotonic()
        if now >= next_at:
            next_at = now + _EVERY
            line = f"{what}: {done:,} of {total:,}"
            shown = max(shown, len(line))
            sys.stderr.write(f"\r{line}")
            sys.stderr.flush()

    try:
        yield advance
    finally:
        if shown:
            sys.stderr.write(f"\r{' ' * shown}\r")
            sys.stderr.flush()
