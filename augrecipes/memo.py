"""What was found out about files, kept in the user's cache folder as arrays for as long as the files stay as they are.

One file a key: a digest of the arrays, of the stamp under which they were found and of the rules; then the arrays, as
an `.npz` file. What is damaged in any way, or of another stamp, is as if it were not there. It is a hint, and may be
forged by whoever can write it: nobody may take a path or a size from it that could not have been found.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.caches import Cache

Arrays = Mapping[str, NDArray[Any]]
SETTLED_NS = 3_000_000_000
"""What was changed less than this ago may change again within the same tick; FAT counts in steps of two seconds."""
_RULES = b"2"  # another one for each change of how arrays are kept
_DIGEST = 32


def now_ns() -> int:
    """The wall clock, in nanoseconds; here so that tests can move it."""
    return time.time_ns()


def settled(about: os.stat_result, now: int | None = None) -> bool:
    """Whether a file or folder was at rest by `now`, so that its times tell it from what it becomes later."""
    return max(about.st_mtime_ns, about.st_ctime_ns) < (now_ns() if now is None else now) - SETTLED_NS


def stamp_of(*abouts: os.stat_result) -> str | None:
    """What tells files from others, and from what they become; None while that cannot be told."""
    if not all(about.st_ino and settled(about) for about in abouts):
        return None
    return repr([(a.st_dev, a.st_ino, a.st_size, a.st_mtime_ns, a.st_ctime_ns) for a in abouts])


def memo(cache: Cache, key: str, stamp: Callable[[], str | None], make: Callable[[], Arrays]) -> Arrays:
    """What `make` finds, or what it has found under the same stamp before.

    Args:
        cache: where it is kept.
        key: of it.
        stamp: what tells that of which it is found from what takes its place; None while that cannot be told. It is
            asked again behind `make`: what was changed meanwhile is not kept.
        make: finds it.
    """
    before = stamp()
    if before is not None and (known := recall(cache, key, before)) is not None:
        return known
    found = make()
    if before is not None and stamp() == before:
        keep(cache, key, before, found)
    return found


def recall(cache: Cache, key: str, stamp: str) -> Arrays | None:
    """What was kept under a key with this stamp; None where nothing was."""
    data = cache.read(key)
    if data is None or data[:_DIGEST] != _digest(stamp, memoryview(data)[_DIGEST:]):
        return None
    with np.load(io.BytesIO(data[_DIGEST:]), allow_pickle=False) as file:
        return dict(file)


def keep(cache: Cache, key: str, stamp: str, arrays: Arrays) -> None:
    """Keep arrays under a key; where that cannot be done, the log says so once."""
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    data = file.getvalue()
    cache.write(key, _digest(stamp, memoryview(data)) + data)


def text(blob: bytes) -> NDArray[np.uint8]:
    """Bytes as an array."""
    return np.frombuffer(blob, np.uint8)


def _digest(stamp: str, data: memoryview) -> bytes:
    made = blake2b(_RULES, digest_size=_DIGEST)
    made.update(len(stamp).to_bytes(8, "little") + stamp.encode(errors="surrogateescape"))
    made.update(data)
    return made.digest()
