"""Batch latency: how evenly batches arrive, and what handing them over from a worker process takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import augrecipes.data.loader as loading
from augrecipes.bench.sides import Side
from augrecipes.data.collate import collate_for

_PROBES = 12  # batches whose transfer is timed


@dataclass(frozen=True, slots=True)
class Gaps:
    """Batch latency: milliseconds between one batch and the next, as the consumer sees them.

    Attributes:
        p50: half are shorter.
        p95: 95 of a hundred are shorter.
        p99: 99 of a hundred are shorter.
    """

    p50: float
    p95: float
    p99: float


def gaps_of(seconds: NDArray[np.float64]) -> Gaps:
    """Of the times between batches.

    >>> gaps_of(np.array([0.001, 0.001, 0.003]))
    Gaps(p50=1.0, p95=2.8, p99=2.96)
    """
    return Gaps(*(round(1e3 * float(value), 6) for value in np.quantile(seconds, (0.5, 0.95, 0.99))))


@dataclass(frozen=True)
class _Stamped:
    """A batch with the time when it was ready; a clock that all processes of a machine share."""

    collate: Callable[[list[Any]], Any]

    def __call__(self, samples: list[Any]) -> tuple[Any, float]:
        return self.collate(samples), perf_counter()


def worker_transfer(side: Side, batch_size: int) -> float:
    """Milliseconds a sample between a batch's being ready in a worker process and its being in the consumer's hands.

    The consumer does nothing else but wait. The first batches, which meet cold queues, do not count.
    """
    batches = loading.loader(
        side.dataset, batch_size, backend="processes", num_workers=1, drop_last=True,
        collate=_Stamped(collate_for("default", side.dataset)), samples_per_epoch=_PROBES * batch_size,
    )  # fmt: skip
    return 1e3 * median([perf_counter() - ready for _, ready in batches][2:]) / batch_size
