"""A sweep over who reads: how long epochs of several sizes take in this process, with threads and with processes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import product
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import augrecipes.data.loader as loading
from augrecipes.bench.timing import Gaps, gaps_of, mad
from augrecipes.data.reader_plan import BACKENDS, Backend, reader_name
from augrecipes.errors import LoaderError
from augrecipes.progress import Parts

# Where another setting is not faster by this factor, the simpler one is recommended.
CLEARLY = 1.15
_WORTH_SECONDS = 0.002  # a batch that takes longer is worth being read while the user's own code runs
_ROUNDS = 3  # epochs of each setting at each size, after a first one
_PARTS = (16, 4, 1)  # epochs are so many times smaller than the largest
_FEWEST_BATCHES, _ENOUGH_BATCHES = 4, 64  # of an epoch; of the largest, where the data has fewer


@dataclass(frozen=True, slots=True)
class Point:
    """How long an epoch takes with one setting of the loader.

    Attributes:
        recipe: its name.
        level: of the optimiser.
        backend: `batches` (in this process), `threads` or `processes`.
        workers: how many threads or processes; 0 with `batches`.
        samples: of the epoch.
        seconds: of the epoch, the median over the rounds. Workers are there already.
        mad: of it over the rounds.
        first_seconds: of the first epoch, before the rounds; workers are started within.
        samples_per_second: what `seconds` comes to.
        gaps: between batches, of all rounds, where nothing is done with them.
    """

    recipe: str
    level: str
    backend: Backend
    workers: int
    samples: int
    seconds: float
    mad: float
    first_seconds: float
    samples_per_second: float
    gaps: Gaps

    @property
    def name(self) -> str:
        """`batches`, or such as `threads:2`."""
        return reader_name(self.backend, self.workers)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What was measured.

    Attributes:
        sizes: samples of an epoch, ascending.
        rounds: epochs of each setting at each size, in turns (A B C, C B A, ...), besides a first one.
        points: by recipe, size and setting.
        advice: the setting to use, one for each recipe, from the largest size.
        available: samples that the data holds. Larger epochs repeat samples, with new random parameters.
        left_out: settings that could not be measured, and why.
    """

    sizes: tuple[int, ...]
    rounds: int
    points: tuple[Point, ...]
    advice: tuple[Point, ...]
    available: int
    left_out: tuple[str, ...] = ()

    def advice_for(self, recipe: str) -> Point | None:
        """By the recipe's name."""
        return next((point for point in self.advice if point.recipe == recipe), None)


def settings_of(workers: Sequence[int]) -> list[tuple[Backend, int]]:
    """Every backend with every number of workers, the simplest first; 0 is this process.

    >>> settings_of([1, 0])
    [('batches', 0), ('threads', 1), ('processes', 1)]
    """
    alone: list[tuple[Backend, int]] = [("batches", 0)] if 0 in workers else []
    return [*alone, *product(BACKENDS[1:], sorted(filter(None, workers)))]


def default_sizes(available: int, batch_size: int, most_workers: int, fitting: int) -> tuple[int, ...]:
    """A sixteenth, a quarter and all of the data, or of what the time allows.

    Few samples are read more than once, so that what workers bring, and what an epoch costs them, can be seen.

    Args:
        available: samples of the data.
        batch_size: samples in a batch.
        most_workers: that read.
        fitting: samples of the largest epoch that there is time for.

    >>> default_sizes(10_000, 8, 2, 10**9), default_sizes(24, 8, 2, 10**9), default_sizes(10_000, 1, 16, 0)
    ((624, 2496, 10000), (32, 128, 512), (4, 8, 32))
    """
    largest = min(max(available, _ENOUGH_BATCHES * batch_size), fitting)
    largest = max(largest, 2 * max(_FEWEST_BATCHES, most_workers) * batch_size)
    whole = largest if largest == available else largest // batch_size * batch_size
    parts = {max(whole // part // batch_size, _FEWEST_BATCHES) * batch_size for part in _PARTS[:-1]}
    return tuple(sorted(parts | {whole}))


def recommended(points: Sequence[Point], batch_size: int) -> Point:
    """The setting to use. Simplest is this process, then threads, then processes; fewer workers are simpler than more.

    The simplest that is not clearly slower than the fastest, which means 15% and beyond the spread; where a batch takes
    a while, rather the simplest that reads while the user's own code runs.

    Args:
        points: of one recipe. Those of the largest epochs decide.
        batch_size: samples in a batch.

    >>> def point(backend, workers, seconds):
    ...     return Point("mine", "fast", backend, workers, 1000, seconds, 0.01, 2.0, 1000 / seconds, Gaps(1, 2, 3))
    >>> recommended([point("batches", 0, 1.0), point("threads", 2, 0.52), point("threads", 4, 0.51)], 8).name
    'threads:2'
    """
    most = max(point.samples for point in points)
    largest = (point for point in points if point.samples == most)
    tried = sorted(largest, key=lambda point: (BACKENDS.index(point.backend), point.workers))
    best = min(tried, key=lambda point: point.seconds)
    as_fast = [
        point
        for point in tried
        if point.seconds <= CLEARLY * best.seconds or point.seconds - point.mad <= best.seconds + best.mad
    ]
    a_while = batch_size / as_fast[0].samples_per_second > _WORTH_SECONDS
    return next((point for point in as_fast if point.workers), as_fast[0]) if a_while else as_fast[0]


def sweep(
    read: Sequence[tuple[str, str, Any]],
    workers: Sequence[int],
    batch_size: int,
    *,
    sizes: Sequence[int] | None = None,
    a_batch: float = 1e-3,
    seconds: float = 10.0,
    seed: int = 0,
    advance: Parts = lambda *_: None,
) -> Sweep:
    """Measure every setting on every size, and recommend one for each recipe.

    Orders are shuffled as in training, the same for every setting and round, so that every setting makes the same
    batches. Processes stay from epoch to epoch, and are ended when their size is done, whatever happens.

    Args:
        read: (recipe, level, anything that `loader` takes), one after the other; all get the same sizes.
        workers: how many threads, and how many processes; 0: this process.
        batch_size: samples in a batch.
        sizes: samples of an epoch; None: from the data, and from what the time allows.
        a_batch: seconds that a batch takes in this process.
        seconds: for each of `workers` and each recipe, roughly.
        seed: of the order.
        advance: called with (what is in progress, done, of how much).

    Raises:
        DataError: a sample cannot be read.
        CollateError: samples do not fit into one batch.
    """

    def opened(dataset: Any, size: int, setting: tuple[Backend, int]) -> loading.Loader:
        return loading.loader(
            dataset, batch_size, backend=setting[0], num_workers=setting[1], shuffle=True, seed=seed,
            samples_per_epoch=size, persistent_workers=True,
        )  # fmt: skip

    available = min(len(dataset) for _, _, dataset in read)
    fitting = int(seconds * batch_size / a_batch / (1 + _ROUNDS) / sum(1 / part for part in _PARTS))
    sizes = sorted(sizes or default_sizes(available, batch_size, max(workers), fitting))
    points, advice, left_out = list[Point](), list[Point](), list[str]()
    for recipe, level, dataset in read:
        settings, measured = settings_of(workers), list[Point]()
        for size in sizes:
            gaps: dict[tuple[Backend, int], list[NDArray[np.float64]]] = {setting: [] for setting in settings}
            with ExitStack() as stack:
                loaders = {each: stack.enter_context(closing(opened(dataset, size, each))) for each in settings}
                for turn in range(1 + _ROUNDS):
                    for setting in settings[::-1] if turn % 2 else settings[:]:
                        advance(f"{recipe}, {size:,} samples, {reader_name(*setting)}", turn, 1 + _ROUNDS)
                        try:
                            gaps[setting].append(_epoch(loaders[setting]))
                        except (LoaderError, OSError) as error:  # a worker dies, or the system has no memory left
                            left_out.append(f"{recipe}: {reader_name(*setting)}: {error}")
                            settings.remove(setting)
            for setting in settings:
                first, *rest = (float(epoch.sum()) for epoch in gaps[setting])
                middle, latency = median(rest), gaps_of(np.concatenate(gaps[setting][1:]))
                measured.append(Point(recipe, level, *setting, size, middle, mad(rest), first, size / middle, latency))
        points += measured
        advice += [recommended(measured, batch_size)] if measured else []
    return Sweep(tuple(sizes), _ROUNDS, tuple(points), tuple(advice), available, tuple(left_out))


def _epoch(batches: loading.Loader) -> NDArray[np.float64]:
    """Seconds between the batches of an epoch."""
    batches.set_epoch(0)
    start = perf_counter()
    return np.diff([start, *(perf_counter() for _ in batches)])
