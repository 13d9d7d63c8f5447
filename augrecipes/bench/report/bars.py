"""Stacked bars: where a sample's time goes, and where a training step's, side by side and at one scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from augrecipes.bench.report import Report
from augrecipes.bench.report.headline import readers
from augrecipes.bench.report.palette import SHADES

SEEN = 0.005  # of a bar; what takes less is hardly seen
_TRAINING = {
    "loading": "loading", "to device": "moving", "device stage": "device", "forward": "forward",
    "backward": "backward", "optimiser": "optimiser", "training step": "training",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BarPart:
    """One part of a bar.

    Attributes:
        name: in full; the same part of several bars has the same name.
        colour: its name in the palette.
        ms: how long it takes.
        mad: of it.
        share: of its bar, 0..1.
    """

    name: str
    colour: str
    ms: float
    mad: float
    share: float

    @property
    def label(self) -> str:
        """Short enough for a bar."""
        return short(self.name)


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of the picture.

    Attributes:
        name: what it is of.
        level: of the optimiser, `stock`, or empty.
        note: more about it.
        parts: from left to right.
        ms: all of it.
        mad: of it; None: not known.
    """

    name: str
    level: str
    note: str
    parts: tuple[BarPart, ...]
    ms: float
    mad: float | None

    @property
    def drawn(self) -> float:
        """How long the bar is, ms: its parts, which clocks took down, or what is not taken apart."""
        return sum(part.ms for part in self.parts) if self.parts else self.ms

    @property
    def title(self) -> str:
        """Name and level."""
        return f"{self.name} · {self.level}" if self.level else self.name


@dataclass(frozen=True, slots=True)
class Stack:
    """Bars at one scale.

    Attributes:
        bars: top to bottom.
        longest: ms that the full width stands for.
    """

    bars: tuple[Bar, ...]
    longest: float

    def rows(self) -> list[tuple[BarPart, list[BarPart | None]]]:
        """Every part that some bar has, in the order of the bars: its first, and that of each bar with parts."""
        bars = [{part.name: part for part in bar.parts} for bar in self.bars if bar.parts]
        names = _in_order(list(bar) for bar in bars)
        rows = [[bar.get(name) for bar in bars] for name in names]
        return [(next(part for part in row if part), row) for row in rows]

    @property
    def apart(self) -> list[Bar]:
        """The bars that have parts."""
        return [bar for bar in self.bars if bar.parts]


def short(label: str) -> str:
    """A step's label without its groups, what it stands for, and the ordinal that says nothing.

    >>> short("OneOf#1/Blur#1"), short("JoinedWarps(Rotate#1 + Resize#1)"), short("Rotate#2")
    ('Blur', 'JoinedWarps', 'Rotate#2')
    """
    return label.partition("(")[0].rpartition("/")[2].removesuffix("#1")


def stages(report: Report) -> Stack:
    """Of each side its stages; of stock, which is not taken apart, the whole."""
    steps = [
        (stage["name"], stage["ms"] >= SEEN * side["ms"])
        for side in in_order(report)
        for stage in side["stages"]
        if stage["kind"] == "step"
    ]
    # Those that can be seen first: they shall differ from each other.
    shades = _shades([*(name for name, seen in steps if seen), *(name for name, _ in steps)])
    return _stack(
        Bar(side["recipe"], side["level"], "", _stage_parts(side, shades), side["ms"], side["mad"])
        for side in in_order(report)
    )


def in_order(report: Report) -> list[Report]:
    """The sides, stock beside its recipe."""
    return _by_recipe(report, report["sides"])


def _by_recipe(report: Report, found: Sequence[Report]) -> list[Report]:
    names = [recipe["name"] for recipe in report["recipes"]]
    return sorted(found, key=lambda one: names.index(one["recipe"]))


def _stage_parts(side: Report, shades: Mapping[str, int]) -> tuple[BarPart, ...]:
    whole = sum(stage["ms"] for stage in side["stages"]) or 1.0
    return tuple(
        BarPart(
            stage["name"] if stage["kind"] == "step" else stage["kind"],
            f"step-{shades[stage['name']] % SHADES}" if stage["kind"] == "step" else stage["kind"],
            stage["ms"], stage["mad"], stage["ms"] / whole,
        )
        for stage in side["stages"]
    )  # fmt: skip


def _shades(labels: Iterable[str]) -> dict[str, int]:
    """A number for each step; a joined one has that of the first that it stands for.

    >>> _shades(["A#1", "B#1", "C#1", "Joined(A#1 + B#1)", "C#1"])
    {'A#1': 0, 'B#1': 1, 'C#1': 2, 'Joined(A#1 + B#1)': 0}
    """
    sites: dict[str, int] = {}
    found = {}
    for label in labels:
        site = label.rpartition("(")[2].rstrip(")").split(" + ")[0]
        found[label] = sites.setdefault(site, len(sites))
    return found


def training(report: Report) -> Stack:
    """Of each way to train the parts of one step."""
    return _stack(_training_bar(one) for one in _by_recipe(report, report.get("training") or ()))


def _training_bar(one: Report) -> Bar:
    parts = tuple(
        BarPart(part["name"], _TRAINING.get(part["name"], "training"), part["ms"], part["mad"], part["share"])
        for part in one["parts"]
    )
    return Bar(
        one["recipe"],
        one["level"],
        f"{readers(one['backend'], one['workers'])}, {one['device']}",
        parts,
        sum(part.ms for part in parts),
        None,
    )


def _stack(bars: Iterable[Bar]) -> Stack:
    made = tuple(bars)
    return Stack(made, max((bar.drawn for bar in made), default=0.0) or 1.0)


def _in_order(lists: Iterator[list[str]] | Sequence[list[str]]) -> list[str]:
    """All names, each behind the one that it follows in the first list that has it.

    >>> _in_order([["a", "c", "z"], ["a", "b", "c", "z"], ["a", "d", "z"]])
    ['a', 'd', 'b', 'c', 'z']
    """
    found: list[str] = []
    for names in lists:
        place = 0
        for name in names:
            if name in found:
                place = found.index(name) + 1
            else:
                found.insert(place, name)
                place += 1
    return found
