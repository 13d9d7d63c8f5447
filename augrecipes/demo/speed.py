"""Samples per second, measured now, on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Any

import cv2
import torch

import augrecipes as ar
from augrecipes.recipe.model import Optimize

_BATCH = 4
_SLICES = 3


@dataclass(frozen=True, slots=True)
class Speed:
    """What one recipe reached, in samples per second: decoding, steps and batching included.

    Attributes:
        recipe: its name.
        source: the kind of data that it read.
        none: with `optimize: none`, in this process, one thread.
        exact: with `optimize: exact`, in this process, one thread.
        parallel: with `optimize: exact` and worker processes; None where none were asked for.
        waited: of the time with one thread, the share in which this process had no core to work on; 0..1.
    """

    recipe: str
    source: str
    none: float
    exact: float
    parallel: float | None
    waited: float = 0.0


def measure(name: str, source: str, make: Callable[[Optimize], Any], *, workers: int, seconds: float) -> Speed:
    """Measure one recipe on one kind of data.

    `none` and `exact` take turns, so that whatever else the machine does hits both; each one's figure is the median
    of its turns. The data are read over and over: a repeat has draws of its own, and its file comes from the
    operating system's cache. OpenCV and torch get one thread each, as in a worker: on busy cores, waiting for a second
    one costs more than it brings.

    Args:
        name: of the recipe.
        source: a word for the data.
        make: a Dataset of the recipe with this `optimize`.
        workers: processes of the parallel measurement; 0 leaves it out.
        seconds: length of each of the measurements.
    """
    levels: tuple[Optimize, ...] = ("none", "exact")
    endless = {optimize: _endless(make(optimize), 0) for optimize in levels}
    turns: dict[Optimize, list[float]] = {"none": [], "exact": []}
    with _one_thread():
        for batches in endless.values():
            next(batches)  # the first sample fills caches
        began, worked = perf_counter(), process_time()
        for _ in range(_SLICES):
            for optimize, batches in endless.items():
                turns[optimize].append(_rate(batches, seconds / _SLICES))
        waited = max(0.0, 1 - (process_time() - worked) / (perf_counter() - began))
    parallel = None
    if workers:
        batches = _endless(make("exact"), workers)
        # Each worker fills a queue of two batches ahead of time; measuring starts when those are gone.
        for _ in range(1 + 3 * workers):
            next(batches)
        parallel = _rate(batches, seconds)
        del batches
    return Speed(name, source, median(turns["none"]), median(turns["exact"]), parallel, waited)


@contextmanager
def _one_thread() -> Iterator[None]:
    before = cv2.getNumThreads(), torch.get_num_threads()
    cv2.setNumThreads(0)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before[0])
        torch.set_num_threads(before[1])


def _endless(dataset: Any, workers: int) -> Iterator[Any]:
    """Batches of one pass after another; passes are long, so that starting them hardly counts."""
    loader = ar.loader(dataset, batch_size=_BATCH, num_workers=workers, shuffle=True, samples_per_epoch=4000)
    while True:
        yield from loader


def _rate(batches: Iterator[Any], seconds: float) -> float:
    """Samples per second over whole batches, for `seconds` or a little more."""
    start, count = perf_counter(), 0
    while (spent := perf_counter() - start) < seconds or not count:
        count += len(next(batches)["path"])
    return count / spent
