"""The gate: whether a recipe got slower since a record was taken, told by its ratio to stock albumentations.

A slow day slows stock down as much as the recipe, so their ratio compares runs, and machines of a kind. Stock runs the
steps that the recipe had when the record was taken, and of those only what albumentations itself has: the yardstick
does not change with what it measures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from pathlib import Path
from typing import Any, Literal

from augrecipes.bench.record import SideRecord, read
from augrecipes.bench.sides import STOCK
from augrecipes.errors import BenchError, RecipeError
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

Outcome = Literal["slower", "cannot tell", "passes"]


@dataclass(frozen=True, slots=True)
class Then:
    """A side as the record has it.

    Attributes:
        recipe: its name.
        level: of the optimiser.
        middle: its time over that of stock.
        low: of the interval.
        high: of the interval.
        stages: ms a sample of each over the ms of stock, by name.
    """

    recipe: str
    level: str
    middle: float
    low: float
    high: float
    stages: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A record to be held against.

    Attributes:
        path: of the file.
        date: when it was taken.
        data: what was read, samples, batch size, mode: what must be alike for ratios to be comparable.
        sides: that have a ratio to stock, by recipe and level.
        yardsticks: what stock runs, by recipe.
    """

    path: Path
    date: str
    data: Mapping[str, Any]
    sides: Mapping[tuple[str, str], Then]
    yardsticks: Mapping[str, Recipe]


@dataclass(frozen=True, slots=True)
class Gate:
    """A side against its record.

    Attributes:
        side: its name.
        then: ratio to stock in the record.
        now: in this run.
        slower: now over then: 1.3 is 30% slower.
        low: of the interval, which has what is not known of both ratios in it.
        high: the same.
        outcome: `slower` where the whole interval is beyond the limit, `cannot tell` where the limit is inside it.
        step: the stage that gained most, of a side's time in parts of stock's; empty where none gained.
        gained: how much, in ms a sample at this run's speed.
    """

    side: str
    then: float
    now: float
    slower: float
    low: float
    high: float
    outcome: Outcome
    step: str
    gained: float


def open_baseline(path: Path) -> Baseline:
    """Read a record.

    Raises:
        BenchError: it is none, or holds no ratios to stock.
    """
    told = read(path)
    try:
        stock_ms = {side["recipe"]: side["ms"] for side in told["sides"] if side["level"] == STOCK}
        sides = {
            (side["recipe"], side["level"]): Then(
                side["recipe"], side["level"], side["against_stock"]["middle"], side["against_stock"]["low"],
                side["against_stock"]["high"],
                {stage["name"]: stage["ms"] / stock_ms[side["recipe"]] for stage in side["stages"]},
            )
            for side in told["sides"]
            if side["against_stock"]
        }  # fmt: skip
        texts = {recipe["name"]: recipe["yardstick"] for recipe in told["recipes"]}
        about = {key: told[key] for key in ("data", "mode", "samples", "batch_size")}
        date = str(told["machine"]["date"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise BenchError(f"{path}: a record that was changed or cut: {error!r}") from None
    if not sides:
        raise BenchError(f"{path}: has no ratios to stock; take it again with --against stock")
    try:
        yardsticks = {name: parse_text(text, file=f"{path}, {name}") for name, text in texts.items()}
    except RecipeError as error:
        raise BenchError(f"{path}: its recipe cannot be read any more: {error}") from None
    return Baseline(path, date, about, sides, yardsticks)


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
        if then is not None and side.against_stock is not None:
            found.append(_one(then, side, stock[side.recipe], limit))
    if not found:
        have = ", ".join(f"{recipe} · {level}" for recipe, level in baseline.sides)
        raise BenchError(f"{baseline.path}: has none of these recipes and levels; it has {have}")
    return found


def _one(then: Then, side: SideRecord, stock_ms: float, limit: float) -> Gate:
    now = side.against_stock
    assert now is not None
    change = log(now.middle / then.middle)
    # Two independent ratios: their uncertainties add up as squares.
    low = exp(change - sqrt(log(now.middle / now.low) ** 2 + log(then.high / then.middle) ** 2))
    high = exp(change + sqrt(log(now.high / now.middle) ** 2 + log(then.middle / then.low) ** 2))
    outcome: Outcome = "slower" if low > 1 + limit else "passes" if high <= 1 + limit else "cannot tell"
    gains = {stage.name: stage.ms / stock_ms - then.stages.get(stage.name, 0.0) for stage in side.stages}
    step, gained = max(gains.items(), key=lambda item: item[1], default=("", 0.0))
    return Gate(
        side.name, then.middle, now.middle, exp(change), low, high, outcome,
        step if gained > 0 else "", max(gained, 0.0) * stock_ms,
    )  # fmt: skip
