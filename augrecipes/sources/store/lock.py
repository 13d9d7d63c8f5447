"""One writer at a time: a lock that the system drops with the process, however it ends."""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

from augrecipes.errors import StoreError
from augrecipes.sources.store.disk import naming

# Locks of the system belong to processes (they are not inherited by workers, which may outlive the writer): two
# writers of one process are kept apart here.
_held: set[tuple[int, Path]] = set()
_guard = threading.Lock()


def _renew() -> None:
    """In a fork: the lock that a thread which is not here may have held."""
    global _guard  # noqa: PLW0603
    _guard = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


class HeldError(StoreError):
    """Somebody else holds a lock."""


class Lock:
    """The right to write one store, from construction to `release`. Raises HeldError, naming the holder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._key = (os.getpid(), path.resolve())
        with _guard:
            if self._key in _held:
                raise _refused(path, "this very process")
            self._file = _locked(path)
            _held.add(self._key)
        with suppress(OSError):  # on a full disk it stays unknown who holds it
            self._file.truncate(0)
            self._file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())

    def release(self) -> None:
        """Gives the right back; the file may be gone by then."""
        with _guard:
            _held.discard(self._key)
            self._file.close()


def _locked(path: Path) -> BinaryIO:
    while True:
        with ExitStack() as opened:
            with naming(path):
                path.parent.mkdir(exist_ok=True)
                file = opened.enter_context(path.open("a+b", buffering=0))
                if not _taken(file):
                    file.seek(0)
                    raise _refused(path, file.read(200).decode(errors="replace") or "another process")
            if _same(file, path):  # else the one before removed it when done
                opened.pop_all()
                return file


def _same(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _taken(file: BinaryIO) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 30)  # beyond what is written: on Windows locked bytes cannot be read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _refused(path: Path, holder: str) -> HeldError:
    return HeldError(f"the store is being written by {holder}; wait for it, or end it", path=str(path.parent))
