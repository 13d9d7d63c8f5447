"""Interleaved rounds, medians and confidence intervals: timing in which other load hits all pieces of work alike."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augrecipes.machine import no_collection
from augrecipes.progress import Progress

CONFIDENCE = 0.99
FEWEST_ROUNDS = 7  # fewer give no useful interval
_MOST_ROUNDS = 41
_Z = 2.5758  # quantile of the normal distribution at that level
_NORMAL, _OF_MEDIAN = 1.4826, 1.2533  # deviation over MAD, and that of a median over that of a mean
_STALL = 3.0  # deviations
_TICK = 1e-9  # seconds; avoids 0 / 0 if a clock has not advanced

Times = NDArray[np.float64]


@dataclass(frozen=True)
class Work:
    """Work that is timed batch by batch.

    Attributes:
        name: its name.
        start: begins a pass; each `next` of the result runs a batch, and every pass has the same batches.
        after: called after each batch with its number, outside the timed span.
    """

    name: str
    start: Callable[[], Iterator[Any]]
    after: Callable[[int], object] = lambda _: None


def calls(name: str, function: Callable[[], object], times: int = 1) -> Work:
    """A function as work, with a number of calls as a batch.

    >>> interleaved([calls("sum", lambda: sum(range(9)), 10)], rounds=2, batches=1).shape
    (2, 1, 2, 1)
    """

    def batches() -> Iterator[None]:
        while True:
            for _ in repeat(None, times):
                function()
            yield

    return Work(name, batches)


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as long one piece of work takes as another.

    Attributes:
        middle: the estimate: the time of the first over the time of the second.
        low: lower end of the confidence interval at level `CONFIDENCE`, which assumes rounds of the same distribution.
        high: its upper end.
        rounds: the ratio in each round.
    """

    middle: float
    low: float
    high: float
    rounds: tuple[float, ...]


def interleaved(works: Sequence[Work], rounds: int, batches: int, progress: Progress | None = None) -> Times:
    """Time several pieces of work batch by batch, in turns: A B, B A, A B, ...

    Args:
        works: the pieces of work, already warmed up.
        rounds: passes of each.
        batches: batches per pass.
        progress: called with (rounds done, rounds).

    Returns:
        float64 (2, works, rounds, batches): seconds of wall time, and of CPU time, which is much steadier on a busy
        machine and excludes waiting.
    """
    times = np.zeros((2, len(works), rounds, batches))
    for turn in range(rounds):
        passes = [work.start() for work in works]
        for batch in range(batches):
            for k in turn_order(len(works), turn, batch):
                times[:, k, turn, batch] = _time_batches(passes[k])
                works[k].after(batch)
        del passes
        if progress:
            progress(turn + 1, rounds)
    return times


def _time_batches(batches: Iterator[Any]) -> tuple[float, float]:
    with no_collection():
        start, worked = perf_counter(), process_time()
        batch = next(batches)
        cpu, seconds = process_time() - worked, perf_counter() - start
        del batch
    return seconds, cpu


def turn_order(count: int, turn: int, batch: int = 0) -> list[int]:
    """The order of works in a batch, in which each is first, and each follows each other, equally often.

    >>> [turn_order(2, 0, batch) for batch in range(3)], turn_order(3, 1)
    ([[0, 1], [1, 0], [0, 1]], [1, 2, 0])
    """
    order = [(k + turn) % count for k in range(count)]
    return order[::-1] if batch % 2 else order


def total(times: Times) -> float:
    """Seconds per pass: for each batch the median round, summed, which is robust against single stalls.

    >>> total(np.array([[1.0, 2.0], [1.0, 9.0], [5.0, 2.0]]))
    3.0
    """
    return float(np.median(times, axis=0).sum())


def mad(values: Any) -> float:
    """The median absolute deviation from the median."""
    values = np.asarray(values, np.float64)
    return float(np.median(np.abs(values - np.median(values)))) if values.size else 0.0


@dataclass(frozen=True, slots=True)
class Gaps:
    """Batch latency: milliseconds between consecutive batches, as the consumer sees them.

    Attributes:
        p50: the median.
        p95: the 95th percentile.
        p99: the 99th percentile.
    """

    p50: float
    p95: float
    p99: float


def gaps_of(seconds: NDArray[np.float64]) -> Gaps:
    """The percentiles of the times between batches, given in seconds.

    >>> gaps_of(np.array([0.001, 0.001, 0.003]))
    Gaps(p50=1.0, p95=2.8, p99=2.96)
    """
    return Gaps(*(round(1e3 * float(value), 6) for value in np.quantile(seconds, (0.5, 0.95, 0.99))))


def ratio(times: Times, baseline: Times) -> Ratio:
    """The quotient of two times, both (rounds, batches), measured interleaved.

    Each batch is compared with the same batch of the same round, so that a slow round slows both. The median over
    rounds is taken for each batch, and batches are weighted by their time. The interval is Student's over the rounds'
    deviations from those medians, winsorised at three standard deviations, since larger ones are stalls.

    >>> found = ratio(np.full((9, 2), 3.0), np.full((9, 2), 2.0))
    >>> [round(value, 6) for value in (found.middle, found.low, found.high)]
    [1.5, 1.5, 1.5]
    """
    rounds = len(times)
    logs = np.log(np.maximum(times, _TICK)) - np.log(np.maximum(baseline, _TICK))
    medians = np.median(logs, axis=0)
    others = np.maximum(np.median(baseline, axis=0), _TICK)
    share = others * np.exp(medians)
    middle = float(share.sum() / others.sum())
    deviations = logs - medians
    bound = _STALL * _NORMAL * np.median(np.abs(deviations), axis=0)
    clipped = np.clip(deviations, -bound, bound) @ (share / share.sum())
    error = float(np.exp(student(rounds) * _OF_MEDIAN * np.sqrt((clipped**2).sum() / max(rounds - 1, 1) / rounds)))
    by_round = times.sum(1) / np.maximum(baseline.sum(1), _TICK)
    return Ratio(middle, middle / error, middle * error, tuple(by_round.tolist()))


def student(rounds: int, normal: float = _Z) -> float:
    """Student's two-sided quantile at level `CONFIDENCE`, by its expansion around the normal quantile.

    >>> round(student(15), 2), round(student(10**6), 2)
    (2.97, 2.58)
    """
    freedom = max(rounds - 1, 1)
    cubic, quintic = normal**3 + normal, 5 * normal**5 + 16 * normal**3 + 3 * normal
    return normal + cubic / (4 * freedom) + quintic / (96 * freedom**2)


def spread_out(total: int, count: int) -> list[int]:
    """Rows of `count` samples, spread evenly over the data; repeated beyond its size, with new random parameters.

    >>> spread_out(6, 3), spread_out(2, 5)
    ([0, 2, 4], [0, 1, 0, 1, 0])
    """
    return [k * total // count if count <= total else k % total for k in range(count)]


class RunSize(NamedTuple):
    """The size of a run: the number of passes, and of batches in each."""

    rounds: int
    batches: int


def fitting(works: Sequence[Work], seconds: float, batches: int) -> RunSize:
    """The size of a run that takes `seconds` for each work, by timing a batch of each."""
    once = float(interleaved(works, 1, 1)[0].sum())
    return size_for(seconds * len(works), once, batches)


def size_for(seconds: float, a_batch: float, batches: int) -> RunSize:
    """The size of a run that takes `seconds`, if a batch of all works takes `a_batch`.

    Many short rounds tell more than few long ones, so passes are shortened before rounds are dropped below the fewest;
    no pass is shorter than a batch.

    >>> size_for(10, 0.01, 8), size_for(1, 0.1, 8), size_for(1, 1.0, 8)
    (RunSize(rounds=41, batches=8), RunSize(rounds=10, batches=1), RunSize(rounds=7, batches=1))
    """
    count = max(1, min(batches, int(seconds / a_batch / FEWEST_ROUNDS)))
    return RunSize(max(FEWEST_ROUNDS, min(_MOST_ROUNDS, int(seconds / a_batch / count))), count)
