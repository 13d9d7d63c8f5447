"""Who reads: this thread, threads or processes; as the user says, or by a rule of thumb."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from augrecipes.data.loading.own_python import own_python
from augrecipes.machine import cores

Backend = Literal["batches", "threads", "processes"]
BACKENDS: tuple[Backend, ...] = ("batches", "threads", "processes")
# Processes that torchrun and its kin have started on this machine: they share its cores.
LOCAL_RANKS = "LOCAL_WORLD_SIZE"

_log = logging.getLogger("augrecipes")


@dataclass(frozen=True, slots=True)
class Choice:
    """Which backend a loader reads with, and why.

    Attributes:
        backend: `batches` (in this thread, when a batch is asked for), `threads` or `processes`.
        workers: how many threads or processes; 0 with `batches`.
        reason: in words.

    >>> print(Choice("threads", 2, "as asked"))
    threads:2 (as asked)
    """

    backend: Backend
    workers: int
    reason: str = "as asked"

    def __str__(self) -> str:
        return f"{named(self.backend, self.workers)} ({self.reason})"


def named(backend: Backend, workers: int) -> str:
    """`batches`, or such as `threads:2`."""
    return f"{backend}:{workers}" if workers else backend


def chosen(
    dataset: Any,
    collate: Callable[[list[Any]], Any],
    *,
    backend: Any = None,
    num_workers: Any = None,
    method: str = "fork",
    of_processes: str | None = None,
) -> Choice:
    """Who reads: what the arguments say, and by the rule where they leave it open; then the log has a line.

    Threads, unless Python of the user's own takes part: that would hold the interpreter's lock for who knows how long,
    and need not be made for threads. Then processes. Where nobody has asked for workers, only such as are forked: what
    is started otherwise runs the user's script again.

    Args:
        dataset: that is read.
        collate: makes batches.
        backend: as the user gave it.
        num_workers: as the user gave it; None or `auto`: one for each core.
        method: how processes would be started.
        of_processes: an argument that the user gave, and that only processes heed.

    Raises:
        ValueError: the arguments make no sense.
    """
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, or None, got {backend!r}")
    if isinstance(num_workers, str) and num_workers != "auto":
        raise ValueError(f"num_workers must be an integer or 'auto', got {num_workers!r}")
    asked = None if num_workers in (None, "auto") else _count(num_workers)
    if backend == "batches" and asked:
        raise ValueError(f'backend="batches" reads in this thread: it has no workers, got num_workers={asked}')
    if backend in ("threads", "processes") and asked == 0:
        raise ValueError(f"backend={backend!r} needs at least one worker, got num_workers=0")
    if backend == "batches" or asked == 0:
        return Choice("batches", 0)
    workers = default_workers() if asked is None else asked
    if backend is not None:
        return Choice(backend, workers)
    choice = _by_rule(workers, own_python(dataset, collate), of_processes, asked is None and method != "fork")
    _log.info("the loader reads with %s", choice)
    return choice


def _by_rule(workers: int, own: str | None, of_processes: str | None, unasked: bool) -> Choice:
    if of_processes:
        return Choice("processes", workers, f"{of_processes} is for processes")
    if own is None:
        return Choice("threads", workers, "no Python of your own takes part")
    if unasked:
        return Choice("batches", 0, f"{own} is Python of your own; num_workers=N starts processes, guard your script")
    return Choice("processes", workers, f'{own} is Python of your own; backend="threads" overrules')


def default_workers() -> int:
    """How many workers there are unless it is said: one for each core, which the ranks of this machine share."""
    ranks = os.environ.get(LOCAL_RANKS, "")
    return max(1, cores() // max(1, int(ranks) if ranks.isdecimal() else 1))


def _count(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(f"num_workers must be an integer or 'auto', got {value!r}")
    if value.__index__() < 0:
        raise ValueError(f"num_workers must not be negative, got {value}")
    return int(value.__index__())
