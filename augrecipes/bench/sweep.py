"""A sweep over who reads: how long epochs of several sizes take in this process, with threads and with processes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import augrecipes.data.loader as loading
from augrecipes.bench.advice import Advice, Point, advise
from augrecipes.bench.cold import evict
from augrecipes.bench.measure import mad
from augrecipes.bench.scope import ENOUGH_BATCHES, Scope, Workers, default_sizes
from augrecipes.bench.sides import files_of
from augrecipes.bench.workers import gaps_of
from augrecipes.data.choice import Backend, named
from augrecipes.data.collate import collate_for
from augrecipes.data.fetch import FetchDataset
from augrecipes.data.order import epoch_order
from augrecipes.errors import LoaderError
from augrecipes.machine import cores
from augrecipes.progress import Parts

_TICK = 0.2  # seconds between two words about how far it is


@dataclass(frozen=True, slots=True)
class Sweep:
    """What was measured.

    Attributes:
        sizes: samples of an epoch, ascending.
        rounds: epochs of each setting at each size, in turns (A B C, C B A, ...), besides a first one.
        points: by recipe, size and setting.
        advice: one for each recipe, from the largest size.
        available: samples that the data holds. Larger epochs repeat samples, with draws of their own.
        left_out: settings that could not be measured, and why, for people.
    """

    sizes: tuple[int, ...]
    rounds: int
    points: tuple[Point, ...]
    advice: tuple[Advice, ...]
    available: int
    left_out: tuple[str, ...] = ()

    def advice_for(self, recipe: str) -> Advice | None:
        """By the recipe's name."""
        return next((one for one in self.advice if one.recipe == recipe), None)


@dataclass(frozen=True)
class Swept:
    """What is read.

    Attributes:
        recipe: its name.
        level: of the optimiser.
        dataset: anything that `loader` takes.
    """

    recipe: str
    level: str
    dataset: Any


def sweep(read: Sequence[Swept], scope: Scope, advance: Parts | None = None) -> Sweep:
    """Measure every setting on every size, and recommend one for each recipe.

    Orders are shuffled as in training, the same for every setting and round, so that every setting makes the same
    batches. Processes stay from epoch to epoch, and are ended when their size is done, whatever happens.

    Args:
        read: recipes, one after the other; all get the same sizes.
        scope: how.
        advance: called with (what is under way, done, of how much).

    Raises:
        DataError: a sample cannot be read.
        CollateError: samples do not fit into one batch.

    >>> import torch
    >>> from torch.utils.data import TensorDataset
    >>> found = sweep([Swept("mine", "none", TensorDataset(torch.arange(6)))], Scope([0], 2, sizes=[4, 12]))
    >>> [(point.backend, point.samples) for point in found.points], found.available
    ([('batches', 4), ('batches', 12)], 6)
    """
    size_of_all = min(len(one.dataset) for one in read)
    advance = advance or (lambda *_: None)
    paces = []
    for k, one in enumerate(read):
        advance(f"{one.recipe}, a first look", k, len(read))
        paces.append(_pace(one.dataset, scope))
    sizes = tuple(sorted(scope.sizes)) if scope.sizes else default_sizes(size_of_all, scope, max(paces))
    run = _Sweeping(scope, sizes, scope.rounds(sum(sizes) * max(paces)), advance, len(read))
    with no_word_about_cores():
        points = [point for one in read for point in run.points(one)]
    found = Sweep(sizes, run.rounds, tuple(points), (), size_of_all, tuple(dict.fromkeys(run.left_out)))
    return advised(found, cores=cores(), batch_size=scope.batch_size)


def advised(found: Sweep, *, cores: int, batch_size: int, step_ms: Mapping[str, float] | None = None) -> Sweep:
    """The same points, with advice from them: see `advise`. `step_ms`: of a batch, by recipe, where it is known."""
    advice = []
    for recipe in dict.fromkeys(point.recipe for point in found.points):
        points = [point for point in found.points if point.recipe == recipe]
        advice.append(advise(points, cores=cores, batch_size=batch_size, step_ms=(step_ms or {}).get(recipe)))
    return replace(found, advice=tuple(advice))


def _pace(dataset: Any, scope: Scope) -> float:
    """Seconds a sample in this process. What it reads is what epochs will read, and no longer cold then."""
    wanted = max(scope.sizes) if scope.sizes else max(len(dataset), ENOUGH_BATCHES * scope.batch_size)
    begin, taken = perf_counter(), 0
    for _ in loading.loader(
        dataset, scope.batch_size, backend="batches", shuffle=True, seed=scope.seed, samples_per_epoch=wanted
    ):
        taken += scope.batch_size
        if perf_counter() - begin > scope.share:
            break
    return (perf_counter() - begin) / min(taken, wanted)


@dataclass
class _TimedSetting:
    """A setting at a size."""

    backend: Backend
    workers: int
    batches: loading.Loader
    epochs: list[NDArray[np.float64]] = field(default_factory=list)


@dataclass
class _Sweeping:
    """What is under way."""

    scope: Scope
    sizes: tuple[int, ...]
    rounds: int
    advance: Parts
    recipes: int
    left_out: list[str] = field(default_factory=list)
    done: int = 0
    said: float = 0.0

    def points(self, one: Swept) -> Iterator[Point]:
        """Of a recipe."""
        settings = self.scope.settings
        if not FetchDataset(one.dataset, collate_for("default", one.dataset)).ours:
            settings = [setting for setting in settings if setting[0] != "threads"]
            self.left_out.append(f"{one.recipe}: threads: the dataset is not one that is known to be made for them")
        for size in self.sizes:
            with ExitStack() as stack:
                timed = [_TimedSetting(*setting, self._loader(one.dataset, size, setting)) for setting in settings]
                for each in timed:
                    stack.callback(each.batches.close)
                for turn in range(1 + self.rounds):
                    for each in timed[::-1] if turn % 2 else timed[:]:
                        if not self._epoch(one, each, size):
                            timed.remove(each)
                            settings = [known for known in settings if known != (each.backend, each.workers)]
                yield from (self._point(one, each, size) for each in timed)

    def _loader(self, dataset: Any, size: int, setting: Workers) -> loading.Loader:
        backend, workers = setting
        return loading.loader(
            dataset, self.scope.batch_size, backend=backend, num_workers=workers, shuffle=True, seed=self.scope.seed,
            samples_per_epoch=size, persistent_workers=True,
        )  # fmt: skip

    def _epoch(self, one: Swept, timed: _TimedSetting, size: int) -> bool:
        """Time one; False where the workers cannot go on."""
        if self.scope.cold is not None:
            order = epoch_order(len(one.dataset), 0, seed=self.scope.seed, shuffle=True, samples=size)
            for position in np.unique(order % len(one.dataset)).tolist():
                evict(files_of(one.dataset, position), self.scope.cold)
        name = named(timed.backend, timed.workers)
        timed.batches.set_epoch(0)
        gaps, last = [], perf_counter()
        try:
            for _ in timed.batches:
                now = perf_counter()
                gaps.append(now - last)
                last = now
                self._tell(f"{one.recipe}, {name}", len(gaps) * self.scope.batch_size)
        except (LoaderError, OSError) as error:  # a worker that dies, or one more than the system has room for
            self.left_out.append(f"{one.recipe}: {name}: {error}")
            return False
        timed.epochs.append(np.asarray(gaps))
        self.done += size
        return True

    def _tell(self, what: str, further: int) -> None:
        if perf_counter() - self.said > _TICK:
            whole = sum(self.sizes) * len(self.scope.settings) * (1 + self.rounds) * self.recipes
            self.advance(what, self.done + further, whole)
            self.said = perf_counter()

    def _point(self, one: Swept, timed: _TimedSetting, size: int) -> Point:
        first, *rest = (float(gaps.sum()) for gaps in timed.epochs)
        seconds = median(rest)
        gaps = gaps_of(np.concatenate(timed.epochs[1:]))
        return Point(
            one.recipe, one.level, timed.backend, timed.workers, size, seconds, mad(rest), first, size / seconds, gaps
        )


@contextmanager
def no_word_about_cores() -> Iterator[None]:
    """torch warns where there are more workers than cores, which is what is asked for here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create", category=UserWarning)
        yield
