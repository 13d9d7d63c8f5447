"""Files that are read as if for the first time: the system is asked to forget what it keeps of them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass
class Evicted:
    """What was asked for and what came of it, in files.

    Attributes:
        asked: the system was asked to drop them.
        gone: of those that were looked at afterwards, how many are no longer in memory.
        looked: how many were looked at: the system has to be able to tell.
    """

    asked: int = 0
    gone: int = 0
    looked: int = 0

    def __str__(self) -> str:
        if not self.asked:
            return "this system cannot be asked to forget files; they are read from its cache"
        text = f"{self.asked:,} reads of files that the page cache was asked to drop (posix_fadvise DONTNEED)"
        if not self.looked:
            return f"{text}; whether it did cannot be seen here"
        if self.gone < self.looked:
            return f"{text}; it kept {self.looked - self.gone:,} of them, so figures are warmer than a first read"
        return f"{text}, and did; what the disk or its host keeps is out of reach"


def can_evict() -> bool:
    """Whether this system has what it takes."""
    return hasattr(os, "posix_fadvise")


def evict(paths: Iterable[str | bytes], seen: Evicted) -> None:
    """Ask the system to drop what it keeps of some files. Needs no rights beyond reading them."""
    if not can_evict():
        return
    for path in paths:
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError:
            continue  # whoever reads it says what is wrong with it
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            seen.asked += 1
            kept = _in_memory(handle)
            if kept is not None:
                seen.looked += 1
                seen.gone += not kept
        except OSError:
            pass
        finally:
            os.close(handle)


def _in_memory(handle: int) -> bool | None:
    """Whether the first byte of a file can be had without waiting; None where the system does not tell."""
    if not hasattr(os, "RWF_NOWAIT"):
        return None
    try:
        return os.preadv(handle, [bytearray(1)], 0, os.RWF_NOWAIT) == 1
    except BlockingIOError:
        return False
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
