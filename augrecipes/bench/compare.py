"""Verdicts: which of two is quicker, where the spread allows to say so, and what binds."""

from __future__ import annotations

from collections.abc import Sequence

from augrecipes.bench.measure import CONFIDENCE, FEWEST_ROUNDS, Ratio
from augrecipes.bench.stages import Stage

# Two copies of one program differ by so much, by where their memory happens to lie.
MARGIN = 0.03
ASTRAY = 0.1  # by which a sum of stages may miss the whole


def verdict(one: str, other: str, ratio: Ratio) -> str:
    """What the time of `one` over that of `other` lets one say.

    >>> told = (1.3,) * 9
    >>> verdict("A", "B", Ratio(1.345, 1.31, 1.38, told))
    'B is 1.31 to 1.38 times as fast as A'
    >>> verdict("A", "B", Ratio(0.5, 0.4, 0.6, told))
    'A is 1.67 to 2.50 times as fast as B'
    >>> verdict("A", "B", Ratio(1.02, 0.97, 1.08, told))
    'A and B: no difference that this machine can show (0.97 to 1.08 times)'
    """
    if differs(ratio):
        if ratio.low > 1:
            return f"{other} is {ratio.low:.2f} to {ratio.high:.2f} times as fast as {one}"
        return f"{one} is {1 / ratio.high:.2f} to {1 / ratio.low:.2f} times as fast as {other}"
    return f"{one} and {other}: no difference that this machine can show ({ratio.low:.2f} to {ratio.high:.2f} times)"


def differs(ratio: Ratio) -> bool:
    """Whether the whole interval is beyond what two copies of one program may differ by."""
    return len(ratio.rounds) >= FEWEST_ROUNDS and (ratio.low > 1 + MARGIN or ratio.high < 1 / (1 + MARGIN))


def how_sure() -> str:
    """What an interval is, for people."""
    return f"{CONFIDENCE:.0%} interval over the rounds; differences below {MARGIN:.0%} are left to chance"


def binds(stages: Sequence[Stage], hand_over: float | None, workers: int, train_step: float | None = None) -> str:
    """What keeps samples from coming faster, in one sentence with the reason.

    Args:
        stages: ms a sample.
        hand_over: ms a sample from a worker process to the consumer; None: not measured.
        workers: processes that read; 0 reads in the consumer's own.
        train_step: ms that the consumer needs for a sample; None: not known.

    >>> read, crop = Stage("read", "read", 0.2, 0.0), Stage("step", "Crop#1", 0.8, 0.0)
    >>> binds([read, crop], None, 0)
    'CPU binds: 80 % of the 1.00 ms a sample is work, most of it Crop#1 (0.80 ms); reading takes 0.20 ms'
    >>> binds([read, crop], 2.0, 4)
    'hand-over binds: 4 workers could make a sample every 0.25 ms, handing it to the consumer takes 2.00 ms'
    >>> binds([read, crop], 0.1, 4, train_step=3.0)
    'the training step binds: it takes 3.00 ms a sample, the loader 0.25 ms'
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
    return (
        f"CPU binds: {1 - reading / whole:.0%} of the {whole:.2f} ms a sample is work, "
        f"most of it {_named(most)} ({most.ms:.2f} ms); reading takes {reading:.2f} ms"
    ).replace("%", " %")


def _named(stage: Stage) -> str:
    """A stage inside a sentence."""
    return {"decode": "decoding", "collate": "collating", "around": "Python around the steps"}.get(
        stage.kind, stage.name
    )
