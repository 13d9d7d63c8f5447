"""What the machine gives this process: cores, memory, allocator settings; and sizes as people write them."""

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
# mallopt's M_TRIM_THRESHOLD (-1), the freed memory to keep, and M_MMAP_THRESHOLD (-3), at the largest value that 64-bit
# glibc accepts (HEAP_MAX_SIZE / 2).
_THRESHOLDS = {-1: 256 << 20, -3: 32 << 20}


def cores() -> int:
    """Return the number of cores that this process may use, within its affinity and a container's quota."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, _quota())))


def _quota() -> float:
    """Return the cores' worth of time that the container may use; infinity without a limit."""
    old = _CGROUPS / "cpu"  # of cgroups v1
    for files in ([_CGROUPS / "cpu.max"], [old / "cpu.cfs_quota_us", old / "cpu.cfs_period_us"]):
        try:
            quota, period = map(int, " ".join(file.read_text(encoding="ascii") for file in files).split())
        except (OSError, ValueError):  # no such file, or no limit
            continue
        if quota > 0 < period:
            return quota / period
    return math.inf


def memory_limit() -> str:
    """Say how much memory the container may use."""
    for file in (_CGROUPS / "memory.max", _CGROUPS / "memory" / "memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # no such file, or no limit
            if (size := int(file.read_text(encoding="ascii"))) < 1 << 60:  # more: no limit, in v1
                return f"a container's limit of {size:,} bytes"
    return "no limit"


def system_field(file: str, name: str) -> str:
    """Return a value of a table in /proc; empty where there is none, as on other systems."""
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")


def parse_size(size: str | int) -> int:
    """Parse a size as people write it, to bytes. StoreError for other text.

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
    """Call `work` on each item in a pool of threads, and yield the results in the order of the items.

    Args:
        work: a thread-safe function of an item.
        items: the items.
        threads: the number of threads; None: one per core, at most eight.
        advance: called with the items that are done, and their total.

    >>> [*in_threads(str, range(3))]
    ['0', '1', '2']
    """
    with ThreadPoolExecutor(threads or min(8, cores())) as pool:
        for done, result in enumerate(pool.map(work, items), 1):
            yield result
            if advance is not None:
                advance(done, len(items))


def end_with_parent() -> None:
    """End this process when its parent ends, however that happens; also under a fork server."""

    def wait() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
            os._exit(0)  # at once: cleaning up would wait for the dead parent

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def no_collection() -> Iterator[None]:
    """Turn off Python's garbage collector, which could run at any moment, for a `with`."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def allocator_is_tuned() -> bool:
    """Whether AUGRECIPES_TUNE_ALLOCATOR allows `tune_allocator`."""
    return os.environ.get(TUNING, "1").strip().lower() not in {"0", "no", "off", "false"}


def tune_allocator() -> bool:
    """Let glibc's allocator keep the memory of large arrays, instead of returning it to the system after every sample.

    By default glibc maps arrays of more than 128 KiB afresh each time (the threshold adapts, but slowly and not
    always), so each image costs page faults: with both thresholds raised, a plain chain of albumentations steps runs 10
    to 24% faster. In return a process keeps up to 256 MiB of freed memory. This affects the whole process and cannot be
    undone. `loader(..., tune_allocator=False)` or AUGRECIPES_TUNE_ALLOCATOR=0 switches it off.

    Returns:
        Whether it worked; False without glibc, or when switched off.
    """
    if not allocator_is_tuned() or not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018  musl has mallopt too, as a stub
        return all(libc.mallopt(which, size) for which, size in _THRESHOLDS.items())
    except (OSError, AttributeError):
        return False
