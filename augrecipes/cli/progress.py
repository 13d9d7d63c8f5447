"""How far long work is, on standard error: one line that moves on a terminal, a line every few seconds elsewhere.

Work that is done within a second says nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from augrecipes.cli.aligned import bar
from augrecipes.cli.terminal import say, width
from augrecipes.errors import harmless

Advance = Callable[[int, int], None]
Parts = Callable[[str, int, int], None]
_QUIET = 1.0  # seconds before anything is shown
_EVERY = {True: 0.1, False: 5.0}  # seconds between lines, on a terminal and elsewhere


@contextmanager
def progress(what: str) -> Iterator[Advance]:
    """Show how far some work is: a function of (done, total).

    >>> with progress("reading") as advance:
    ...     advance(1, 2)
    """
    with parts() as advance:
        yield lambda done, total: advance(what, done, total)


@contextmanager
def parts(clock: Callable[[], float] = time.monotonic) -> Iterator[Parts]:
    """As `progress`, for work of several parts: a function of (what, done, total)."""
    began, terminal = clock(), sys.stderr.isatty()
    next_at, shown = began + _QUIET, 0

    def advance(what: str, done: int, total: int) -> None:
        nonlocal next_at, shown
        now = clock()
        if now < next_at:
            return
        next_at = now + _EVERY[terminal]
        share = done / total if total else 0.0
        if not terminal:
            say(f"{what}: {done:,} of {total:,}, {now - began:.0f} s", err=True)
            return
        line = harmless(f"{what} {bar(share):<32} {done:,} of {total:,}")[: width() - 1]
        sys.stderr.write(f"\r{line:<{shown}}")
        sys.stderr.flush()
        shown = len(line)

    try:
        yield advance
    finally:
        if shown:
            sys.stderr.write(f"\r{' ' * shown}\r")
            sys.stderr.flush()
