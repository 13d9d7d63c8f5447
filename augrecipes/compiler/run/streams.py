"""What tells the bare calls of one process from those of every other."""

from __future__ import annotations

import os
import sys

from augrecipes.seeds import MASK, mix


def home() -> int:
    """The process whose bare calls need no more than a count; none, where a DataLoader worker compiles for itself."""
    return -1 if _worker_seed() is not None else os.getpid()


def of_this_process() -> int:
    """What tells this process's bare calls from those of every other: the DataLoader worker's seed, or chance."""
    seed = _worker_seed()
    return mix(int.from_bytes(os.urandom(8), "little") if seed is None else seed) & (MASK >> 1)


def _worker_seed() -> int | None:
    """The seed of the DataLoader worker that this process is, or None."""
    # torch is asked only where it is already imported: a worker of its DataLoader cannot run without it.
    torch = sys.modules.get("torch")
    worker = torch.utils.data.get_worker_info() if torch is not None else None
    return None if worker is None else int(worker.seed)
