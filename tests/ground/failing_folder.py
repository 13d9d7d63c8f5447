"""A folder in which files cannot be written, or which goes away, from the n-th time on that something is done in it.

Python tells of what it is about to do with files, and an error that is raised then is that of the system. So these
faults come to whoever runs the tests, also where that user may write everywhere.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.utime", "os.truncate")
_LOOKS = ("os.scandir", "os.listdir")


@dataclass
class Fault:
    """What happens to a folder.

    Attributes:
        folder: which.
        what: `read-only`, `full` (nothing new, but files can go), `unreadable`, `vanished`, or `a file`: in its place.
        after: so many times something was done in it without a fault.
        times: it happens so often, and then no more.
    """

    folder: Path
    what: str
    after: int = 0
    times: int = 1 << 30

    def meets(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raises what the system would say."""
        writes = event in _CHANGES or (event == "open" and bool((arguments[2] or 0) & WRITING))
        if self.what == "full" and event in ("os.remove", "os.rmdir", "os.chmod", "os.utime"):
            return
        if not writes and self.what in ("read-only", "full"):
            return
        self.after -= 1
        if self.after >= 0 or self.times <= 0:
            return
        self.times -= 1
        code = {"read-only": errno.EROFS, "full": errno.ENOSPC, "unreadable": errno.EIO}.get(self.what)
        if code is not None:
            raise OSError(code, os.strerror(code), arguments[0])
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.what == "a file" and not self.folder.exists():
            self.folder.touch()


_now: Fault | None = None
_busy, _lock = threading.local(), threading.Lock()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    fault = _now  # which another thread may take away meanwhile
    if fault is None or (event != "open" and event not in _CHANGES + _LOOKS) or getattr(_busy, "yes", False):
        return
    path = arguments[0]
    if not isinstance(path, str | bytes | os.PathLike) or not os.fsdecode(path).startswith(str(fault.folder)):
        return
    with _lock:
        _busy.yes = True
        try:
            if fault is _now:
                fault.meets(event, arguments)
        finally:
            _busy.yes = False


@contextmanager
def failing(fault: Fault | None) -> Iterator[None]:
    """Inside the block the fault happens."""
    global _now  # noqa: PLW0603
    if fault is not None and not getattr(_hook, "set", False):
        sys.addaudithook(_hook)  # for good: there is no way back
        _hook.set = True  # type: ignore[attr-defined]
    _now = fault
    try:
        yield
    finally:
        _now = None


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """Inside the block no file grows beyond so many bytes: writing ends in the middle."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
