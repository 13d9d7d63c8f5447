"""Who reads: this thread, threads or processes; as the user says, or chosen by what was measured."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from augrecipes.machine import cores

Backend = Literal["batches", "threads", "processes"]
BACKENDS: tuple[Backend, ...] = ("batches", "threads", "processes")
# Settles `num_workers="auto"` without measuring: `batches`, `threads:4`, `processes:8`.
ENVIRONMENT = "AUGRECIPES_LOADER"

# More workers than this are not started unprompted.
_MOST_WORKERS = 16
# Where another backend is not quicker by this factor, the simpler one is chosen.
CLEARLY = 1.15
# A batch that takes longer than this is worth being read while the user's own code runs.
WORTH_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Choice:
    """Which backend a loader reads with, and why.

    Attributes:
        backend: `batches` (in this thread, when a batch is asked for), `threads` or `processes`.
        workers: how many threads or processes; 0 with `batches`.
        reason: in words.
        measured: samples a second of each backend that was tried, by names such as `threads:2`; empty where nothing
            was measured.
        seconds: that measuring took.
    """

    backend: Backend
    workers: int
    reason: str
    measured: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def __str__(self) -> str:
        """For the log.

        >>> print(Choice("threads", 2, "quickest", {"batches": 980.4, "threads:2": 1800.0}, 0.8))
        threads:2 (quickest; samples/s: batches 980, threads:2 1,800; measured for 0.8 s)
        """
        what = named(self.backend, self.workers)
        if not self.measured:
            return f"{what} ({self.reason})"
        rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in self.measured.items())
        return f"{what} ({self.reason}; samples/s: {rates}; measured for {self.seconds:.1f} s)"


def named(backend: Backend, workers: int) -> str:
    """`batches`, or such as `threads:2`."""
    return f"{backend}:{workers}" if workers else backend


def asked(backend: Any, num_workers: Any) -> Choice | None:
    """What the arguments say; None where they leave it to be measured.

    Raises:
        ValueError: they make no sense.

    >>> asked(None, 2)
    Choice(backend='processes', workers=2, reason='as asked', measured={}, seconds=0.0)
    """
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, or None, got {backend!r}")
    if isinstance(num_workers, str) and num_workers != "auto":
        raise ValueError(f"num_workers must be an integer or 'auto', got {num_workers!r}")
    if num_workers == "auto":
        return Choice("batches", 0, "as asked") if backend == "batches" else None
    if num_workers is None:
        num_workers = 0 if backend in (None, "batches") else default_workers()
    workers = _count(num_workers)
    if backend is None:
        backend = "processes" if workers else "batches"
    if backend == "batches" and workers:
        raise ValueError(f'backend="batches" reads in this thread: it has no workers, got num_workers={workers}')
    if backend != "batches" and not workers:
        raise ValueError(f"backend={backend!r} needs at least one worker, got num_workers=0")
    return Choice(backend, workers, "as asked")


def from_environment() -> Choice | None:
    """What the environment settles.

    Raises:
        ValueError: it says something else than a backend.
    """
    text = os.environ.get(ENVIRONMENT, "").strip()
    if not text:
        return None
    backend, colon, count = text.partition(":")
    if backend not in BACKENDS or (colon and not count.isdecimal()):
        raise ValueError(f"{ENVIRONMENT} must be such as batches, threads:4 or processes:8, got {text!r}")
    found = asked(backend, int(count) if colon else None)
    assert found is not None
    return Choice(found.backend, found.workers, f"{ENVIRONMENT} says so")


def best(measured: Mapping[str, float], batch_size: int, seconds: float) -> Choice:
    """The choice among rates in samples a second; the simplest backend among those that are about as quick.

    >>> best({"batches": 1000.0, "threads:2": 1900.0, "processes:2": 1950.0}, 32, 1.0).backend
    'threads'
    >>> best({"batches": 300_000.0, "threads:2": 310_000.0}, 256, 1.0).backend
    'batches'
    """
    ordered = sorted(measured, key=lambda name: BACKENDS.index(_split(name)[0]))
    chosen = ordered[0]
    reason = "the only one that can read this dataset" if len(ordered) == 1 else "the simplest; no other is quicker"
    for name in ordered[1:]:
        gain = measured[name] / measured[chosen]
        if gain >= CLEARLY:
            chosen, reason = name, "the quickest"
        elif chosen == "batches" and gain * CLEARLY >= 1 and batch_size / measured[chosen] > WORTH_SECONDS:
            chosen, reason = name, "about as quick as any, and reads while your own code runs"
    return Choice(*_split(chosen), reason, dict(measured), seconds)


def default_workers() -> int:
    """How many workers are started unprompted: one for each core that this process may use."""
    return min(cores(), _MOST_WORKERS)


def _split(name: str) -> tuple[Backend, int]:
    backend, _, count = name.partition(":")
    return backend, int(count or 0)  # type: ignore[return-value]


def _count(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(f"num_workers must be an integer or 'auto', got {value!r}")
    if value.__index__() < 0:
        raise ValueError(f"num_workers must not be negative, got {value}")
    return int(value.__index__())
