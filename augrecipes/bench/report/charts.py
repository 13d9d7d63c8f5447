"""Bars, scales and colours of the report: where a sample's time goes, and a training step's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

Report = Mapping[str, Any]  # a comparison, or a part of it, as `Bench.to_json()` has it

# Reading is green, steps are blue to violet, what follows is amber, rust and grey: hues that colour-blind people tell
# apart, and where they do not, lightness differs. Steps are dark and light in turn.
LIGHT = {
    "read": "#0f6b5c", "decode": "#5fbfa6", "step-0": "#2f4b9c", "step-1": "#8fb0e2", "step-2": "#4570bb",
    "step-3": "#b9cdf0", "step-4": "#5f54ad", "step-5": "#b7b0e6", "sink": "#e6ab3c", "collate": "#b3541e",
    "overhead": "#9aa1ab", "whole": "#c9cdd3",
}  # fmt: skip
DARK = LIGHT | {
    "read": "#1d8573", "decode": "#6fcdb4", "step-0": "#5470d0", "step-2": "#5f93e0", "step-4": "#7266cc",
    "collate": "#d0703a", "overhead": "#7f8792", "whole": "#3a404a",
}  # fmt: skip
_STEPS = 6  # shades of blue
# By part of a training step, its colour and place.
_TRAINING = {
    "loading": "decode", "to device": "read", "device stage": "sink", "forward": "step-1", "backward": "step-0",
    "optimiser": "step-4", "training step": "step-2",
}  # fmt: skip
_STAGES = ("read", "decode", "step", "sink", "collate", "overhead")
_LEAST, _LARGEST = log(1.25), log(1e4)  # a scale of ratios shows so much to either side
_TICKS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)


class BarPart(NamedTuple):
    """One part of a bar: its label, its colour's name, milliseconds, their deviation, and its place among others."""

    name: str
    colour: str
    ms: float
    mad: float
    place: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A stacked bar.

    Attributes:
        name: what it is of.
        level: of the optimiser, or `stock`.
        note: more about it.
        parts: from left to right; empty: it is shown as a whole.
        ms: all of it.
        mad: of it.
    """

    name: str
    level: str
    note: str
    parts: tuple[BarPart, ...]
    ms: float
    mad: float

    @property
    def length(self) -> float:
        """Milliseconds: of its parts, which clocks measured, or of the whole."""
        return sum(part.ms for part in self.parts) or self.ms


def stage_bars(report: Report) -> list[Bar]:
    """Of each side its stages; of stock, whose stages are not measured, the whole."""
    shades: dict[str, int] = {}

    def colour(stage: Report) -> str:
        if stage["kind"] != "step":
            return str(stage["kind"])
        site = stage["name"].rpartition("(")[2].rstrip(")").split(" + ")[0]  # a joined step has the shade of its first
        return f"step-{shades.setdefault(site, len(shades)) % _STEPS}"

    def parts(side: Report) -> Iterator[BarPart]:
        for one in side["stages"]:
            name = "output conversion" if one["kind"] == "sink" else one["name"]
            yield BarPart(name, colour(one), one["ms"], one["mad"], _STAGES.index(one["kind"]))

    return [Bar(s["recipe"], s["level"], "", tuple(parts(s)), s["ms"], s["mad"]) for s in sides_in_order(report)]


def training_bars(report: Report) -> list[Bar]:
    """Of each way to train the parts of one step."""
    places = list(_TRAINING)
    found = []
    for one in report["training"]:
        parts = tuple(BarPart(p["name"], _TRAINING[p["name"]], p["ms"], p["mad"], places.index(p["name"]))
                      for p in one["parts"])  # fmt: skip
        note = f"{readers(one['backend'], one['workers'])}, {one['device']}"
        found.append(Bar(one["recipe"], one["level"], note, parts, sum(p.ms for p in parts), max(p.mad for p in parts)))
    return found


def rows_of(bars: Sequence[Bar]) -> list[tuple[BarPart, list[BarPart | None]]]:
    """Every part that some bar has, in their order: one of it, and that of each bar with parts."""
    tables = [{part.name: part for part in bar.parts} for bar in bars if bar.parts]
    first = {name: part for table in reversed(tables) for name, part in table.items()}
    names = sorted(dict.fromkeys(name for table in tables for name in table), key=lambda name: first[name].place)
    return [(first[name], [table.get(name) for table in tables]) for name in names]


def sides_in_order(report: Report) -> list[Report]:
    """The sides, stock next to its recipe."""
    names = [recipe["name"] for recipe in report["recipes"]]
    return sorted(report["sides"], key=lambda side: names.index(side["recipe"]))


def readers(backend: str, workers: int) -> str:
    """Who reads, in words.

    >>> readers("threads", 1), readers("processes", 2), readers("batches", 0)
    ('1 thread', '2 worker processes', 'no workers')
    """
    what = {"threads": "thread", "processes": "worker process"}.get(backend, "")
    many = {"threads": "threads", "processes": "worker processes"}.get(backend, "")
    return f"{workers} {what if workers == 1 else many}" if workers else "no workers"


class Scale:
    """Ratios on one logarithmic scale around 1, in percent of its width: what leaves the middle is a difference."""

    def __init__(self, ratios: Iterable[Any]) -> None:
        ends = [abs(log(end)) for one in ratios for end in (end_of(one, "low"), end_of(one, "high"))]
        self._reach = min(max(_LEAST, *ends, 0.0) * 1.08, _LARGEST)

    def place(self, ratio: float) -> float:
        """Percent of the width; what lies beyond is at the end."""
        return min(max(50 + 50 * log(ratio) / self._reach, 0.0), 100.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Place and text: 1, and the largest round ratio to either side."""
        most = max(tick for tick in _TICKS if log(tick) <= self._reach)
        return [(self.place(1 / most), f"÷ {most:g}"), (50.0, "1"), (self.place(most), f"× {most:g}")]


def end_of(ratio: Any, end: str) -> float:
    """Of a ratio as a record has it, or as the gate has it."""
    return float(ratio[end] if isinstance(ratio, Mapping) else getattr(ratio, end))


def ink_on(fill: str) -> str:
    """The colour of text that is read best on a fill.

    >>> ink_on("#2f4b9c"), ink_on("#e6ab3c")
    ('#ffffff', '#12151a')
    """
    red, green, blue = ((int(fill[k : k + 2], 16) / 255) ** 2.2 for k in (1, 3, 5))
    return "#ffffff" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.19 else "#12151a"
