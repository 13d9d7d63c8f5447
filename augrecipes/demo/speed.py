"""Samples per second, and tiles of bags, measured now, on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from statistics import median
from time import perf_counter, process_time
from typing import Any, TypeVar

import cv2
import torch

import augrecipes as ar
from augrecipes.recipe.model import Optimize

_BATCH = 4
_TURNS = 3

K = TypeVar("K")


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


@dataclass(frozen=True, slots=True)
class BagSpeed:
    """Tiles per second: decoding, steps and the bag's tensor included, in this process.

    Attributes:
        recipe: its name.
        one: with one thread.
        two: with two.
    """

    recipe: str
    one: float
    two: float


def measure(name: str, source: str, make: Callable[[Optimize], Any], *, workers: int, seconds: float) -> Speed:
    """Measure one recipe on one kind of data.

    The data are read over and over: a repeat has draws of its own, and its file comes from the system's cache. OpenCV
    and torch get one thread each, as in a worker: on busy cores, waiting for a second one costs more than it brings.

    Args:
        name: of the recipe.
        source: a word for the data.
        make: a Dataset of the recipe with this `optimize`.
        workers: processes of the parallel measurement; 0 leaves it out.
        seconds: length of each of the measurements.
    """
    levels: tuple[Optimize, ...] = ("none", "exact")
    endless = {optimize: _samples(make(optimize), 0) for optimize in levels}
    with _one_thread():
        began, worked = perf_counter(), process_time()
        rates = _in_turns(endless, seconds)
        waited = max(0.0, 1 - (process_time() - worked) / (perf_counter() - began))
    parallel = None
    if workers:
        samples = _samples(make("exact"), workers)
        # Each worker fills a queue of two batches ahead of time; measuring starts when those are gone.
        for _ in range(1 + 3 * workers):
            next(samples)
        parallel = _rate(samples, seconds)
        del samples
    return Speed(name, source, rates["none"], rates["exact"], parallel, waited)


def measure_bags(root: str, recipe: str, *, seconds: float) -> BagSpeed:
    """Measure one and two threads.

    Args:
        root: folder of bags; the largest is read over and over.
        recipe: of kind bag.
        seconds: length of each of the two measurements.
    """
    bags = {threads: ar.TileBags(root, recipe, threads=threads) for threads in (1, 2)}
    largest = int(bags[1].tiles.argmax())

    def tiles(ds: ar.TileBags) -> Iterator[int]:
        return (len(ds[epoch, largest]["image"]) for epoch in count())

    rates = _in_turns({threads: tiles(ds) for threads, ds in bags.items()}, seconds)
    return BagSpeed(recipe, rates[1], rates[2])


def _in_turns(sources: dict[K, Iterator[int]], seconds: float) -> dict[K, float]:
    """Of each source the median rate of its turns: they take turns, so that whatever else the machine does hits all."""
    turns: dict[K, list[float]] = {name: [] for name in sources}
    for counts in sources.values():
        next(counts)  # the first one fills caches
    for _ in range(_TURNS):
        for name, counts in sources.items():
            turns[name].append(_rate(counts, seconds / _TURNS))
    return {name: median(rates) for name, rates in turns.items()}


def _rate(counts: Iterator[int], seconds: float) -> float:
    """Of what is counted, how much there is in a second, for `seconds` or a little more."""
    start, total = perf_counter(), 0
    while (spent := perf_counter() - start) < seconds or not total:
        total += next(counts)
    return total / spent


def _samples(dataset: Any, workers: int) -> Iterator[int]:
    """The size of one batch after another; passes are long, so that starting them hardly counts."""
    loader = ar.loader(dataset, batch_size=_BATCH, num_workers=workers, shuffle=True, samples_per_epoch=4000)
    while True:
        for batch in loader:
            yield len(batch["path"])


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
