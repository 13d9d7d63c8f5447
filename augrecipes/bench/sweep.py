"""A sweep over who reads: how long epochs of several sizes take in this process, with threads and with processes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import augrecipes.data.loader as loading
from augrecipes.bench.latency import Gaps, gaps_of
from augrecipes.bench.timing import mad
from augrecipes.data.choice import BACKENDS, Backend, named
from augrecipes.errors import LoaderError
from augrecipes.progress import Parts

# Where another setting is not faster by this factor, the simpler one is recommended.
CLEARLY = 1.15
_WORTH_SECONDS = 0.002  # a batch that takes longer is worth being read while the user's own code runs
_HEADROOM = 1.25  # a loader keeps ahead of training steps that take so many times as long as its batches
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
        return named(self.backend, self.workers)


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
        return next((one for one in self.advice if one.recipe == recipe), None)


@dataclass(frozen=True)
class Scope:
    """How much a sweep measures.

    Attributes:
        workers: how many threads, and how many processes; 0: this process.
        batch_size: samples in a batch.
        sizes: samples of an epoch; None: from the data, and from what the time allows.
        seconds: for each of `workers` and each recipe, roughly.
        seed: of the order.
    """

    workers: Sequence[int]
    batch_size: int
    sizes: Sequence[int] | None = None
    seconds: float = 10.0
    seed: int = 0

    @property
    def settings(self) -> list[tuple[Backend, int]]:
        """Every backend with every number, the simplest first."""
        many = sorted(count for count in self.workers if count)
        alone: list[tuple[Backend, int]] = [("batches", 0)] if 0 in self.workers else []
        return [*alone, *(("threads", count) for count in many), *(("processes", count) for count in many)]


def default_sizes(available: int, scope: Scope, pace: float) -> tuple[int, ...]:
    """A sixteenth, a quarter and all of the data, or of what the time allows.

    Few samples are read more than once, so that what workers bring, and what an epoch costs them, can be seen.

    Args:
        available: samples of the data.
        scope: how they are read.
        pace: seconds a sample, in this process.

    >>> default_sizes(10_000, Scope([0, 2], 8), 1e-4), default_sizes(24, Scope([0, 2], 8), 1e-4)
    ((624, 2496, 10000), (32, 128, 512))
    >>> default_sizes(10_000, Scope([0, 16], 1), 10.0)
    (4, 8, 32)
    """
    batch = scope.batch_size
    fitting = int(scope.seconds / pace / (1 + _ROUNDS) / sum(1 / part for part in _PARTS))
    largest = min(max(available, _ENOUGH_BATCHES * batch), fitting)
    largest = max(largest, 2 * _FEWEST_BATCHES * batch, 2 * max(scope.workers) * batch)
    whole = largest if largest == available else largest // batch * batch
    return tuple(sorted({max(whole // part // batch, _FEWEST_BATCHES) * batch for part in _PARTS[:-1]} | {whole}))


def recommended(points: Sequence[Point], batch_size: int, step_ms: float | None = None) -> Point:
    """The setting to use. Simplest is this process, then threads, then processes; fewer workers are simpler than more.

    Without a training step: the simplest setting that is not clearly slower than the fastest, which means 15% and
    beyond the spread; where a batch takes a while, rather the simplest that reads while the user's own code runs.
    With one: the simplest setting that keeps ahead of it, or else the simplest of the fastest with workers.

    Args:
        points: of one recipe. Those of the largest epochs decide.
        batch_size: samples in a batch.
        step_ms: what the training needs for a batch, without loading it; None: not known.

    >>> def point(backend, workers, seconds):
    ...     return Point("mine", "fast", backend, workers, 1000, seconds, 0.01, 2.0, 1000 / seconds, Gaps(1, 2, 3))
    >>> points = [point("batches", 0, 1.0), point("threads", 2, 0.52), point("threads", 4, 0.51)]
    >>> recommended(points, 8).name, recommended(points, 8, step_ms=500.0).name
    ('threads:2', 'batches')
    """
    most = max(point.samples for point in points)
    tried = sorted((one for one in points if one.samples == most), key=lambda p: (BACKENDS.index(p.backend), p.workers))
    if step_ms is not None:
        for point in tried:
            batch_ms = 1e3 * batch_size / point.samples_per_second
            # This process reads between two steps: that must be as good as nothing.
            if (_HEADROOM if point.workers else 32) * batch_ms <= step_ms:
                return point
        tried = [point for point in tried if point.workers] or tried
    best = min(tried, key=lambda point: point.seconds)
    alike = [
        one
        for one in tried
        if one.seconds <= CLEARLY * best.seconds or one.seconds - one.mad <= best.seconds + best.mad
    ]
    a_while = batch_size / alike[0].samples_per_second > _WORTH_SECONDS
    return next((one for one in alike if one.workers), alike[0]) if a_while else alike[0]


def sweep(read: Sequence[tuple[str, str, Any]], scope: Scope, advance: Parts = lambda *_: None) -> Sweep:
    """Measure every setting on every size, and recommend one for each recipe.

    Orders are shuffled as in training, the same for every setting and round, so that every setting makes the same
    batches. Processes stay from epoch to epoch, and are ended when their size is done, whatever happens.

    Args:
        read: (recipe, level, anything that `loader` takes), one after the other; all get the same sizes.
        scope: how.
        advance: called with (what is in progress, done, of how much).

    Raises:
        DataError: a sample cannot be read.
        CollateError: samples do not fit into one batch.
    """
    available = min(len(dataset) for _, _, dataset in read)
    left_out: list[str] = []
    points: list[Point] = []
    with no_warning_about_cores():
        pace = max(_pace(dataset, scope) for _, _, dataset in read)
        sizes = tuple(sorted(scope.sizes or default_sizes(available, scope, pace)))
        for recipe, level, dataset in read:
            settings = scope.settings
            for size in sizes:
                with ExitStack() as stack:
                    timed = [_TimedSetting(*one, _loader(dataset, scope, size, one)) for one in settings]
                    for each in timed:
                        stack.callback(each.batches.close)
                    for turn in range(1 + _ROUNDS):
                        for each in timed[::-1] if turn % 2 else timed[:]:
                            advance(f"{recipe}, {size:,} samples, {each.name}", turn, 1 + _ROUNDS)
                            try:
                                each.epoch()
                            except (LoaderError, OSError) as error:  # a worker dies, or the system has no memory left
                                left_out.append(f"{recipe}: {each.name}: {error}")
                                timed.remove(each)
                                settings.remove((each.backend, each.workers))
                    points += [each.point(recipe, level, size) for each in timed]
    found = Sweep(sizes, _ROUNDS, tuple(points), (), available, tuple(left_out))
    return with_advice(found, scope.batch_size, {})


def with_advice(found: Sweep, batch_size: int, step_ms: dict[str, float]) -> Sweep:
    """The same points, with the settings to use: see `recommended`. `step_ms`: of a batch, by recipe, where known."""
    by_recipe: dict[str, list[Point]] = {}
    for point in found.points:
        by_recipe.setdefault(point.recipe, []).append(point)
    advice = (recommended(points, batch_size, step_ms.get(recipe)) for recipe, points in by_recipe.items())
    return replace(found, advice=tuple(advice))


@dataclass
class _TimedSetting:
    """A setting at a size."""

    backend: Backend
    workers: int
    batches: loading.Loader
    epochs: list[NDArray[np.float64]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return named(self.backend, self.workers)

    def epoch(self) -> None:
        """Time one."""
        self.batches.set_epoch(0)
        start = perf_counter()
        self.epochs.append(np.diff([start, *(perf_counter() for _ in self.batches)]))

    def point(self, recipe: str, level: str, size: int) -> Point:
        first, *rest = (float(gaps.sum()) for gaps in self.epochs)
        seconds, gaps = median(rest), gaps_of(np.concatenate(self.epochs[1:]))
        rate = size / seconds
        return Point(recipe, level, self.backend, self.workers, size, seconds, mad(rest), first, rate, gaps)


def _loader(dataset: Any, scope: Scope, size: int, setting: tuple[Backend, int]) -> loading.Loader:
    backend, workers = setting
    return loading.loader(
        dataset, scope.batch_size, backend=backend, num_workers=workers, shuffle=True, seed=scope.seed,
        samples_per_epoch=size, persistent_workers=True,
    )  # fmt: skip


def _pace(dataset: Any, scope: Scope) -> float:
    """Seconds a sample in this process. What it reads is what epochs will read, and is in the page cache then."""
    size = max(scope.sizes) if scope.sizes else max(len(dataset), _ENOUGH_BATCHES * scope.batch_size)
    begin, done = perf_counter(), 0
    for _ in _loader(dataset, scope, size, ("batches", 0)):
        done += scope.batch_size
        if perf_counter() - begin > scope.seconds / 4:
            break
    return max(perf_counter() - begin, 1e-9) / min(done, size)


@contextmanager
def no_warning_about_cores() -> Iterator[None]:
    """torch warns where there are more workers than cores, which is what is measured here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create", category=UserWarning)
        yield
