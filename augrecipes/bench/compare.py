"""Verdicts: which of two is quicker, where the spread allows to say so, and what binds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from augrecipes.bench.figures import figure
from augrecipes.bench.measure import CONFIDENCE, FEWEST_ROUNDS, Ratio
from augrecipes.bench.stages import Stage

if TYPE_CHECKING:
    from augrecipes.bench.machine import Machine
    from augrecipes.bench.record import SideRecord

# Two copies of one program differ by so much, by where their memory happens to lie.
MARGIN = 0.03
BUSY = 0.15  # share of the time; who waits longer for a core shares the machine with others
ASTRAY = 0.1  # by which a sum of stages may miss the whole


def verdict(one: str, other: str, ratio: Ratio, work: Ratio | None = None) -> str:
    """What the time of `one` over that of `other` lets one say.

    Args:
        one: a side.
        other: another.
        ratio: of their times, by the clock on the wall.
        work: of their work, by the processor's clock, which must say the same where the machine was busy; None: it was
            not.

    >>> rounds = (1.3,) * 9
    >>> verdict("A", "B", Ratio(1.345, 1.31, 1.38, rounds))
    'B is 1.31 to 1.38 times as fast as A'
    >>> verdict("A", "B", Ratio(0.5, 0.4, 0.6, rounds))
    'A is 1.67 to 2.50 times as fast as B'
    >>> verdict("A", "B", Ratio(1.02, 0.97, 1.08, rounds))
    'A and B: no difference that this machine can show (A 0.93 to 1.03 times as fast)'
    """
    if differs(ratio, work):
        if ratio.low > 1:
            return f"{other} is {interval(ratio.low, ratio.high)} times as fast as {one}"
        return f"{one} is {interval(1 / ratio.high, 1 / ratio.low)} times as fast as {other}"
    times = f"{interval(1 / ratio.high, 1 / ratio.low)} times as fast"
    return f"{one} and {other}: no difference that this machine can show ({one} {times})"


def interval(low: float, high: float) -> str:
    """An interval of ratios, as people read it: two ends, or one figure where they are written alike.

    >>> interval(0.93, 1.031), interval(0.971, 0.974)
    ('0.93 to 1.03', '0.97')
    """
    ends = f"{low:.2f}", f"{high:.2f}"
    return " to ".join(dict.fromkeys(ends))


def differs(ratio: Ratio, work: Ratio | None = None) -> bool:
    """Whether the whole interval is beyond what two copies of one program may differ by.

    On a busy machine who waits for a core is chance: there the interval of the work must lie on the same side.

    >>> rounds = (1.3,) * 9
    >>> differs(Ratio(1.3, 1.2, 1.4, rounds)), differs(Ratio(1.3, 1.2, 1.4, rounds), Ratio(1.0, 0.9, 1.1, rounds))
    (True, False)
    """
    if len(ratio.rounds) < FEWEST_ROUNDS:
        return False
    slower, quicker = ratio.low > 1 + MARGIN, ratio.high < 1 / (1 + MARGIN)
    if work is not None:
        slower, quicker = slower and work.low > 1, quicker and work.high < 1
    return slower or quicker


def how_sure() -> str:
    """What an interval is, for people."""
    text = f"{CONFIDENCE:.0%} interval over the rounds; differences below {MARGIN:.0%} are left to chance"
    return text.replace("%", " %")


def waiting(ms: float, cpu_ms: float, reading: float) -> float:
    """The share of a sample's time in which it waited for a core, 0..1: neither work nor waiting for files.

    Args:
        ms: a sample, by the clock on the wall.
        cpu_ms: a sample, that the processor was at work on it.
        reading: the share of files, 0..1.

    >>> round(waiting(31.0, 5.6, 0.02), 2), waiting(5.0, 4.9, 0.1)
    (0.8, 0.0)
    """
    return max(0.0, 1.0 - cpu_ms / ms - reading) if ms > 0 else 0.0


def busy(sides: Sequence[SideRecord], about: Machine) -> str:
    """That the machine was busy with other things, for people; empty where no side waited long for a core."""
    shares = {side.name: waiting(side.ms, side.cpu_ms, share_of_reading(side.stages)) for side in sides if side.stages}
    most = max((side for side in sides if side.stages), key=lambda side: shares[side.name], default=None)
    if most is None or shares[most.name] <= BUSY:
        return ""
    load = "" if about.load is None else f" (load {about.load:.1f} on {about.cores} cores)"
    ms, work = figure(most.ms, most.mad), figure(most.cpu_ms, most.mad)
    return (
        f"the machine was busy{load}: of the {ms} ms a sample of {most.name} {work} ms is work, and most of the rest "
        "is waiting for a core; measure again when it is calm"
    )


def astray(accounted: Ratio | None) -> bool:
    """Whether what the stages add up to is certainly another time than that of the whole."""
    return accounted is not None and (accounted.low > 1 + ASTRAY or accounted.high < 1 - ASTRAY)


def share_of_reading(stages: Sequence[Stage]) -> float:
    """What reading files takes of all stages, 0..1."""
    whole = sum(stage.ms for stage in stages)
    return sum(stage.ms for stage in stages if stage.kind == "read") / whole if whole else 0.0


def binds(
    stages: Sequence[Stage],
    hand_over: float | None,
    workers: int,
    train_step: float | None = None,
    work: float = 1.0,
) -> str:
    """What keeps samples from coming faster, in one sentence with the reason.

    Args:
        stages: ms a sample.
        hand_over: ms a sample from a worker process to the consumer; None: not measured.
        workers: processes that read; 0 reads in the consumer's own.
        train_step: ms that the consumer needs for a sample; None: not known.
        work: the share of the time in which the processor was at work, 0..1; on a busy machine the rest is waiting.

    >>> read, crop = Stage("read", "read", 0.2, 0.0), Stage("step", "Crop#1", 0.8, 0.0)
    >>> binds([read, crop], None, 0)
    'CPU binds: 80 % of the 1.00 ms a sample is work, most of it Crop#1 (0.80 ms); reading takes 0.20 ms'
    >>> binds([read, crop], 2.0, 4)
    'hand-over binds: 4 workers could make a sample every 0.25 ms, handing it to the consumer takes 2.00 ms'
    >>> binds([read, crop], 0.1, 4, train_step=3.0)
    'the training step binds: it takes 3.00 ms a sample, the loader 0.25 ms'
    >>> binds([read, crop], None, 0, work=0.3)
    'CPU binds, and the machine was busy: of 1.00 ms a sample 0.30 is work (most Crop#1), 0.50 waiting for a core'
    """
    whole = sum(stage.ms for stage in stages)
    made = whole / max(workers, 1)
    handed = hand_over if workers and hand_over is not None else 0.0
    if train_step is not None and train_step >= max(made, handed):
        return f"the training step binds: it takes {train_step:.2f} ms a sample, the loader {max(made, handed):.2f} ms"
    if handed > made:
        return (
            f"hand-over binds: {workers} workers could make a sample every {made:.2f} ms, "
            f"handing it to the consumer takes {handed:.2f} ms"
        )
    reading = sum(stage.ms for stage in stages if stage.kind == "read")
    most = max((stage for stage in stages if stage.kind != "read"), key=lambda stage: stage.ms)
    if reading > whole - reading:
        return (
            f"reading binds: {reading / whole:.0%} of the {whole:.2f} ms a sample is waiting for files "
            f"({reading:.2f} ms); the longest work is {_named(most)} ({most.ms:.2f} ms)"
        ).replace("%", " %")
    idle = waiting(1.0, work, reading / whole)
    if idle > BUSY:
        return (
            f"CPU binds, and the machine was busy: of {whole:.2f} ms a sample {work * whole:.2f} is work "
            f"(most {_named(most)}), {idle * whole:.2f} waiting for a core"
        )
    return (
        f"CPU binds: {1 - reading / whole:.0%} of the {whole:.2f} ms a sample is work, "
        f"most of it {_named(most)} ({most.ms:.2f} ms); reading takes {reading:.2f} ms"
    ).replace("%", " %")


def _named(stage: Stage) -> str:
    """A stage inside a sentence."""
    return {"decode": "decoding", "collate": "collating"}.get(stage.kind, stage.name)
