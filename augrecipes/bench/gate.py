"""The gate: whether a recipe got slower since a record was taken, seen by its ratio to stock albumentations.

A slow day slows stock down as much as the recipe, so their ratio compares runs, and machines of a kind. Stock runs the
steps that the recipe had when the record was taken, and of those only what albumentations itself has: the yardstick
does not change with what it measures.

Two ratios are held against the record: of time, and of the processor's work. Work is steady on a machine that others
keep busy, and shows what a step computes; time shows waiting, too. A side fails where the whole interval of either is
beyond the limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from pathlib import Path
from typing import Any, Literal

from augrecipes.bench.measure import Ratio
from augrecipes.bench.record import Bench, SideRecord, read
from augrecipes.bench.sides import STOCK
from augrecipes.errors import BenchError, RecipeError
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text
from augrecipes.versions import differences

Outcome = Literal["slower", "cannot tell", "passes"]


@dataclass(frozen=True, slots=True)
class Then:
    """A side as the record has it.

    Attributes:
        time: its time over that of stock.
        work: the processor's work over that for stock.
        stages: ms a sample of each over the ms of stock, by name.
    """

    time: Ratio
    work: Ratio
    stages: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RatioChange:
    """A ratio now over the ratio then: 1.3 is 30% slower; `low` and `high` hold what is not known of both."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Gate:
    """A side against its record.

    Attributes:
        side: its name.
        then: ratio to stock in the record, of what `of` says.
        now: in this run.
        change: now over then.
        of: `time` or `work`, whichever decided.
        outcome: `slower` where the whole interval is beyond the limit, `passes` where that of the work is within it,
            else `cannot tell`, which does not fail.
        step: the stage that gained most, in parts of stock's time; empty where none gained.
        gained: how much, in ms a sample at this run's speed.
    """

    side: str
    then: float
    now: float
    change: RatioChange
    of: Literal["time", "work"]
    outcome: Outcome
    step: str
    gained: float


@dataclass(frozen=True, slots=True)
class Baseline:
    """A record to be held against.

    Attributes:
        path: of the file.
        date: when it was taken.
        about: data, mode, samples and batch size: what must be alike for ratios to be comparable.
        sides: that have a ratio to stock, by recipe and level.
        yardsticks: what stock runs, by recipe.
        features: what OpenCV used of the processor then; empty: older records do not say.
    """

    path: Path
    date: str
    about: Mapping[str, Any]
    sides: Mapping[tuple[str, str], Then]
    yardsticks: Mapping[str, Recipe]
    features: str = ""

    def undecided(self, recipe: str, level: str, time: Ratio, work: Ratio, *, limit: float) -> bool:
        """Whether more rounds would help to tell how a side compares."""
        then = self.sides.get((recipe, level))
        return then is not None and _judged(then, time, work, limit)[0] == "cannot tell"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A run held against a record.

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


def judge(baseline: Baseline, bench: Bench, limit: float) -> Judgement:
    """Hold a run against a record.

    Raises:
        BenchError: as `gate`.
    """
    now = bench.to_json()
    warnings = (
        f"{key} was {then!r} then and is {now[key]!r} now: ratios may not be comparable"
        for key, then in baseline.about.items()
        if now[key] != then
    )
    others = (
        f"the record was taken with {one}: pixels may differ, and times"
        for one in differences({"processor": baseline.features})
    )
    return Judgement(baseline, limit, tuple(gate(baseline, bench.sides, limit)), (*warnings, *others))


def open_baseline(path: Path) -> Baseline:
    """Read a record.

    Raises:
        BenchError: it is none, or holds no ratios to stock.
    """
    report = read(path)
    try:
        stock_ms = {side["recipe"]: side["ms"] for side in report["sides"] if side["level"] == STOCK}
        sides = {
            (side["recipe"], side["level"]): Then(
                _ratio(side["against_stock"]),
                _ratio(side["cpu_against_stock"]),
                {_stage(stage["name"]): stage["ms"] / stock_ms[side["recipe"]] for stage in side["stages"]},
            )
            for side in report["sides"]
            if side["against_stock"]
        }
        texts = {recipe["name"]: recipe["yardstick"] for recipe in report["recipes"]}
        about = {key: report[key] for key in ("data", "mode", "samples", "batch_size")}
        date = str(report["machine"]["date"])
        features = str(report["machine"].get("features", ""))
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise BenchError(f"{path}: a record that was changed or cut: {error!r}") from None
    if not sides:
        raise BenchError(f"{path}: has no ratios to stock; take it again with --against stock")
    try:
        yardsticks = {name: parse_text(text, file=f"{path}, {name}", plugins=False) for name, text in texts.items()}
    except RecipeError as error:
        raise BenchError(f"{path}: its recipe cannot be read any more: {error}") from None
    return Baseline(path, date, about, sides, yardsticks, features)


def _stage(name: str) -> str:
    """What a stage is called now."""
    return "overhead" if name == "around" else name


def _ratio(report: Mapping[str, Any]) -> Ratio:
    """A ratio as it was written; ValueError where its numbers make no sense."""
    middle, low, high = (float(report[key]) for key in ("middle", "low", "high"))
    found = Ratio(middle, low, high, tuple(map(float, report["rounds"])))
    if not 0 < found.low <= found.middle <= found.high:
        raise ValueError(f"{found.middle} is not between {found.low} and {found.high}")
    return found


def gate(baseline: Baseline, sides: Sequence[SideRecord], limit: float) -> list[Gate]:
    """Hold sides against a record.

    Args:
        baseline: the record.
        sides: of this run; those that the record does not have are passed over.
        limit: how much slower is too slow: 0.15 is 15%.

    Raises:
        BenchError: the record has none of them.
    """
    stock = {side.recipe: side.ms for side in sides if side.level == STOCK}
    found = []
    for side in sides:
        then = baseline.sides.get((side.recipe, side.level))
        if then is not None and side.against_stock is not None and side.cpu_against_stock is not None:
            judged = _judged(then, side.against_stock, side.cpu_against_stock, limit)
            found.append(_one(side, then, judged, stock[side.recipe]))
    if not found:
        have = ", ".join(f"{recipe} · {level}" for recipe, level in baseline.sides)
        raise BenchError(f"{baseline.path}: has none of these recipes and settings; it has {have}")
    return found


_Judged = tuple[Outcome, Literal["time", "work"], Ratio, Ratio]


def _judged(then: Then, time: Ratio, work: Ratio, limit: float) -> _Judged:
    """Outcome, by what, and the ratios then and now."""
    if change_of(then.work, work).low > 1 + limit:
        return "slower", "work", then.work, work
    if change_of(then.time, time).low > 1 + limit:
        return "slower", "time", then.time, time
    outcome: Outcome = "passes" if change_of(then.work, work).high <= 1 + limit else "cannot tell"
    return outcome, "work", then.work, work


def change_of(then: Ratio, now: Ratio) -> RatioChange:
    """Two independent ratios: what is not known of each adds up as squares.

    >>> change_of(Ratio(1.0, 1.0, 1.0, ()), Ratio(1.3, 1.2, 1.4, ()))
    RatioChange(middle=1.3, low=1.2, high=1.4)
    """
    change = log(now.middle / then.middle)
    low = exp(change - sqrt(log(now.middle / now.low) ** 2 + log(then.high / then.middle) ** 2))
    high = exp(change + sqrt(log(now.high / now.middle) ** 2 + log(then.middle / then.low) ** 2))
    return RatioChange(*(round(value, 12) for value in (exp(change), low, high)))


def _one(side: SideRecord, then: Then, judged: _Judged, stock_ms: float) -> Gate:
    outcome, of, before, now = judged
    gains = {stage.name: stage.ms / stock_ms - then.stages.get(stage.name, 0.0) for stage in side.stages}
    step, gained = max(gains.items(), key=lambda item: item[1], default=("", 0.0))
    change = change_of(before, now)
    return Gate(
        side.name, before.middle, now.middle, change, of, outcome,
        step if gained > 0 else "", max(gained, 0.0) * stock_ms,
    )  # fmt: skip
