"""How far long work is, on standard error: a bar that moves on a terminal, a line every few seconds elsewhere.

Work that is done within a second says nothing, and nothing stays on a terminal.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from augrecipes.errors import harmless

Progress = Callable[[int, int], None]  # how much is done, of how much
Parts = Callable[[str, int, int], None]  # what is done, how much of it, of how much

QUIET = 1.0  # seconds before anything is shown
EVERY = {True: 0.1, False: 5.0}  # seconds between two looks, on a terminal and elsewhere
_WIDEST = 120


@contextmanager
def progress(what: str, say: Callable[[str], None] | None = None) -> Iterator[Progress]:
    """Show how far some work is: a function of (done, total).

    Args:
        what: is done.
        say: where standard error is no terminal, is given a line now and then.

    >>> with progress("reading") as advance:
    ...     advance(1, 2)
    """
    with parts(say) as advance:
        yield lambda done, total: advance(what, done, total)


@contextmanager
def parts(say: Callable[[str], None] | None = None, clock: Callable[[], float] = time.monotonic) -> Iterator[Parts]:
    """As `progress`, for work of several parts: a function of (what, done, total)."""
    began, terminal = clock(), sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    next_at, bars = began + QUIET, None

    def advance(what: str, done: int, total: int) -> None:
        nonlocal next_at, bars
        now = clock()
        if now < next_at:
            return
        next_at = now + EVERY[terminal]
        if terminal:
            bars = bars or _bars()
            bars.update(bars.task_ids[0], description=harmless(what), completed=done, total=total, refresh=True)
        elif say is not None:
            say(f"{what}: {done:,} of {total:,}, {now - began:.0f} s")

    try:
        yield advance
    finally:
        if bars is not None:
            bars.stop()


def _bars() -> Any:
    """A bar of rich's that has begun, goes when it is stopped, and has no thread: what it watches may fork."""
    from rich import progress  # late: most work is quick
    from rich.console import Console

    said = progress.TextColumn("{task.description}", markup=False)
    counted = progress.TextColumn("{task.completed:,} of {task.total:,}", markup=False)
    console = Console(stderr=True, highlight=False)
    console.width = min(console.width, _WIDEST)
    bars = progress.Progress(
        said, progress.BarColumn(32), counted, progress.TimeRemainingColumn(compact=True), console=console,
        auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
    bars.add_task("", total=1)
    bars.start()
    return bars
