"""What the machine gives this process: cores, memory that the allocator keeps; and sizes, as people say them."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import parent_process
from pathlib import Path
from typing import TypeVar

from augrecipes.errors import StoreError
from augrecipes.progress import Progress

T = TypeVar("T")
R = TypeVar("R")

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_CGROUPS = Path("/sys/fs/cgroup")
TUNING = "AUGRECIPES_TUNE_ALLOCATOR"
# By mallopt's numbers M_TRIM_THRESHOLD and M_MMAP_THRESHOLD: how much freed memory may stay, and the largest threshold
# that 64-bit glibc accepts (HEAP_MAX_SIZE / 2).
_THRESHOLDS = {-1: 256 << 20, -3: 32 << 20}


def cores() -> int:
    """The cores that this process may use: not all that there are, where an affinity or a container's quota is set."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, _quota())))


def _quota() -> float:
    """How many cores' worth of time a container may take."""
    old = _CGROUPS / "cpu"
    for files in ([_CGROUPS / "cpu.max"], [old / "cpu.cfs_quota_us", old / "cpu.cfs_period_us"]):
        try:
            quota, period = map(int, " ".join(file.read_text(encoding="ascii") for file in files).split())
        except (OSError, ValueError):  # none of this sort, or no limit
            continue
        if quota > 0 < period:
            return quota / period
    return math.inf


def memory_limit() -> str:
    """How much memory a container may take, in words."""
    for file in (_CGROUPS / "memory.max", _CGROUPS / "memory" / "memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # none of this sort, or no limit
            if (size := int(file.read_text(encoding="ascii"))) < 1 << 60:  # an old way to say none
                return f"a container's limit of {size:,} bytes"
    return "no limit"


def system_field(file: str, name: str) -> str:
    """A value of one of Linux's tables about itself; empty elsewhere."""
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")


def parse_size(size: str | int) -> int:
    """A size as people write it. StoreError where it is none.

    >>> parse_size("2G"), parse_size("1.5 MB"), parse_size("64KiB"), parse_size(512)
    (2000000000, 1500000, 65536, 512)
    """
    match = _SIZE.fullmatch(str(size).strip())
    step = 1024 if match and match[3] else 1000
    count = int(float(match[1]) * step ** " kmgt".index(match[2].lower() or " ")) if match else 0
    if count < 1:
        raise StoreError(f"a size of {str(size)!r}: give a number and a unit, such as 2G, 500M or 1.5GiB")
    return count


def in_threads(
    work: Callable[[T], R], items: Sequence[T], threads: int | None = None, advance: Progress | None = None
) -> Iterator[R]:
    """Yield what `work` returns for each item, in their order, by some threads.

    Args:
        work: is called in threads.
        items: all of them.
        threads: how many; None: one a core, at most eight.
        advance: called with how many are done, and of how many.

    >>> [*in_threads(str, range(3))]
    ['0', '1', '2']
    """
    with ThreadPoolExecutor(threads or min(8, cores())) as pool:
        for done, result in enumerate(pool.map(work, items), 1):
            yield result
            if advance is not None:
                advance(done, len(items))


def end_with_parent() -> None:
    """Let this process end when the one that started it does, however that ended: from a fork server, too."""

    def wait() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
            os._exit(0)  # at once: cleaning up would wait for the dead

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def no_collection() -> Iterator[None]:
    """Without Python's garbage collector, which would begin its work at any moment."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def allocator_is_tuned() -> bool:
    """Whether the environment leaves tuning on."""
    return os.environ.get(TUNING, "1").strip().lower() not in {"0", "no", "off", "false"}


def tune_allocator() -> bool:
    """Let glibc's allocator keep the memory of large arrays, instead of handing it back after every sample.

    By default arrays of more than 128 KiB are mapped afresh each time (the threshold moves, but slowly and not always),
    so each image is paid for in page faults: with both thresholds raised a plain chain of albumentations steps runs 10
    to 24% faster. The price: a process keeps up to 256 MiB of freed memory. It affects the whole process, and cannot be
    undone. `loader(..., tune_allocator=False)` or AUGRECIPES_TUNE_ALLOCATOR=0 switch it off.

    Returns:
        Whether that worked; not off glibc, or when switched off.
    """
    if not allocator_is_tuned() or not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018  musl has mallopt too, as a stub
        return all(libc.mallopt(which, size) for which, size in _THRESHOLDS.items())
    except (OSError, AttributeError):
        return False
