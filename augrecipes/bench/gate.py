"""The regression gate: whether a recipe got slower since a record, by its ratio to stock albumentations.

A loaded machine slows stock albumentations as much as the recipe, so their ratio can be compared between runs, and
between similar machines. Stock runs the steps that the recipe had in the record, and of those only the ones that
albumentations itself has, so the yardstick does not change with the recipe.

Two ratios are compared with the record: wall time and CPU time. CPU time is steady on a busy machine and shows the
computation; wall time also shows waiting. A side fails if the whole interval of either exceeds the limit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, hypot, log
from pathlib import Path
from typing import Any, Literal

from augrecipes.bench.record import Bench, read
from augrecipes.bench.sides import STOCK
from augrecipes.bench.timing import Ratio
from augrecipes.errors import BenchError, RecipeError
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text
from augrecipes.versions import differences

Outcome = Literal["slower", "cannot tell", "passes"]


@dataclass(frozen=True, slots=True)
class RecordedSide:
    """A side in the record.

    Attributes:
        time: wall time over that of stock.
        work: CPU time over that of stock.
        stages: time of each stage over the time of stock, by name.
    """

    time: Ratio
    work: Ratio
    stages: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Gate:
    """The comparison of a side with its record.

    Attributes:
        side: its name.
        then: ratio to stock in the record, of wall or CPU time as `of` says.
        now: the same ratio in this run.
        change: `now` over `then`: 1.3 is 30% slower; its interval combines the uncertainty of both.
        of: `time` (wall) or `work` (CPU), whichever decided.
        outcome: `slower` if the whole interval exceeds the limit, `passes` if that of the CPU time is within the limit,
            else `cannot tell`, which does not fail.
        step: the stage that slowed down most, relative to stock's time; empty if none did.
        gained: by how much, in ms per sample at this run's speed.
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
        path: the record's file.
        date: when the record was taken.
        about: data, mode, samples and batch size, which must be equal for ratios to be comparable.
        sides: the sides that have a ratio to stock, by recipe and level.
        yardsticks: the steps that stock runs, by recipe.
        features: processor features that OpenCV used; empty in older records.
    """

    path: Path
    date: str
    about: Mapping[str, Any]
    sides: Mapping[tuple[str, str], RecordedSide]
    yardsticks: Mapping[str, Recipe]
    features: str = ""

    def undecided(self, recipe: str, level: str, time: Ratio, work: Ratio, *, limit: float) -> bool:
        """Whether more rounds may decide the outcome."""
        then = self.sides.get((recipe, level))
        return then is not None and outcome(then, time, work, limit)[0] == "cannot tell"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The comparison of a run with a record.

    Attributes:
        baseline: the record.
        limit: the allowed slowdown: 0.15 is 15%.
        gates: the comparison of each side in the record.
        warnings: differences in conditions between the record and this run.
    """

    baseline: Baseline
    limit: float
    gates: tuple[Gate, ...]
    warnings: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Whether no side is slower than the record allows."""
        return all(gate.outcome != "slower" for gate in self.gates)


def open_baseline(path: Path) -> Baseline:
    """Read a record.

    Raises:
        BenchError: the file is no record, or has no ratios to stock.
    """
    report = read(path)
    try:
        stock_ms = {side["recipe"]: side["ms"] for side in report["sides"] if side["level"] == STOCK}
        sides = {
            (side["recipe"], side["level"]): RecordedSide(
                _ratio(side["against_stock"]),
                _ratio(side["cpu_against_stock"]),
                {stage["name"]: stage["ms"] / stock_ms[side["recipe"]] for stage in side["stages"]},
            )
            for side in report["sides"]
            if side["against_stock"]
        }
        texts = {recipe["name"]: recipe["yardstick"] for recipe in report["recipes"]}
        about = {key: report[key] for key in ("data", "mode", "samples", "batch_size")}
        date, features = str(report["machine"]["date"]), str(report["machine"].get("features", ""))
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise BenchError(f"{path}: a record that was changed or cut: {error!r}") from None
    if not sides:
        raise BenchError(f"{path}: has no ratios to stock; measure it again with --against stock")
    try:
        yardsticks = {name: parse_text(text, file=f"{path}, {name}", plugins=False) for name, text in texts.items()}
    except RecipeError as error:
        raise BenchError(f"{path}: its recipe can no longer be read; write the record again: {error}") from None
    return Baseline(path, date, about, sides, yardsticks, features)


def _ratio(report: Mapping[str, Any]) -> Ratio:
    """Parse a ratio; ValueError if its numbers are impossible."""
    ratio = Ratio(report["middle"], report["low"], report["high"], tuple(report["rounds"]))
    if not 0 < ratio.low <= ratio.middle <= ratio.high:
        raise ValueError(f"{ratio.middle} is not between {ratio.low} and {ratio.high}")
    return ratio


def judge(baseline: Baseline, bench: Bench, limit: float) -> Judgement:
    """Compare a run with a record; sides that the record lacks are ignored.

    Args:
        baseline: the record.
        bench: the run.
        limit: the allowed slowdown: 0.15 is 15%.

    Raises:
        BenchError: the record has none of the sides.
    """
    report = bench.to_json()
    warnings = [
        f"{key} was {then!r} then and is {report[key]!r} now: ratios may not be comparable"
        for key, then in baseline.about.items()
        if report[key] != then
    ]
    changes = differences({"processor": baseline.features})
    warnings += [f"the record was taken with {change}: pixels may differ, and times" for change in changes]
    stock_ms = {side.recipe: side.ms for side in bench.sides if side.level == STOCK}
    gates = []
    for side in bench.sides:
        then, time, work = baseline.sides.get((side.recipe, side.level)), side.against_stock, side.cpu_against_stock
        if then is None or time is None or work is None:
            continue
        result, measure = outcome(then, time, work, limit)
        before, now = (then.work, work) if measure == "work" else (then.time, time)
        stock = stock_ms[side.recipe]
        gains = {stage.name: stage.ms - stock * then.stages.get(stage.name, 0.0) for stage in side.stages}
        gained, step = max([(0.0, ""), *((ms, name) for name, ms in gains.items())])
        gates.append(Gate(side.name, before.middle, now.middle, change_of(before, now), measure, result, step, gained))
    if not gates:
        have = ", ".join(f"{recipe} · {level}" for recipe, level in baseline.sides)
        raise BenchError(f"{baseline.path}: has none of these recipes and settings; it has {have}")
    return Judgement(baseline, limit, tuple(gates), tuple(warnings))


def outcome(then: RecordedSide, time: Ratio, work: Ratio, limit: float) -> tuple[Outcome, Literal["time", "work"]]:
    """The outcome of a side, and whether wall or CPU time decided it."""
    by_work, most = change_of(then.work, work), 1 + limit
    if by_work.low > most:
        return "slower", "work"
    if change_of(then.time, time).low > most:
        return "slower", "time"
    return "passes" if by_work.high <= most else "cannot tell", "work"


def change_of(then: Ratio, now: Ratio) -> Ratio:
    """The quotient of two independent ratios, whose errors add up as squares.

    >>> change_of(Ratio(1.0, 1.0, 1.0, ()), Ratio(1.3, 1.2, 1.4, ()))
    Ratio(middle=1.3, low=1.2, high=1.4, rounds=())
    """
    change = log(now.middle / then.middle)
    low = exp(change - hypot(log(now.middle / now.low), log(then.high / then.middle)))
    high = exp(change + hypot(log(now.high / now.middle), log(then.middle / then.low)))
    middle, low, high = (round(value, 12) for value in (exp(change), low, high))
    return Ratio(middle, low, high, ())
