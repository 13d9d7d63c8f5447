"""A worker ends with the process that started it, however that one ended, and with whoever waits for its work."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import threading
import weakref
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

# How often a worker looks. Whoever killed the parent does not wait for long.
_SECONDS = 0.25


def end_with_parent(leash: Connection | None = None) -> None:
    """From now on this process ends within a second of its parent's death; nothing where no parent started it.

    By looking, not by a signal of the system: that one would be Linux's alone, and follows a thread of the parent. Both
    what multiprocessing tells and the parent's number are looked at. Forked siblings hold each other's pipes open, and
    on Windows the number stays; where a fork server stands between, it is the pipe that tells.

    Args:
        leash: end as well when this can be read from.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    number, over = os.getppid(), threading.Event()
    watched: list[Any] = [parent.sentinel, *([leash] if leash else [])]

    def look() -> None:
        while not over.is_set():
            # At once, since cleaning up would wait for the dead; and not as one who failed: torch tells of those.
            if wait(watched, _SECONDS) or os.getppid() != number:
                os._exit(0)

    thread = threading.Thread(target=look, name="augrecipes-orphan", daemon=True)
    thread.start()

    @atexit.register
    def end() -> None:
        over.set()
        thread.join()


class Leash:
    """Ends workers once what waits for them can no longer be reached, before the garbage collector finalizes it.

    Attributes:
        end: for the workers.
    """

    def __init__(self) -> None:
        self.end, self._mine = multiprocessing.Pipe(duplex=False)

    def tie(self, holder: object) -> None:
        """Let `holder`'s end be that of the workers, which have been started."""
        self.end.close()
        weakref.finalize(holder, _pull, self._mine, os.getpid()).atexit = False


def _pull(mine: Connection, process: int) -> None:
    if os.getpid() != process:  # a fork of it, which holds a copy
        return
    with suppress(OSError):  # they may all be gone
        mine.send_bytes(b"!")  # nobody takes it, so all see it
    mine.close()
