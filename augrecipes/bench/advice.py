"""The setting to use: the simplest one that is not clearly slower than the quickest, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from augrecipes.bench.workers import Gaps
from augrecipes.data.choice import BACKENDS, Backend, named

# Where another backend is not quicker by this factor, the simpler one is advised.
CLEARLY = 1.15
# A batch that takes longer than this is worth being read while the user's own code runs.
WORTH_SECONDS = 0.002
_HEADROOM = 1.25  # a loader keeps ahead of training steps that take so many times as long as its batches
_NOTHING = 0.03  # shares below that are left to chance


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
class Advice:
    """The setting that is recommended for a recipe.

    Attributes:
        recipe: its name.
        level: of the optimiser.
        backend: as `loader` takes it.
        workers: as `loader` takes it, `num_workers`.
        samples_per_second: that were measured with it.
        text: the reason, for people.
    """

    recipe: str
    level: str
    backend: Backend
    workers: int
    samples_per_second: float
    text: str

    @property
    def name(self) -> str:
        """`batches`, or such as `threads:2`."""
        return named(self.backend, self.workers)


def advise(points: Sequence[Point], *, cores: int, batch_size: int, step_ms: float | None = None) -> Advice:
    """What to use. Simplest is this process, then threads, then processes; fewer workers are simpler than more.

    Without a training step: the simplest setting that is not clearly slower than the quickest, which means 15% and
    beyond the spread. Batches that take a while are rather read by a worker that is as quick, beside the user's code.
    With one: the simplest setting that keeps ahead of it, or else the simplest of the quickest.

    Args:
        points: of one recipe. Those of the largest epochs decide.
        cores: that this process may use.
        batch_size: samples in a batch.
        step_ms: what the training needs for a batch, without loading it; None: not known.

    >>> def point(backend, workers, seconds):
    ...     return Point("mine", "fast", backend, workers, 1000, seconds, 0.01, 2.0, 1000 / seconds, Gaps(1, 2, 3))
    >>> points = [point("batches", 0, 1.0), point("threads", 2, 0.52), point("threads", 4, 0.51)]
    >>> advise(points, cores=2, batch_size=8).text
    'threads:2: 1,923 samples/s, 1.9 times as many as without workers; 4 threads bring no more (2 cores)'
    >>> advise(points, cores=2, batch_size=8, step_ms=3.0).text
    'threads:2: a batch every 4.2 ms, a training step takes 3.0 ms: 28 % is waiting; 4 threads bring no more (2 cores)'
    """
    most = max(point.samples for point in points)
    tried = sorted(
        (point for point in points if point.samples == most),
        key=lambda point: (BACKENDS.index(point.backend), point.workers),
    )
    if step_ms is None:
        chosen = _quick(tried, batch_size)
        why = (
            f"{rate(chosen.samples_per_second)} samples/s{_beside_none(chosen, tried)}; {_others(chosen, tried, cores)}"
        )
    else:
        chosen, why = _for_training(tried, batch_size, step_ms, cores)
    text = f"{chosen.name if chosen.workers else 'batches (no workers)'}: {why}"
    return Advice(chosen.recipe, chosen.level, chosen.backend, chosen.workers, chosen.samples_per_second, text)


def _quick(tried: Sequence[Point], batch_size: int) -> Point:
    alike = _quickest(tried)
    a_while = batch_size / alike[0].samples_per_second > WORTH_SECONDS
    return alike[1] if len(alike) > 1 and not alike[0].workers and a_while else alike[0]


def _for_training(tried: Sequence[Point], batch_size: int, step_ms: float, cores: int) -> tuple[Point, str]:
    ahead = [point for point in tried if _keeps_ahead(point, _batch_ms(point, batch_size), step_ms)]
    chosen = ahead[0] if ahead else _quickest([point for point in tried if point.workers] or tried)[0]
    batch_ms = _batch_ms(chosen, batch_size)
    waiting = _waiting(chosen, batch_ms, step_ms)
    share = f"{waiting:.0%} is waiting".replace("%", " %")
    if chosen.workers:
        text = f"a batch every {batch_ms:.1f} ms, a training step takes {step_ms:.1f} ms: "
        share = share if waiting > _NOTHING else "the loader keeps up, with little to spare"
        return chosen, text + ("the loader keeps ahead" if ahead else f"{share}; {_others(chosen, tried, cores)}")
    text = f"a batch takes {batch_ms:.1f} ms, then a training step {step_ms:.1f} ms: {share}"
    return chosen, text + ("" if ahead else f"; {_others(chosen, tried, cores)}")


def _quickest(tried: Sequence[Point]) -> list[Point]:
    """The settings that are not clearly slower than the quickest: by too little to matter, or within the spread."""
    best = min(tried, key=lambda point: point.seconds)
    return [point for point in tried if not _slower(point, best)]


def _slower(one: Point, other: Point) -> bool:
    return one.seconds > CLEARLY * other.seconds and one.seconds - one.mad > other.seconds + other.mad


def _keeps_ahead(point: Point, batch_ms: float, step_ms: float) -> bool:
    return _HEADROOM * batch_ms <= step_ms and _waiting(point, batch_ms, step_ms) <= _NOTHING


def _waiting(point: Point, batch_ms: float, step_ms: float) -> float:
    """The share of the time that a training waits for batches."""
    return 1 - step_ms / max(batch_ms, step_ms) if point.workers else batch_ms / (batch_ms + step_ms)


def _batch_ms(point: Point, batch_size: int) -> float:
    return 1e3 * batch_size / point.samples_per_second


def rate(samples_per_second: float) -> str:
    """For people.

    >>> rate(1930.4), rate(6.04), rate(0.256)
    ('1,930', '6.0', '0.26')
    """
    if samples_per_second < 1:
        return f"{samples_per_second:.2g}"
    return f"{samples_per_second:,.{0 if samples_per_second >= 10 else 1}f}"


def _beside_none(chosen: Point, tried: Sequence[Point]) -> str:
    """How a setting compares with no workers."""
    if not chosen.workers or tried[0].workers:
        return ""
    if _slower(tried[0], chosen):
        return f", {tried[0].seconds / chosen.seconds:.1f} times as many as without workers"
    return ", about as many as without workers, but read while your own code runs"


def _others(chosen: Point, tried: Sequence[Point], cores: int) -> str:
    """What the other settings would bring."""
    beside = [point for point in tried if point.workers or not chosen.workers]
    best = min(beside, key=lambda point: point.seconds)
    gain = chosen.seconds / best.seconds - 1
    there = f"({cores} core{'s' * (cores > 1)})"
    if len(tried) == 1:
        return "nothing else was tried"
    if gain > _NOTHING:
        chance = ", within the spread" if gain >= CLEARLY - 1 else ""
        return f"{best.name}, the quickest, brings {100 * gain:.0f} % more{chance} {there}"
    if not chosen.workers:
        return f"workers bring no more {there}"
    wider = [
        str(point.workers) for point in tried if point.backend == chosen.backend and point.workers > chosen.workers
    ]
    if wider:
        return f"{' and '.join(wider)} {chosen.backend} bring no more {there}"
    if chosen.workers < cores:
        return f"more were not tried {there}"
    return f"no other setting brings more {there}"
