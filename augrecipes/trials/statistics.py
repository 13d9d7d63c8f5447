"""The statistics of a trial: scores paired by seed, a sign-flip test, BCa intervals, Holm's procedure.

All random numbers here have fixed seeds: the same scores give the same results.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import inf, isfinite, nan
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from augrecipes.bench.timing import student
from augrecipes.trials.record import NO_DIFFERENCE, ScoreVerdict, SeedEstimate

ALPHA = 0.05  # chance that a trial of equal recipes shows any difference
_EXACT = 12  # seeds up to which all sign flips are enumerated
_FLIPS = 2**14  # random flips beyond
_RESAMPLES = 10_000
_POWER = 0.8
_ROUNDING = 1e-9  # of sums, relative to the sum of absolute values
_SIMULATED = 2**22  # subset means of the simulation of the power
_NORMAL = NormalDist()
_KEY = 0x7261  # seeds the random numbers

Numbers = NDArray[np.float64]


def sign_flip(differences: Sequence[float]) -> float:
    """Two-sided p of the paired sign-flip test of the mean.

    Up to 12 differences the test is exact: it enumerates all sign flips. Beyond, it samples flips, with the correction
    that keeps the level (Phipson and Smyth, 2010). Sums that differ by rounding alone tie, and ties count as extreme.

    >>> sign_flip([0.1, 0.2, 0.1, 0.3, 0.2, 0.1]), sign_flip([0.0, 0.0])
    (0.03125, 1.0)
    """
    values = np.asarray(differences, np.float64)
    minus, extra = _minus_signs(len(values))
    sums = values.sum() - 2 * (minus @ values)
    extreme = np.count_nonzero(np.abs(sums) >= abs(values.sum()) - _ROUNDING * np.abs(values).sum())
    return float((extreme + extra) / (len(minus) + extra))


@lru_cache(maxsize=64)
def _minus_signs(count: int) -> tuple[NDArray[np.float32], int]:
    """Rows of 0 and 1, where 1 flips a sign; and the correction added to both counts of p."""
    if count <= _EXACT:
        return (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(np.float32), 0
    return np.random.default_rng((_KEY, 1, count)).integers(0, 2, (_FLIPS, count)).astype(np.float32), 1


def bca(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean by the BCa bootstrap (Efron, 1987).

    The plain interval covers only 89 % with eight values. So the quantiles are widened to Student's (Hesterberg, 2015,
    section 5.3): the bootstrap's variance lacks the factor n / (n - 1), and ignores its own uncertainty.

    >>> bca([0.5, 0.5, 0.5]), bca([0.25])
    ((0.5, 0.5), (0.25, 0.25))
    """
    numbers = np.asarray(values, np.float64)
    count, mean = len(numbers), float(numbers.mean()) if len(numbers) else nan
    if count < 2 or np.ptp(numbers) <= 1e-12 * np.abs(numbers).max():
        return mean, mean
    scale = float(np.abs(numbers - mean).max())
    away = (numbers - mean) / scale
    means = _resamples(count) @ away
    below = (np.count_nonzero(means < -_ROUNDING) + np.count_nonzero(means <= _ROUNDING)) / (2 * _RESAMPLES)
    bias = _NORMAL.inv_cdf(below)
    acceleration = (away**3).sum() / (6 * (away**2).sum() ** 1.5)  # within 1/6: the divisor below stays positive
    z = student(count, _NORMAL.inv_cdf(1 - ALPHA / 2)) * (count / (count - 1)) ** 0.5
    ends = [bias + (bias + end) / (1 - acceleration * (bias + end)) for end in (-z, z)]
    low, high = np.quantile(means, [_NORMAL.cdf(end) for end in ends])
    return mean + scale * float(low), mean + scale * float(high)


@lru_cache(maxsize=64)
def _resamples(count: int) -> Numbers:
    """Weights of the values in each bootstrap sample, one row a sample."""
    drawn = np.random.default_rng((_KEY, 2, count)).multinomial(count, np.full(count, 1 / count), _RESAMPLES)
    return drawn / count


def estimate(values: Sequence[float]) -> SeedEstimate:
    """The mean over seeds and its interval; values that are not finite count as missing seeds."""
    numbers = _finite(values)
    return SeedEstimate(float(numbers.mean()) if len(numbers) else nan, *bca(numbers.tolist()))


def _finite(values: Any) -> Numbers:
    numbers = np.asarray(values, np.float64)
    return numbers[np.isfinite(numbers)]


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values (1979), in the order of `ps`: the procedure rejects those up to α.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, highest = [0.0] * len(ps), 0.0
    for rank, k in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        highest = adjusted[k] = max(highest, min(1.0, ps[k] * (len(ps) - rank)))
    return adjusted


def seeds_needed(pairs: int, alpha: float = ALPHA) -> int:
    """The fewest seeds n whose smallest possible p, 2/2ⁿ, passes Holm's first step.

    >>> [seeds_needed(pairs) for pairs in (1, 3, 6)]
    [6, 7, 8]
    """
    seeds = 1
    while 2 * max(pairs, 1) > alpha * 2**seeds:
        seeds += 1
    return seeds


def smallest_difference(deviation: float, seeds: int, pairs: int = 1, alpha: float = ALPHA) -> float:
    """The smallest true difference that the test detects with 80 % power at Holm's first step; infinite if none.

    Args:
        deviation: standard deviation of the differences over seeds, assumed normal.
        seeds: number of seeds.
        pairs: number of comparisons.
        alpha: level of all comparisons together.
    """
    multiple = _detectable(seeds, alpha / max(pairs, 1))
    return multiple * deviation if isfinite(multiple) else inf


@lru_cache(maxsize=256)
def _detectable(seeds: int, level: float) -> float:
    """The smallest detectable difference for a deviation of 1, by simulation.

    Flipping the differences of a set M makes no smaller a sum of noise + d where d <= -mean of the noise in M. So the
    test rejects d beyond a quantile of all subset means (Hartigan, 1969): one sort a trial, and no search for d.
    """
    minus, extra = _minus_signs(seeds)
    rank = int((level * (len(minus) + extra) - extra) / 2 + 1e-9)  # either tail; the empty set is infinite
    if rank < 1:
        return inf
    trials = min(4096, _SIMULATED // len(minus))
    noise = np.random.default_rng((_KEY, 3, seeds)).standard_normal((seeds, trials), np.float32)
    sizes = minus.sum(1, keepdims=True)
    means = np.where(sizes > 0, minus @ noise / np.maximum(sizes, 1), -inf)
    critical = -np.partition(means, rank, axis=0)[rank]
    return float(np.quantile(critical, _POWER))


def compare(
    scores: Mapping[str, Sequence[float]], against: str | None = None, rungs: Sequence[int] = ()
) -> tuple[ScoreVerdict, ...]:
    """Compare every pair of recipes, or one recipe with all others, over the seeds that both have.

    Looking several times gives several chances to be wrong. So the p of a pair is its smallest at any rung, times the
    number of rungs (Bonferroni), and Holm's procedure takes those: whichever pairs stop early, and for whatever
    reason, a trial of equal recipes shows a difference at most 5 % of the time.

    Args:
        scores: by recipe, then by seed; values that are not finite count as missing seeds.
        against: the recipe that all others are compared with; None: every pair.
        rungs: numbers of seeds at which the scores are looked at, and decided pairs stop.
    """
    pairs = [(a, b) for a, b in combinations(scores, 2)] if against is None else [
        (against, other) for other in scores if other != against
    ]  # fmt: skip
    by_seed = [[x - y for x, y in zip(scores[a], scores[b], strict=False)] for a, b in pairs]
    alpha = ALPHA / max(len(rungs), 1)
    needed, ps = seeds_needed(len(pairs), alpha), holm([_smallest_p(differences, rungs) for differences in by_seed])
    verdicts = []
    for (a, b), differences, p in zip(pairs, map(_finite, by_seed), ps, strict=True):
        seeds, mean = len(differences), estimate(differences.tolist())
        better: Literal["a", "b"] = "a" if mean.mean > 0 else "b"
        verdict = None if seeds < needed else better if p <= ALPHA else NO_DIFFERENCE
        smallest = smallest_difference(float(differences.std(ddof=1)), seeds, len(pairs), alpha) if seeds > 1 else inf
        verdicts.append(ScoreVerdict(
            a=a, b=b, verdict=verdict, difference=mean.mean, low=mean.low, high=mean.high, p=p, smallest=smallest,
            seeds=seeds, needed=needed,
        ))  # fmt: skip
    return tuple(verdicts)


def _smallest_p(differences: Sequence[float], rungs: Sequence[int]) -> float:
    """The smallest p at the rungs reached so far, times the number of rungs (Bonferroni)."""
    ends = [rung for before, rung in zip((0, *rungs), rungs, strict=False) if before < len(differences)]
    ps = [sign_flip(_finite(differences[:end]).tolist()) for end in ends or [len(differences)]]
    return min(1.0, min(ps) * max(len(rungs), 1))
