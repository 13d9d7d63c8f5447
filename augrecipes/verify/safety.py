"""The record of what a recipe does to labels, and its text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from augrecipes.preview.cells import SheetRow
from augrecipes.preview.sheet import Sheet
from augrecipes.report import Displayed, Note, Report, TextTable, to_plain

MOVES = {
    "h": "flipped left to right", "v": "flipped top to bottom", "t": "transposed", "r180": "turned by half",
    "r90": "turned a quarter left", "r270": "turned a quarter right", "hvt": "transposed and turned by half",
}  # fmt: skip
_Z = 1.96  # of a 95 % interval
_SHOWN, _STEPS = 6, 3  # classes, or pairs of them under a move, and steps that the text names


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """A share of some things, with its 95 % interval (Wilson, 1927).

    Attributes:
        value: 0..1.
        low: of the interval.
        high: of the interval.
        n: how many things were seen; those of one draw count once.
    """

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{_percent(self.value)} ({100 * self.low:.0f}–{_percent(self.high)})"


def share(value: float, n: int) -> ShareEstimate:
    """A share that was seen in `n` things.

    >>> str(share(0.5, 100)), share(0.0, 3).high > 0.5
    ('50 % (40–60 %)', True)
    """
    middle, spread = value + _Z**2 / (2 * n), _Z * (value * (1 - value) / n + _Z**2 / (4 * n * n)) ** 0.5
    low, high = (float(end / (1 + _Z**2 / n)) for end in (middle - spread, middle + spread))
    return ShareEstimate(float(value), max(low, 0.0), min(high, 1.0), n)


@dataclass(frozen=True, slots=True)
class ObjectLoss:
    """How much of some objects the training steps leave.

    Attributes:
        what: `mask` (its foreground), `box`, `keypoint`; `image` where there is none of these.
        of: its class; empty: all.
        objects: how many were looked at, in all draws.
        median: of the share of an object that is left, by area.
        low: 5th percentile of that share.
        half: share of objects that lose more than half.
        all: share of objects of which nothing is left.
        steps: the part of all that is lost that each step takes, 0..1, the largest first.
    """

    what: str
    of: str
    objects: int
    median: float
    low: float
    half: ShareEstimate
    all: ShareEstimate
    steps: dict[str, float]

    def __str__(self) -> str:
        name = "the image's area" if self.what == "image" else f"a {self.what}{self.of and f' of {self.of}'}"
        by = next(iter(self.steps)) if len(self.steps) == 1 else "the steps"
        left = f"leave{'s' * (len(self.steps) == 1)} {_percent(self.median)} of {name} (median; 5th percentile"
        lost = f"{self.half} of {self.objects:,} lose more than half, {self.all} all"
        takes = ", ".join(f"{step} {_percent(part)}" for step, part in [*self.steps.items()][:_STEPS])
        return f"{by} {left} {_percent(self.low)}); {lost}{f'; of the loss: {takes}' * (len(self.steps) > 1)}"


@dataclass(frozen=True, slots=True)
class ColourUse:
    """How much colours tell of classes, before and after the steps.

    Attributes:
        chance: the share of the largest class.
        read: share of images (or boxes) whose class a linear probe tells by their colours as read.
        others: the same probe on what the other steps alone make of them.
        drawn: on what all steps make of them, with the same draws.
        steps: that change values and move nothing.
    """

    chance: float
    read: ShareEstimate
    others: ShareEstimate
    drawn: ShareEstimate
    steps: tuple[str, ...]

    def __str__(self) -> str:
        after = f"after {', '.join(self.steps)} {self.drawn}, with the other steps alone {self.others}"
        text = f"colours alone tell {self.read} of the classes (chance {_percent(self.chance)}, n {self.read.n:,})"
        return f"{text}; {after if self.steps else 'no step changes them'}"


@dataclass(frozen=True, slots=True)
class MirroredPair:
    """A class that may look like another once it is mirrored or turned.

    Attributes:
        move: a symmetry of the square: `h`, `v`, `t`, `r90`, `r180`, `r270` or `hvt`.
        a: the class that is moved.
        b: the class of the nearest neighbours.
        moved: share of the moved images of `a` whose nearest neighbour is of `b`.
        still: the same of the images as read.
    """

    move: str
    a: str
    b: str
    moved: ShareEstimate
    still: ShareEstimate

    @property
    def differs(self) -> bool:
        """Whether the intervals lie apart: moved, `a` is nearer to `b`."""
        return self.moved.low > self.still.high

    def __str__(self) -> str:
        return f"{self.moved} of {self.a} look like {self.b} (as read {_percent(self.still.value)}, n {self.moved.n:,})"


@dataclass(frozen=True, slots=True)
class LabelSafety(Displayed):
    """What a recipe does to the labels of some data: figures, and no verdict.

    Attributes:
        recipe: its name.
        seed: of the draws.
        samples: that were drawn.
        total: samples of the data.
        draws: of all samples together.
        losses: of objects.
        moves: share of the draws that mirror or turn, by symmetry.
        mirrors: pairs of classes; those first that a move brings nearest.
        colours: None: not measured, as a note says.
        notes: what could not be measured, and why.
        left_out: samples that cannot be read, or that a step fails on.
        rows: of the sheet: the draws that leave least, and images whose mirror image is of another class.
    """

    recipe: str
    seed: int
    samples: int
    total: int
    draws: int
    losses: tuple[ObjectLoss, ...] = ()
    moves: dict[str, ShareEstimate] = field(default_factory=dict)
    mirrors: tuple[MirroredPair, ...] = ()
    colours: ColourUse | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    rows: tuple[SheetRow, ...] = field(default=(), compare=False)

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers, without the images."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    def sheet(self) -> Sheet:
        """The images: what is left of objects at worst, and what looks like another class once it is moved."""
        return Sheet(self.rows, f"{self.recipe}: labels", [self._drawn])

    @property
    def _drawn(self) -> str:
        return f"{self.samples:,} of {self.total:,} samples, {self.draws:,} draws, seed {self.seed}"

    def report(self) -> Report:
        """The figures as text."""
        classes = sorted((loss for loss in self.losses if loss.of), key=lambda loss: -loss.half.value)
        objects = [*(loss for loss in self.losses if not loss.of), *classes[:_SHOWN]]
        lines = [("objects", str(loss)) for loss in objects]
        lines += [("colours", str(self.colours))] if self.colours else []
        for move, drawn in self.moves.items() if self.colours else ():
            nearer = [str(pair) for pair in self.mirrors if pair.move == move and pair.differs][:_SHOWN]
            some = f"{MOVES[move]} ({_percent(drawn.value)} of draws)"
            lines += [("mirrors", f"{some}, {text}") for text in nearer or ["no class comes nearer to another"]]
        lines += [("mirrors", "no draw mirrors or turns an image")] if self.colours and not self.moves else []
        facts = {"recipe": self.recipe, "drawn": self._drawn}
        return Report(facts, [TextTable("Labels", (), lines)] if lines else [], [*map(Note, self.notes)])


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"
