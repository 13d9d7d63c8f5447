"""Show the progress of long work on standard error: a bar on a terminal, else a line every few seconds.

Work that takes less than a second shows nothing, and a finished bar is erased.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from augrecipes.errors import harmless

Progress = Callable[[int, int], None]  # (done, total)
Parts = Callable[[str, int, int], None]  # (what, done, total)

QUIET = 1.0  # seconds before anything is shown
EVERY = {True: 0.1, False: 5.0}  # seconds between two updates, on a terminal and elsewhere
_WIDEST = 120


@contextmanager
def progress(what: str, say: Callable[[str], None] | None = None) -> Iterator[Progress]:
    """Show the progress of some work; the `with` gets a function of (done, total).

    Args:
        what: names the work.
        say: prints a line now and then where standard error is no terminal.

    >>> with progress("reading") as advance:
    ...     advance(1, 2)
    """
    with parts(say) as advance:
        yield lambda done, total: advance(what, done, total)


@contextmanager
def parts(say: Callable[[str], None] | None = None, clock: Callable[[], float] = time.monotonic) -> Iterator[Parts]:
    """Show the progress of work in several parts; the `with` gets a function of (what, done, total)."""
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
    """Start a rich progress bar, which is erased when stopped; it has no thread, as the work may fork."""
    from rich import progress  # late: most work is quick and shows nothing
    from rich.console import Console

    title = progress.TextColumn("{task.description}", markup=False)
    counted = progress.TextColumn("{task.completed:,} of {task.total:,}", markup=False)
    console = Console(stderr=True, highlight=False)
    console.width = min(console.width, _WIDEST)
    bars = progress.Progress(
        title, progress.BarColumn(32), counted, progress.TimeRemainingColumn(compact=True), console=console,
        auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
    bars.add_task("", total=1)
    bars.start()
    return bars
