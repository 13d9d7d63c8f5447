"""Training steps as text: a bar for each part, and how much of a step is waiting for samples."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from augrecipes.bench.figures import figure, percent, varied
from augrecipes.cli.aligned import bar, table
from augrecipes.cli.terminal import paint
from augrecipes.errors import counted

if TYPE_CHECKING:
    from augrecipes.bench.training import Training

_MUCH = 0.1  # of a step


def tell_training(found: Sequence[Training]) -> Iterator[str]:
    """A table for each side and each of those who read it, and what was trained."""
    for number, one in enumerate(found):
        if number:
            yield ""
        yield from _steps(one)
    yield from (paint(f"  {text}", "faint", sys.stdout) for text in _about(found))
    if all(one.backend == "batches" for one in found) and any(one.waiting > _MUCH for one in found):
        yield "  workers can read ahead meanwhile: --workers 0,1,2,4 finds how many it takes"


def _steps(one: Training) -> Iterator[str]:
    longest = max(part.ms for part in one.parts) or 1.0
    rows = []
    for part in one.parts:
        ms, _, spread = varied(part.ms, part.mad).partition(" ")
        rows.append([part.name, ms, spread, percent(part.share, 0), bar(part.ms / longest)])
    together = figure(sum(part.ms for part in one.parts), max(part.mad for part in one.parts))
    rows.append(["total", together, "", "", ""])
    yield from table(f"{one.name}, {_readers(one)}: ms of a training step", None, rows, left=(0, 4))
    yield f"  {percent(one.waiting, 0)} of a step is waiting for samples"


def _readers(one: Training) -> str:
    if one.backend == "batches":
        return "read in this process when asked for"
    what = "thread" if one.backend == "threads" else "worker process"
    return f"read ahead by {counted(one.workers, what)}"


def _about(found: Sequence[Training]) -> Iterator[str]:
    first = found[0]
    fewest, most = (f"{pick(one.steps for one in found):,}" for pick in (min, max))
    yield f"step: {'; '.join(dict.fromkeys(one.step for one in found))}"
    steps = fewest if fewest == most else f"{fewest} to {most}"
    yield f"{steps} steps each, in turns, in batches of {first.batch_size}; {_where(first)}"


def _where(one: Training) -> str:
    if any(part.name == "training step" for part in one.parts):
        return "this thread sleeps meanwhile, as it would while a GPU works"
    threads = f"torch's own {counted(one.threads, 'thread')}"
    if one.device == "cpu":
        return f"on the CPU, {threads}"
    return f"on {one.device}, which is waited for after every part; {threads}"
