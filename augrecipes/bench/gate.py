"""The gate: whether a recipe got slower since a record was taken, seen by its ratio to stock albumentations.

A slow day slows stock down as much as the recipe, so their ratio compares runs, and machines of a kind. Stock runs the
steps that the recipe had when the record was taken, and of those only what albumentations itself has: the yardstick
does not change with what it measures.

Two ratios are compared with the record: of time, and of CPU time. CPU time is steady on a machine that others keep
busy, and shows what a step computes; time shows waiting, too. A side fails where the whole interval of either is
beyond the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, hypot, log
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from augrecipes.bench.record import Bench, Ratios, read
from augrecipes.bench.timing import Ratio
from augrecipes.errors import BenchError, RecipeError
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text
from augrecipes.versions import differences

Outcome = Literal["slower", "cannot tell", "passes"]


@dataclass(frozen=True, slots=True)
class Gate:
    """A side compared with its record.

    Attributes:
        side: its name.
        then: ratio to stock in the record, of what `of` says.
        now: in this run.
        change: now over then: 1.3 is 30% slower; `low` and `high` hold what is not known of both.
        of: `time` or `work`, whichever decided.
        outcome: `slower` where the whole interval is beyond the limit, `passes` where that of the CPU time is within
            it, else `cannot tell`, which does not fail.
        step: the stage that gained most, in parts of stock's time; empty where none gained.
        gained: how much, in ms a sample at this run's speed.
    """

    side: str
    then: float
    now: float
    change: Ratio
    of: Literal["time", "work"]
    outcome: Outcome
    step: str
    gained: float


@dataclass(frozen=True, slots=True)
class Baseline:
    """A record to compare with.

    Attributes:
        path: of the file.
        record: it; data, mode, samples and batch size must be alike for ratios to be comparable.
        yardsticks: what stock runs, by recipe.
    """

    path: Path
    record: Bench
    yardsticks: Mapping[str, Recipe]

    @property
    def date(self) -> str:
        """When it was taken."""
        return self.record.machine.date

    def undecided(self, recipe: str, level: str, time: Ratio, work: Ratio, *, limit: float) -> bool:
        """Whether more rounds would help to tell how a side compares."""
        side = self.record.side(recipe, level)
        return bool(side and side.ratios) and outcome(side.ratios, (time, work), limit)[0] == "cannot tell"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A run compared with a record.

    Attributes:
        baseline: the record.
        limit: how much slower is too slow: 0.15 is 15%.
        gates: one for each side that the record has.
        warnings: what was otherwise then than now.
    """

    baseline: Baseline
    limit: float
    gates: tuple[Gate, ...]
    warnings: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Whether no side is slower than the record allows."""
        return all(one.outcome != "slower" for one in self.gates)


def open_baseline(path: Path) -> Baseline:
    """Read a record.

    Raises:
        BenchError: it is none, or holds no ratios to stock.
    """
    try:
        record = TypeAdapter(Bench).validate_python(read(path))
        for side in record.sides:
            for one in side.ratios or ():
                record.ms_of_stock(side.recipe)
                if not 0 < one.low <= one.middle <= one.high:
                    raise ValueError(f"{one.middle} is not between {one.low} and {one.high}")
    except (StopIteration, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise BenchError(f"{path}: a record that was changed or cut: {why}") from None
    if not any(side.ratios for side in record.sides):
        raise BenchError(f"{path}: has no ratios to stock; take it again with --against stock")
    try:
        yardsticks = {
            one.name: parse_text(one.yardstick, file=f"{path}, {one.name}", plugins=False) for one in record.recipes
        }
    except RecipeError as error:
        raise BenchError(f"{path}: its recipe cannot be read any more: {error}") from None
    return Baseline(path, record, yardsticks)


def judge(baseline: Baseline, bench: Bench, limit: float) -> Judgement:
    """Compare a run with a record; sides that the record does not have are passed over.

    Args:
        baseline: the record.
        bench: the run.
        limit: how much slower is too slow: 0.15 is 15%.

    Raises:
        BenchError: the record has none of the sides.
    """
    then, report = baseline.record, bench.to_json()
    warnings = [
        f"{key} was {was!r} then and is {report[key]!r} now: ratios may not be comparable"
        for key in ("data", "mode", "samples", "batch_size")
        if report[key] != (was := getattr(then, key))
    ]
    taken = differences({"processor": then.machine.features})
    warnings += [f"the record was taken with {one}: pixels may differ, and times" for one in taken]
    found = []
    for side in bench.sides:
        was = then.side(side.recipe, side.level)
        if was is None or was.ratios is None or side.ratios is None:
            continue
        result, of = outcome(was.ratios, side.ratios, limit)
        before, now = (ratios[of == "work"] for ratios in (was.ratios, side.ratios))
        faster = bench.ms_of_stock(side.recipe) / then.ms_of_stock(side.recipe)
        ms = {stage.name: faster * stage.ms for stage in was.stages}
        gains = [(stage.ms - ms.get(stage.name, 0.0), stage.name) for stage in side.stages]
        gained, step = max([(0.0, ""), *gains])
        found.append(Gate(side.name, before.middle, now.middle, change_of(before, now), of, result, step, gained))
    if not found:
        have = ", ".join(side.name for side in then.sides if side.ratios)
        raise BenchError(f"{baseline.path}: has none of these recipes and settings; it has {have}")
    return Judgement(baseline, limit, tuple(found), tuple(warnings))


def outcome(then: Ratios, now: Ratios, limit: float) -> tuple[Outcome, Literal["time", "work"]]:
    """How a side came out, and by what."""
    time, work = (change_of(*both) for both in zip(then, now, strict=True))
    for of, change in (("work", work), ("time", time)):
        if change.low > 1 + limit:
            return "slower", of
    return "passes" if work.high <= 1 + limit else "cannot tell", "work"


def change_of(then: Ratio, now: Ratio) -> Ratio:
    """Two independent ratios: what is not known of each adds up as squares.

    >>> change_of(Ratio(1.0, 1.0, 1.0, ()), Ratio(1.3, 1.2, 1.4, ()))
    Ratio(middle=1.3, low=1.2, high=1.4, rounds=())
    """
    change = log(now.middle / then.middle)
    low = exp(change - hypot(log(now.middle / now.low), log(then.high / then.middle)))
    high = exp(change + hypot(log(now.high / now.middle), log(then.middle / then.low)))
    middle, low, high = (round(value, 12) for value in (exp(change), low, high))
    return Ratio(middle, low, high, ())
