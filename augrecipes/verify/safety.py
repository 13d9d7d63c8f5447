"""The result of `label_safety`, and its report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.cells import SheetRow
from augrecipes.preview.sheet import Sheet
from augrecipes.report import Displayed, Note, Report, TextTable, to_plain

_Z = 1.96  # standard deviations of a 95 % interval
_SHOWN = 7  # the most rows of a kind, and samples left out, that the report lists


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """A share with its 95 % interval (Wilson, 1927).

    Attributes:
        value: the share, 0..1.
        low: lower end of the interval.
        high: upper end of the interval.
        n: number of independent observations; objects of one draw count once.
    """

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{100 * self.value:.0f} % ({100 * self.low:.0f}–{100 * self.high:.0f})"


def share(value: float, n: int) -> ShareEstimate:
    """The interval of a share that was observed in `n` things.

    >>> str(share(0.5, 100)), share(0.0, 3).high > 0.5
    ('50 % (40–60)', True)
    """
    middle, spread = value + _Z**2 / (2 * n), _Z * (value * (1 - value) / n + _Z**2 / (4 * n * n)) ** 0.5
    low, high = (float(end / (1 + _Z**2 / n)) for end in (middle - spread, middle + spread))
    return ShareEstimate(float(value), max(low, 0.0), min(high, 1.0), n)


def quantile(values: NDArray[np.float64], at: float, n: int) -> ShareEstimate:
    """A quantile of shares, `n` of them independent, with an interval from the quantiles at the ends of its rank's."""
    rank = share(at, n)
    value, low, high = np.quantile(values, (at, rank.low, rank.high)).tolist()
    return ShareEstimate(value, low, high, n)


@dataclass(frozen=True, slots=True)
class LabelFinding:
    """A measurement of `label_safety`.

    Attributes:
        topic: `objects`, `colours` or `mirrors`.
        what: the subject: `mask` (its foreground), `box`, `keypoint`, or `image` without these; for mirrors the move,
            such as `flipped left to right`.
        figures: shares, 0..1, by name. Objects: the share of an object's area that draws leave, its `median` and `5th
            percentile`; the shares of objects with `half lost` or more, and `all lost`. Colours: accuracy of a linear
            classifier of histograms `as read`, of the pixels `shown` by draws, and of these after the steps (`drawn`);
            `chance` is the share of the largest class. Mirrors: the share of `draws` with this move; the shares of
            images whose nearest neighbour is of their class, or of `like`, `as read` and when `moved`.
        of: the class; empty: all classes.
        like: the class that it resembles when moved.
    """

    topic: str
    what: str
    figures: Mapping[str, ShareEstimate]
    of: str = ""
    like: str = ""


@dataclass(frozen=True, slots=True)
class LabelSafety(Displayed):
    """What a recipe does to the labels of some data: figures, without a verdict.

    Attributes:
        recipe: name of the recipe.
        seed: seed of the draws.
        samples: number of samples drawn.
        total: number of samples in the data.
        draws: number of draws of all samples.
        findings: the measurements: objects, by class from the greatest loss; colours; mirrors.
        notes: what could not be measured, and why.
        left_out: errors of samples that cannot be read, or on which a step fails.
        rows: rows of the sheet: the draws that leave least, and images whose mirror image resembles another class.
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
        """A sheet of the draws that leave least of objects, and of images that resemble another class when moved."""
        return Sheet(self.rows, f"{self.recipe}: labels", [self.report().facts["drawn"]])

    def report(self) -> Report:
        """The figures as text."""
        tables = []
        for topic, findings in groupby(self.findings, lambda finding: finding.topic):
            shown = [f for _, group in groupby(findings, lambda finding: finding.what) for f in [*group][:_SHOWN]]
            names = [*shown[0].figures]
            rows = [
                (f.what, f.of + (f.like and f" → {f.like}"), *(str(f.figures.get(name, "")) for name in names),
                 f"{f.figures[names[-1]].n:,}") for f in shown
            ]  # fmt: skip
            tables.append(TextTable(topic.capitalize(), ("", "class", *names, "n"), rows))
        notes = [*self.notes, *(f"left out: {problem}" for problem in self.left_out[:_SHOWN])]
        drawn = f"{self.samples:,} of {self.total:,} samples, {self.draws:,} draws, seed {self.seed}"
        return Report({"recipe": self.recipe, "drawn": drawn}, tables, [*map(Note, notes)])
