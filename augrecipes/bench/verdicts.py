"""Verdicts: which of two sides is faster, if the difference is significant, and the bottleneck; figures as text."""

from collections.abc import Sequence
from math import floor, log10

from augrecipes.bench.stages import Stage
from augrecipes.bench.timing import CONFIDENCE, FEWEST_ROUNDS, Ratio
from augrecipes.errors import counted

# Two copies of the same program differ by as much, depending on the layout of their memory.
MARGIN = 0.03
BUSY = 0.15  # share of the time spent waiting for a core, above which the machine counts as busy
_DIGITS = 3  # decimals at most


def verdict(first: str, second: str, ratio: Ratio, work: Ratio | None = None) -> str:
    """A sentence on which of two sides is faster.

    Args:
        first: name of a side.
        second: name of the other.
        ratio: wall time of `first` over that of `second`.
        work: the ratio of CPU time, which must agree on a busy machine; None: the machine was not busy.

    >>> rounds = (1.3,) * 9
    >>> verdict("A", "B", Ratio(1.345, 1.31, 1.38, rounds))
    'B is 1.31 to 1.38 times as fast as A'
    >>> verdict("A", "B", Ratio(0.5, 0.4, 0.6, rounds))
    'A is 1.67 to 2.50 times as fast as B'
    >>> verdict("A", "B", Ratio(1.02, 0.97, 1.08, rounds))
    'A and B: no statistically significant difference (A 0.93 to 1.03 times as fast)'
    """
    a_faster = f"{interval(1 / ratio.high, 1 / ratio.low)} times as fast"
    if not differs(ratio, work):
        return f"{first} and {second}: no statistically significant difference ({first} {a_faster})"
    if ratio.low > 1:
        return f"{second} is {interval(ratio.low, ratio.high)} times as fast as {first}"
    return f"{first} is {a_faster} as {second}"


def interval(low: float, high: float) -> str:
    """The two ends of an interval, or a single figure if both round to the same.

    >>> interval(0.93, 1.031), interval(0.971, 0.974)
    ('0.93 to 1.03', '0.97')
    """
    return " to ".join(dict.fromkeys((f"{low:.2f}", f"{high:.2f}")))


def differs(ratio: Ratio, work: Ratio | None = None) -> bool:
    """Whether the whole interval is beyond the difference between two copies of the same program.

    On a busy machine waiting for a core is noise, so the interval of the CPU time must lie on the same side.

    >>> rounds = (1.3,) * 9
    >>> differs(Ratio(1.3, 1.2, 1.4, rounds)), differs(Ratio(1.3, 1.2, 1.4, rounds), Ratio(1.0, 0.9, 1.1, rounds))
    (True, False)
    """
    slower = ratio.low > 1 + MARGIN and (work is None or work.low > 1)
    faster = ratio.high < 1 / (1 + MARGIN) and (work is None or work.high < 1)
    return len(ratio.rounds) >= FEWEST_ROUNDS and (slower or faster)


def how_sure() -> str:
    """The confidence level of an interval, in words."""
    return f"{100 * CONFIDENCE:.0f} % interval over the rounds; differences below {100 * MARGIN:.0f} % count as noise"


def waiting(ms: float, cpu_ms: float, stages: Sequence[Stage]) -> float:
    """The share of a sample's time spent waiting for a core, 0..1: neither computing nor waiting for files.

    >>> round(waiting(31.0, 5.6, []), 2), waiting(5.0, 4.9, [])
    (0.82, 0.02)
    """
    whole = sum(stage.ms for stage in stages) or 1.0
    reading = sum(stage.ms for stage in stages if stage.kind == "read") / whole
    return round(max(0.0, 1.0 - cpu_ms / ms - reading), 6) if ms > 0 else 0.0


def bottleneck(stages: Sequence[Stage], transfer: float, workers: int, step_ms: float = 0.0) -> str:
    """What limits throughput, and its time per sample.

    Args:
        stages: the stages, in ms per sample.
        transfer: ms per sample from a worker process to the consumer; 0: samples are not sent.
        workers: number of workers; 0: this process reads.
        step_ms: ms per sample of a training step; 0: unknown.

    >>> read, crop = Stage("read", "read", 0.2, 0.0), Stage("step", "Crop#1", 0.8, 0.0)
    >>> bottleneck([read, crop], 0.0, 0), bottleneck([read, crop], 2.0, 4)
    ('CPU, mostly Crop#1: 0.80 of 1.00 ms', 'worker transfer: 2.00 ms, 4 workers make a sample every 0.25 ms')
    >>> bottleneck([read, crop], 0.1, 4, 3.0)
    'training step: 3.00 ms a sample, the loader takes 0.25 ms'
    """
    whole = sum(stage.ms for stage in stages)
    loading = whole / max(workers, 1)
    if step_ms and step_ms >= max(loading, transfer):
        return f"training step: {step_ms:.2f} ms a sample, the loader takes {max(loading, transfer):.2f} ms"
    if transfer > loading:
        return f"worker transfer: {transfer:.2f} ms, {workers} workers make a sample every {loading:.2f} ms"
    reading = sum(stage.ms for stage in stages if stage.kind == "read")
    if reading > whole - reading:
        return f"reading files: {reading:.2f} of {whole:.2f} ms"
    most = max((stage for stage in stages if stage.kind != "read"), key=lambda stage: stage.ms)
    return f"CPU, mostly {most.name}: {most.ms:.2f} of {whole:.2f} ms"


def digits_for(value: float, spread: float | None = None) -> int:
    """The number of decimals for a figure, by its size or, if that gives fewer, by its spread.

    >>> digits_for(0.1234), digits_for(12.345), digits_for(345.67), digits_for(2345.6)
    (3, 2, 1, 0)
    >>> digits_for(5.652, 5.1), digits_for(5.652, 0.31), digits_for(0.5, 0.0001), digits_for(5.0, 0.0)
    (0, 1, 3, 3)
    """
    own = 3 if value < 10 else 2 if value < 100 else 1 if value < 1000 else 0
    if not spread or spread <= 0:
        return own
    return max(0, min(own, _DIGITS, -floor(log10(spread))))


def figure(value: float, spread: float | None = None) -> str:
    """A figure as text.

    >>> figure(30.974, 5.1), figure(30.974)
    ('31', '30.97')
    """
    return f"{value:,.{digits_for(value, spread)}f}"


def percent(share: float, digits: int = 1) -> str:
    """A share, 0..1, as a percentage.

    >>> percent(0.1234), percent(1.0), percent(0.0), percent(0.0002), percent(0.1234, 0)
    ('12.3 %', '100.0 %', '0.0 %', '< 0.1 %', '12 %')
    """
    return "< 0.1 %" if digits and 0 < share < 0.0005 else f"{100 * share:.{digits}f} %"


def varied(value: float, spread: float) -> str:
    """A figure and its spread, with the same number of decimals.

    >>> varied(30.974, 5.1), varied(1.2345, 0.0312)
    ('31 ± 5', '1.23 ± 0.03')
    """
    digits = digits_for(value, spread)
    return f"{value:,.{digits}f} ± {spread:,.{digits}f}"


def readers(backend: str, workers: int) -> str:
    """The backend and number of workers, in words.

    >>> readers("threads", 1), readers("processes", 2), readers("batches", 0)
    ('1 thread', '2 worker processes', 'no workers')
    """
    return counted(workers, "thread" if backend == "threads" else "worker process") if workers else "no workers"


def rate(samples_per_second: float) -> str:
    """Samples per second, as text.

    >>> rate(1930.4), rate(6.04), rate(0.256)
    ('1,930', '6.0', '0.26')
    """
    if samples_per_second < 1:
        return f"{samples_per_second:.2g}"
    return f"{samples_per_second:,.{0 if samples_per_second >= 10 else 1}f}"
