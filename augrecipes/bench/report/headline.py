"""The answer first: which recipe is quicker, by how much, and what binds each."""

from __future__ import annotations

from collections.abc import Sequence

from augrecipes.bench.advice import rate
from augrecipes.bench.report import Report

STOCK = "stock"


def headline(report: Report) -> str:
    """One sentence: of several recipes which is quickest, of one how it compares with stock or with its other level."""
    sides = last_sides(report)
    if len(sides) > 2:
        return _quickest(report, sides)
    if len(sides) == 2:
        return _text(_between(report, *map(name_of, sides)))
    (side,) = sides
    mine = [verdict for verdict in report["verdicts"] if name_of(side) in (verdict["one"], verdict["other"])]
    against = [verdict for verdict in mine if verdict["other"] == f"{side['recipe']} · {STOCK}"] or mine
    if against:
        return _text(against[0])
    return f"{name_of(side)}: {rate(side['samples_per_second'])} samples a second"


def last_sides(report: Report) -> list[Report]:
    """Of each recipe the level that counts: the last that was measured."""
    return list({side["recipe"]: side for side in report["sides"] if side["level"] != STOCK}.values())


def starves(report: Report, side: Report) -> str:
    """How much of a training step waits for a side's samples, by who reads; empty: not measured."""
    waiting = [
        f"{100 * part['share']:.0f}\N{NO-BREAK SPACE}% with {readers(one['backend'], one['workers'])}"
        for one in report.get("training") or ()
        for part in one["parts"]
        if (one["recipe"], one["level"], part["name"]) == (side["recipe"], side["level"], "loading")
    ]
    return f"Of a training step so much is waiting: {', '.join(waiting)}" if waiting else ""


def advised(report: Report, side: Report) -> str:
    """Who should read a side's samples; empty: not measured."""
    advice = (report.get("sweep") or {"advice": ()})["advice"]
    return next((readers(one["backend"], one["workers"]) for one in advice if one["recipe"] == side["recipe"]), "")


def readers(backend: str, workers: int) -> str:
    """Who reads, in words.

    >>> readers("threads", 1), readers("processes", 2), readers("batches", 0)
    ('1 thread', '2 worker processes', 'no workers')
    """
    if not workers:
        return "no workers"
    one, several = {"threads": ("thread", "threads"), "processes": ("worker process", "worker processes")}[backend]
    return f"{workers} {one if workers == 1 else several}"


def name_of(side: Report) -> str:
    """Recipe and level, as verdicts have it."""
    return f"{side['recipe']} · {side['level']}"


def _quickest(report: Report, sides: Sequence[Report]) -> str:
    ordered = sorted(sides, key=lambda side: float(side["ms"]))
    first = name_of(ordered[0])
    tied = [name_of(side) for side in ordered[1:] if not _between(report, first, name_of(side))["differs"]]
    if tied:
        several = f"{', '.join([first, *tied[:-1]])} and {tied[-1]}"
        return f"{several} are the quickest of {len(sides)}, and cannot be told apart"
    return f"{first} is the quickest of {len(sides)}; {_text(_between(report, first, name_of(ordered[1])))}"


def _between(report: Report, one: str, other: str) -> Report:
    """The verdict on two sides, whichever comes first in it."""
    found: Report = next(v for v in report["verdicts"] if {v["one"], v["other"]} == {one, other})
    return found


def _text(verdict: Report) -> str:
    """A verdict without its figures where there is no difference."""
    return str(verdict["text"]) if verdict["differs"] else str(verdict["text"]).rpartition(" (")[0]
