"""A worker ends with the process that started it, however that one ended."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import threading
from multiprocessing.connection import wait

# How often a worker looks. Whoever killed the parent does not wait for long.
_SECONDS = 0.25


def end_with_parent() -> None:
    """From now on this process ends within a second of its parent's death; nothing where no parent started it.

    By looking, not by a signal of the system: that one would be Linux's alone, and follows a thread of the parent. Both
    what multiprocessing tells and the parent's number are looked at. Forked siblings hold each other's pipes open, and
    on Windows the number stays; where a fork server stands between, it is the pipe that tells.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    number, over = os.getppid(), threading.Event()

    def look() -> None:
        while not over.is_set():
            # At once, since cleaning up would wait for the dead; and not as one who failed: torch tells of those.
            if wait([parent.sentinel], _SECONDS) or os.getppid() != number:
                os._exit(0)

    thread = threading.Thread(target=look, name="augrecipes-orphan", daemon=True)
    thread.start()

    @atexit.register
    def end() -> None:
        over.set()
        thread.join()
