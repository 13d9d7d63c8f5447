"""A sweep over loader settings: the time of epochs of several sizes in this process, with threads, with processes."""

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

# A setting must be faster by this factor to be recommended over a simpler one.
CLEARLY = 1.15
_WORTH_SECONDS = 0.002  # a batch that takes longer is worth loading in the background
_ROUNDS = 3  # timed epochs of each setting at each size, after a first one
_PARTS = (16, 4, 1)  # divisors of the largest epoch that give the sizes
_FEWEST_BATCHES, _ENOUGH_BATCHES = 4, 64  # least of an epoch; of the largest epoch if the data have fewer


@dataclass(frozen=True, slots=True)
class Point:
    """The time of an epoch with one setting of the loader.

    Attributes:
        recipe: the recipe's name.
        level: level of the optimiser.
        backend: `batches` (in this process), `threads` or `processes`.
        workers: number of threads or processes; 0 with `batches`.
        samples: samples per epoch.
        seconds: time of the epoch, the median over the rounds; workers are running already.
        mad: median absolute deviation of `seconds` over the rounds.
        first_seconds: time of the first epoch, before the rounds, which includes the start of the workers.
        samples_per_second: throughput at `seconds`.
        gaps: batch latency over all rounds, with an idle consumer.
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
        """The setting in short: `batches`, or e.g. `threads:2`."""
        return reader_name(self.backend, self.workers)


@dataclass(frozen=True, slots=True)
class Sweep:
    """The measurements and recommendations of a sweep.

    Attributes:
        sizes: samples per epoch, ascending.
        rounds: timed epochs of each setting at each size after the first, interleaved (A B C, C B A, ...).
        points: the measurements, by recipe, size and setting.
        advice: the recommended setting of each recipe, measured at the largest size.
        available: samples in the data. Larger epochs repeat samples, with new random parameters.
        left_out: settings that could not be measured, and why.
    """

    sizes: tuple[int, ...]
    rounds: int
    points: tuple[Point, ...]
    advice: tuple[Point, ...]
    available: int
    left_out: tuple[str, ...] = ()

    def advice_for(self, recipe: str) -> Point | None:
        """Return the recommended setting of a recipe, or None."""
        return next((point for point in self.advice if point.recipe == recipe), None)


def settings_of(workers: Sequence[int]) -> list[tuple[Backend, int]]:
    """Return every backend with every number of workers, the simplest first; 0 is this process.

    >>> settings_of([1, 0])
    [('batches', 0), ('threads', 1), ('processes', 1)]
    """
    alone: list[tuple[Backend, int]] = [("batches", 0)] if 0 in workers else []
    return [*alone, *product(BACKENDS[1:], sorted(filter(None, workers)))]


def default_sizes(available: int, batch_size: int, most_workers: int, fitting: int) -> tuple[int, ...]:
    """Choose epoch sizes: a sixteenth, a quarter and all of the data, or of what the time allows.

    Small data are repeated, so that both the gain from workers and their cost per epoch show.

    Args:
        available: samples in the data.
        batch_size: samples per batch.
        most_workers: largest number of workers.
        fitting: samples of the largest epoch that the time allows.

    >>> default_sizes(10_000, 8, 2, 10**9), default_sizes(24, 8, 2, 10**9), default_sizes(10_000, 1, 16, 0)
    ((624, 2496, 10000), (32, 128, 512), (4, 8, 32))
    """
    largest = min(max(available, _ENOUGH_BATCHES * batch_size), fitting)
    largest = max(largest, 2 * max(_FEWEST_BATCHES, most_workers) * batch_size)
    whole = largest if largest == available else largest // batch_size * batch_size
    parts = {max(whole // part // batch_size, _FEWEST_BATCHES) * batch_size for part in _PARTS[:-1]}
    return tuple(sorted(parts | {whole}))


def recommended(points: Sequence[Point], batch_size: int) -> Point:
    """Recommend a setting. This process is simplest, then threads, then processes; fewer workers are simpler than more.

    It is the simplest that is not clearly slower than the fastest, i.e. by 15% and beyond the spread; if batches take
    more than 2 ms, the simplest of those with workers, which load while the user's own code runs.

    Args:
        points: measurements of one recipe; those of the largest epochs decide.
        batch_size: samples per batch.

    >>> def point(backend, workers, seconds):
    ...     return Point("mine", "fast", backend, workers, 1000, seconds, 0.01, 2.0, 1000 / seconds, Gaps(1, 2, 3))
    >>> recommended([point("batches", 0, 1.0), point("threads", 2, 0.52), point("threads", 4, 0.51)], 8).name
    'threads:2'
    """
    size = max(point.samples for point in points)
    largest = (point for point in points if point.samples == size)
    tried = sorted(largest, key=lambda point: (BACKENDS.index(point.backend), point.workers))
    best = min(tried, key=lambda point: point.seconds)
    as_fast = [
        point
        for point in tried
        if point.seconds <= CLEARLY * best.seconds or point.seconds - point.mad <= best.seconds + best.mad
    ]
    is_slow = batch_size / as_fast[0].samples_per_second > _WORTH_SECONDS
    return next((point for point in as_fast if point.workers), as_fast[0]) if is_slow else as_fast[0]


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
    """Measure every setting at every size, and recommend one for each recipe.

    The order is shuffled as in training, and equal in every setting and round, so that all make the same batches.
    Processes persist from epoch to epoch and are ended after each size, whatever happens.

    Args:
        read: (recipe, level, dataset or anything else that `loader` takes), one after the other, with the same sizes.
        workers: numbers of threads and of processes; 0: this process.
        batch_size: samples per batch.
        sizes: samples per epoch; None: chosen from the data and the time.
        a_batch: seconds per batch in this process.
        seconds: approximate time for each of `workers` and each recipe.
        seed: seed of the order.
        advance: called with (what is in progress, done, of how much).

    Raises:
        DataError: a sample cannot be read.
        CollateError: the samples of a batch differ in shape.
    """

    def open_loader(dataset: Any, size: int, setting: tuple[Backend, int]) -> loading.Loader:
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
                loaders = {each: stack.enter_context(closing(open_loader(dataset, size, each))) for each in settings}
                for turn in range(1 + _ROUNDS):
                    for setting in settings[::-1] if turn % 2 else settings[:]:
                        advance(f"{recipe}, {size:,} samples, {reader_name(*setting)}", turn, 1 + _ROUNDS)
                        try:
                            gaps[setting].append(_epoch(loaders[setting]))
                        except (LoaderError, OSError) as error:  # a worker died, or memory ran out
                            left_out.append(f"{recipe}: {reader_name(*setting)}: {error}")
                            settings.remove(setting)
            for setting in settings:
                first, *rest = (float(epoch.sum()) for epoch in gaps[setting])
                usual, latency = median(rest), gaps_of(np.concatenate(gaps[setting][1:]))
                measured.append(Point(recipe, level, *setting, size, usual, mad(rest), first, size / usual, latency))
        points += measured
        advice += [recommended(measured, batch_size)] if measured else []
    return Sweep(tuple(sizes), _ROUNDS, tuple(points), tuple(advice), available, tuple(left_out))


def _epoch(batches: loading.Loader) -> NDArray[np.float64]:
    """Run an epoch, and return the seconds between its batches."""
    batches.set_epoch(0)
    start = perf_counter()
    return np.diff([start, *(perf_counter() for _ in batches)])
