"""What the machine gives this process; and sizes, as people say them."""

from __future__ import annotations

import math
import os
import re
import threading
from multiprocessing import parent_process
from pathlib import Path

from augrecipes.errors import StoreError

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)


_CGROUPS = Path("/sys/fs/cgroup")


def cores() -> int:
    """The cores that this process may use: not all that there are, where an affinity or a container's quota is set."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, _quota(_CGROUPS))))


def _quota(root: Path) -> float:
    """How many cores' worth of time a container may take."""
    try:
        quota, period = (root / "cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        try:
            quota, period = ((root / "cpu" / f"cpu.cfs_{name}_us").read_text(encoding="ascii").strip()
                             for name in ("quota", "period"))  # fmt: skip
        except (OSError, ValueError):
            return math.inf
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else math.inf


def bytes_of(size: str | int) -> int:
    """A size as people write it. StoreError where it is none.

    >>> bytes_of("2G"), bytes_of("1.5 MB"), bytes_of("64KiB"), bytes_of(512)
    (2000000000, 1500000, 65536, 512)
    """
    match = _SIZE.fullmatch(str(size).strip())
    step = 1024 if match and match[3] else 1000
    found = int(float(match[1]) * step ** " kmgt".index(match[2].lower() or " ")) if match else 0
    if found < 1:
        raise StoreError(f"a size of {str(size)!r}: give a number and a unit, such as 2G, 500M or 1.5GiB")
    return found


def end_with_parent() -> None:
    """Let this process end when the one that started it does, however that ended: from a fork server, too."""

    def wait() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
            os._exit(0)  # at once: cleaning up would wait for the dead

    threading.Thread(target=wait, daemon=True).start()
