"""The contract of a plan, by the contracts of its rewrite rules, and what `verify` measured."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from statistics import fmean
from typing import cast

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.flow import Dtype
from augrecipes.recipe.model import Mode, Optimize, Recipe, RuleName


@dataclass(frozen=True, slots=True)
class Promise:
    """The contract of a whole plan.

    Attributes:
        geometry: whether resamplings were merged; then images must agree in where their pixels come from.
        levels: how many levels of 0..255 colours may differ, the sum over all rules.
        rules: names of the rules that fired, in order.
        random: the rules among them that only promise the distribution of random numbers.

    >>> str(Promise()), str(Promise(geometry=True)), str(Promise(levels=2)), str(Promise(True, 2))
    ('EXACT', 'GEOMETRY', 'LEVELS(2)', 'GEOMETRY + LEVELS(2)')
    >>> str(Promise(levels=0.02)), str(Promise(random=("own_noise",)))
    ('LEVELS(0.02)', 'DISTRIBUTION')
    """

    geometry: bool = False
    levels: float = 0
    rules: tuple[str, ...] = ()
    random: tuple[RuleName, ...] = ()

    def __str__(self) -> str:
        levels = self.levels and f"LEVELS({self.levels:g})"
        parts = [self.geometry and "GEOMETRY", levels, self.random and "DISTRIBUTION"]
        return " + ".join(part for part in parts if part) or "EXACT"

    def compared(self, recipe: Recipe) -> Recipe:
        """The recipe without the rules of `random`, whose images can be compared value by value."""
        return replace(recipe, without_rules=(*recipe.without_rules, *self.random)) if self.random else recipe


def promise_of(pipeline: Pipeline, dtype: Dtype) -> Promise:
    """The promise of a compiled recipe for images of `dtype`."""
    fired = pipeline.compiled.plans["uint8" if dtype == "uint8" else "float32"].fired
    return Promise(
        geometry=any(firing.contract == "GEOMETRY" for firing in fired),
        levels=sum(firing.levels for firing in fired),
        rules=tuple(firing.rule for firing in fired),
        random=tuple(dict.fromkeys(cast(RuleName, f.rule) for f in fired if f.contract == "DISTRIBUTION")),
    )


@dataclass(frozen=True, slots=True)
class SampleRef:
    """The key of a sample, by which it can be run again.

    Attributes:
        index: index of the sample, or of the bag.
        epoch: epoch of its draws.
        tile: tile of the bag; 0 for other kinds.
        number: position of the sample in the data.
        path: the sample's file.
    """

    index: int
    epoch: int
    tile: int = 0
    number: int = 0
    path: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """The measurement of a law on a target, over all samples or on one.

    Attributes:
        target: `image`, `mask`, `boxes`, `keypoints`, or a pair's target.
        law: name of the law, a key of `LAWS`.
        limit: the largest value allowed on the worst sample; None: nothing is promised. Each sample has its own limit.
        worst: the largest value; if samples break the law, the largest of theirs.
        mean: the mean over all samples.
        share: the share of pixels, 0..1, that differ (levels, labels); or None.
        samples: number of samples measured.
        broken: number of samples that break the law.
        where: the worst sample.
    """

    target: str
    law: str
    limit: float | None
    worst: float
    mean: float
    share: float | None
    samples: int
    broken: int
    where: SampleRef | None

    @property
    def ok(self) -> bool:
        """Whether the law holds on every sample."""
        return self.broken == 0

    @property
    def rank(self) -> tuple[bool, float, float]:
        """A sort key: broken laws rank highest, then values near their limit, then values without a limit."""
        if self.limit is None:
            return not self.ok, 0.0, self.worst
        return not self.ok, self.worst / self.limit if self.limit else self.worst, 0.0


# Name: (unit, what it measures).
LAWS: dict[str, tuple[str, str]] = {
    "outcome": ("samples", "both give the same targets of the same sizes, or both refuse the sample"),
    "levels": ("levels", "largest difference of an image's values, 0..255 before normalisation"),
    "colours": ("levels", "the same for the steps that move no pixels, by themselves on the image as it was read"),
    "motion": ("px", "how far the image lies from where it lies as written, by a fit over all of it"),
    "content": ("×", "largest difference of means of 8×8 px, over what the image varies by around them"),
    "labels": ("labels", "labels that neither the mask nor a fill has"),
    "elsewhere": ("share", "of a mask whose label the other mask does not have within 2 px"),
    "draws": ("steps", "that acted in only one of both, or drew other numbers, besides the noise itself"),
    "noise": (
        "errors",
        "how far moments and histogram of the noise are from the recipe's, in standard errors",
    ),
    "independence": ("errors", "the same for products of neighbours: pixels, channels, samples"),
    "equal": ("px", "largest difference of coordinates"),
}


def number(value: float) -> str:
    """Format a value with two or three significant digits.

    >>> number(0.0), number(0.00314159), number(3.14159), number(31415.9)
    ('0', '0.0031', '3.14', '31416')
    """
    if value == 0:
        return "0"
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


@dataclass(frozen=True, slots=True)
class Worst:
    """A sample near or beyond a limit.

    Attributes:
        place: key of the sample.
        readings: its measurements, the worst first.
    """

    place: SampleRef
    readings: tuple[Figure, ...]


@dataclass
class Metrics:
    """All measurements by sample. With `view`, names of targets are prefixed by the view's name."""

    readings: dict[SampleRef, list[Figure]] = field(default_factory=dict)
    view: str = ""

    def add(
        self, target: str, law: str, value: float, place: SampleRef, *,
        limit: float | None = None, mean: float | None = None, share: float | None = None,
    ) -> None:  # fmt: skip
        """Add a measurement of a sample; NaN or a value beyond its limit breaks the law."""
        view = self.view
        target = view if view and target == "image" else f"{view}_{target}" if view else target
        broken = limit is not None and not value <= limit
        figure = Figure(target, law, limit, value, value if mean is None else mean, share, 1, int(broken), place)
        self.readings.setdefault(place, []).append(figure)

    def figures(self) -> tuple[Figure, ...]:
        """The measurements over all samples, by target and law."""
        by_law = defaultdict[tuple[str, str], list[Figure]](list)
        for reading in chain(*self.readings.values()):
            by_law[reading.target, reading.law].append(reading)
        targets, laws = list(dict.fromkeys(("sample", *(target for target, _ in by_law)))), list(LAWS)
        order = sorted(by_law, key=lambda key: (targets.index(key[0]), laws.index(key[1])))
        return tuple(_over_all(by_law[key]) for key in order)

    def worst(self, count: int) -> tuple[Worst, ...]:
        """The `count` samples nearest to, or furthest beyond, their limits, the worst first."""
        rank = attrgetter("rank")
        samples = [
            Worst(place, (*sorted(figures, key=rank, reverse=True),)) for place, figures in self.readings.items()
        ]
        samples.sort(key=lambda sample: [*map(rank, sample.readings)], reverse=True)
        return tuple(samples[:count])


def _over_all(readings: list[Figure]) -> Figure:
    """Combine the measurements of a law on single samples."""
    worst = max(readings, key=lambda reading: (reading.broken, reading.worst))
    shares = [reading.share for reading in readings if reading.share is not None]
    return replace(
        worst, mean=fmean(reading.mean for reading in readings), share=fmean(shares) if shares else None,
        samples=len(readings), broken=sum(reading.broken for reading in readings),
    )  # fmt: skip


WORST = 3  # number of worst samples that a Verification names


@dataclass(frozen=True)
class Verification:
    """The result of `verify`.

    Attributes:
        recipe: the recipe.
        mode: its section.
        optimize: optimisation of the plan.
        seed: seed of the draws.
        dtype: dtype of the input images.
        promise: the contract of the plan.
        samples: number of samples compared.
        figures: the measurements, by target and law.
        origins: the source target of each output target.
        worst: the samples nearest to, or furthest beyond, their limits, the worst first.
        left_out: errors of samples that cannot be read, or that both pipelines refuse.
    """

    recipe: Recipe
    mode: Mode
    optimize: Optimize
    seed: int
    dtype: Dtype
    promise: Promise
    samples: int
    figures: tuple[Figure, ...]
    origins: dict[str, str]
    worst: tuple[Worst, ...]
    left_out: tuple[DataError, ...] = ()

    @property
    def broken(self) -> tuple[Figure, ...]:
        """The laws that do not hold on every sample."""
        return tuple(figure for figure in self.figures if not figure.ok)

    @property
    def ok(self) -> bool:
        """Whether every contract holds."""
        return not self.broken


def combined(promises: Sequence[Promise]) -> Promise:
    """The weakest promise that covers all of these."""
    rules = dict.fromkeys(rule for promise in promises for rule in promise.rules)
    random = dict.fromkeys(rule for promise in promises for rule in promise.random)
    return Promise(any(p.geometry for p in promises), max(p.levels for p in promises), (*rules,), (*random,))
