"""One writer at a time: a lock that the system drops with the process, however it ends."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from augrecipes.errors import StoreError
from augrecipes.sources.store.disk import naming


class HeldError(StoreError):
    """Somebody else holds a lock."""


class Lock:
    """The right to write one store, from construction to `release`. Raises HeldError, naming the holder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with naming(path):
            path.parent.mkdir(exist_ok=True)
            self._lock = FileLock(path, timeout=0, thread_local=False)
            try:
                self._lock.acquire()
            except Timeout:
                raise HeldError(
                    f"the store is being written by {_holder(path)}; wait for it, or end it", path=str(path.parent)
                ) from None
        with suppress(OSError):  # on a full disk it stays unknown who holds it, and on Windows
            path.write_text(_name())

    def release(self) -> None:
        """Gives the right back; the file may be gone by then."""
        self._lock.release()


def _holder(path: Path) -> str:
    said = ""
    with suppress(OSError, UnicodeDecodeError):
        said = path.read_text()[:200]
    return "this very process" if said == _name() else said or "another process"


def _name() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"
