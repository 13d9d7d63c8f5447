"""What was found in the headers of an archive, kept in the user's cache folder: an archive is listed once.

A file of the cache is a digest, and arrays behind it. It holds as long as the archive has its inode, its size and both
of its times; what is damaged in any way, or of other rules, is as if it were not there.
"""

from __future__ import annotations

import io
import os
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.caches import ARCHIVES

Arrays = dict[str, NDArray[Any]]

_RULES = b"1 "  # another number for each change of what is found in an archive
_SETTLED_NS = 2_000_000_000  # who writes later than that after the last time writes another time
_DIGEST = 32
_STAMP = "stamp"


def known(about: os.stat_result) -> Arrays | None:
    """What was kept of an archive; None where nothing was.

    Args:
        about: what the system says of it, by the handle that it will be read by.
    """
    data = ARCHIVES.read(_key(about)) if about.st_ino else None
    if data is None or _digest(data[_DIGEST:]) != data[:_DIGEST]:
        return None
    with np.load(io.BytesIO(data[_DIGEST:]), allow_pickle=False) as file:
        found = dict(file)
    return found if found.pop(_STAMP).tobytes() == _stamp(about) else None


def keep(before: os.stat_result, now: os.stat_result, began: int, found: Arrays) -> None:
    """Keeps what was found in an archive, unless it was written just before, or while its headers were read.

    Args:
        before: what the system said of it before they were.
        now: what it says now.
        began: the time before its headers were read, in nanoseconds: who wrote while they were may have left the times
            of a write that was just before.
        found: what is to be kept.
    """
    newest = max(now.st_mtime_ns, now.st_ctime_ns)
    if not now.st_ino or newest >= began - _SETTLED_NS or _stamp(before) != _stamp(now):
        return
    file = io.BytesIO()
    arrays: dict[str, Any] = {**found, _STAMP: np.frombuffer(_stamp(now), np.uint8)}
    np.savez(file, **arrays)
    data = file.getvalue()
    ARCHIVES.write(_key(now), _digest(data) + data)


def _key(about: os.stat_result) -> str:
    return f"{about.st_dev:x}-{about.st_ino:x}"


def _stamp(about: os.stat_result) -> bytes:
    return f"{about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}".encode()


def _digest(data: bytes) -> bytes:
    return blake2b(_RULES + data, digest_size=_DIGEST).digest()
