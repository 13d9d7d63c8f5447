"""The record of what a recipe does to labels, and its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.cells import SheetRow
from augrecipes.preview.sheet import Sheet
from augrecipes.report import Displayed, Note, Report, TextTable, to_plain

_Z = 1.96  # of a 95 % interval
_SHOWN = 7  # rows of a kind, and samples left out, that the text lists


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
        return f"{100 * self.value:.0f} % ({100 * self.low:.0f}–{100 * self.high:.0f})"


def share(value: float, n: int) -> ShareEstimate:
    """A share that was seen in `n` things.

    >>> str(share(0.5, 100)), share(0.0, 3).high > 0.5
    ('50 % (40–60)', True)
    """
    middle, spread = value + _Z**2 / (2 * n), _Z * (value * (1 - value) / n + _Z**2 / (4 * n * n)) ** 0.5
    low, high = (float(end / (1 + _Z**2 / n)) for end in (middle - spread, middle + spread))
    return ShareEstimate(float(value), max(low, 0.0), min(high, 1.0), n)


def quantile(values: NDArray[np.float64], at: float, n: int) -> ShareEstimate:
    """A quantile of shares, of which `n` are independent, and those at the ends of the interval of its rank."""
    rank = share(at, n)
    value, low, high = np.quantile(values, (at, rank.low, rank.high)).tolist()
    return ShareEstimate(value, low, high, n)


@dataclass(frozen=True, slots=True)
class LabelFinding:
    """Something that was measured.

    Attributes:
        topic: `objects`, `colours` or `mirrors`.
        what: it was measured of, in words: `mask` (its foreground), `box`, `keypoint`, or `image` where there is none;
            `flipped left to right`.
        figures: shares by name, 0..1. Of objects: what is left of one's area in the `median`, and in the `5th
            percentile`; `half lost` or more of one, and `all lost`. Of colours: how many images' classes a linear
            probe tells `as read`, from the pixels `shown` by draws, and as `drawn`, when the steps have changed these;
            by `chance` it would be the largest class. Of mirrors: `draws` that move so; images whose nearest neighbour
            is of their own class, or of `like`, `as read` and once they are `moved`.
        of: the class; empty: all.
        like: the class that it looks like once it is moved.
    """

    topic: str
    what: str
    figures: Mapping[str, ShareEstimate]
    of: str = ""
    like: str = ""


@dataclass(frozen=True, slots=True)
class LabelSafety(Displayed):
    """What a recipe does to the labels of some data: figures, and no verdict.

    Attributes:
        recipe: its name.
        seed: of the draws.
        samples: that were drawn.
        total: samples of the data.
        draws: of all samples together.
        findings: objects, and their classes from the one that loses most; colours; mirrors.
        notes: what could not be measured, and why.
        left_out: samples that cannot be read, or that a step fails on.
        rows: of the sheet: the draws that leave least, and images whose mirror image is of another class.
    """

    recipe: str
    seed: int
    samples: int
    total: int
    draws: int
    findings: tuple[LabelFinding, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    rows: tuple[SheetRow, ...] = field(default=(), compare=False)

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers, without the images."""
        return dict(to_plain(self))

    def sheet(self) -> Sheet:
        """The images: what is left of objects at worst, and what looks like another class once it is moved."""
        return Sheet(self.rows, f"{self.recipe}: labels", [self.report().facts["drawn"]])

    def report(self) -> Report:
        """The figures as text."""
        tables = []
        for topic, findings in groupby(self.findings, lambda finding: finding.topic):
            shown = [f for _, alike in groupby(findings, lambda finding: finding.what) for f in [*alike][:_SHOWN]]
            names = [*shown[0].figures]
            rows = [
                (f.what, f.of + (f.like and f" → {f.like}"), *(str(f.figures.get(name, "")) for name in names),
                 f"{f.figures[names[-1]].n:,}") for f in shown
            ]  # fmt: skip
            tables.append(TextTable(topic.capitalize(), ("", "class", *names, "n"), rows))
        notes = [*self.notes, *(f"left out: {problem}" for problem in self.left_out[:_SHOWN])]
        drawn = f"{self.samples:,} of {self.total:,} samples, {self.draws:,} draws, seed {self.seed}"
        return Report({"recipe": self.recipe, "drawn": drawn}, tables, [*map(Note, notes)])
