"""What a plan promises, by the contracts of the rules that made it, and what was measured of it over all samples."""

from __future__ import annotations

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
        geometry: merged resamplings took part: images are compared by where their pixels come from.
        levels: by how many levels of 0..255 colours may differ, the rules' levels added up; 0: not at all.
        rules: names of the rules that fired, in order.
        random: of those, the ones whose contract is the distribution of random numbers.

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
        """The recipe with the random numbers of `none`: what its images can be compared by, value by value."""
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
    """A sample that can be run again.

    Attributes:
        index: of the sample, for bags of the bag.
        epoch: of its draws.
        tile: of a bag; 0 for other kinds.
        number: of the sample in the data, in the order in which it is read.
        path: the file.
    """

    index: int
    epoch: int
    tile: int = 0
    number: int = 0
    path: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One law, measured on one target over all samples, or on one of them.

    Attributes:
        target: `image`, `mask`, `boxes`, `keypoints`, or a pair's target.
        law: which one; see `LAWS`.
        limit: the largest value that is allowed on the worst sample, or None: nothing is promised. Samples may have
            limits of their own.
        worst: the largest value; where samples break the law, theirs.
        mean: of all samples.
        share: of the pixels that were compared (levels, labels: that differ), or None.
        samples: how many were measured.
        broken: how many break the law.
        where: the worst sample, one that breaks the law before all others.
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
        """Broken laws first; then what is nearest to its limit; then what has none."""
        if self.limit is None:
            return not self.ok, 0.0, self.worst
        return not self.ok, self.worst / self.limit if self.limit else self.worst, 0.0


# Name: (unit, what it says).
LAWS: dict[str, tuple[str, str]] = {
    "outcome": ("samples", "both give the same targets of the same sizes, or both refuse the sample"),
    "levels": ("levels", "largest difference of an image's values, 0..255 before normalisation"),
    "colours": ("levels", "the same for the steps that move no pixels, by themselves on the image as it was read"),
    "motion": ("px", "how far the image lies from where it lies as written, by a fit over all of it"),
    "content": ("×", "largest difference of means of 8×8 px, over what the image varies by around them"),
    "labels": ("labels", "labels that neither the mask nor a fill has"),
    "elsewhere": ("share", "of a mask whose label the other one has nowhere within 2 px"),
    "draws": ("steps", "that acted in one only, or drew other numbers, besides the noise itself"),
    "noise": (
        "errors",
        "how far moments and histogram of what is drawn are from the recipe's, in standard errors",
    ),
    "independence": ("errors", "the same for products of neighbours: pixels, channels, samples"),
    "equal": ("px", "largest difference of coordinates"),
}


def number(value: float) -> str:
    """A value for people, two or three digits of it.

    >>> number(0.0), number(0.00314159), number(3.14159), number(31415.9)
    ('0', '0.0031', '3.14', '31416')
    """
    if value == 0:
        return "0"
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


@dataclass(frozen=True, slots=True)
class Worst:
    """A sample near to, or beyond, what is allowed.

    Attributes:
        place: where it is.
        readings: what was measured on it, the worst first.
    """

    place: SampleRef
    readings: tuple[Figure, ...]


@dataclass
class Metrics:
    """All that was measured, by sample; of a `view` as of targets of one sample with other views."""

    readings: dict[SampleRef, list[Figure]] = field(default_factory=dict)
    view: str = ""

    def add(
        self, target: str, law: str, value: float, place: SampleRef, *,
        limit: float | None = None, mean: float | None = None, share: float | None = None,
    ) -> None:  # fmt: skip
        """One sample's value; beyond its limit, or no number, it breaks the law."""
        view = self.view
        target = view if view and target == "image" else f"{view}_{target}" if view else target
        broken = limit is not None and not value <= limit
        figure = Figure(target, law, limit, value, value if mean is None else mean, share, 1, int(broken), place)
        self.readings.setdefault(place, []).append(figure)

    def figures(self) -> tuple[Figure, ...]:
        """All laws, by target in the order in which they were first measured."""
        by_law = defaultdict[tuple[str, str], list[Figure]](list)
        for reading in chain(*self.readings.values()):
            by_law[reading.target, reading.law].append(reading)
        targets, laws = list(dict.fromkeys(("sample", *(target for target, _ in by_law)))), list(LAWS)
        order = sorted(by_law, key=lambda key: (targets.index(key[0]), laws.index(key[1])))
        return tuple(_over_all(by_law[key]) for key in order)

    def worst(self, count: int) -> tuple[Worst, ...]:
        """The samples nearest to, or furthest beyond, what is allowed; the worst first."""
        rank = attrgetter("rank")
        samples = [Worst(place, (*sorted(each, key=rank, reverse=True),)) for place, each in self.readings.items()]
        samples.sort(key=lambda sample: [*map(rank, sample.readings)], reverse=True)
        return tuple(samples[:count])


def _over_all(readings: list[Figure]) -> Figure:
    """One law over all samples."""
    worst = max(readings, key=lambda reading: (reading.broken, reading.worst))
    shares = [reading.share for reading in readings if reading.share is not None]
    return replace(
        worst, mean=fmean(reading.mean for reading in readings), share=fmean(shares) if shares else None,
        samples=len(readings), broken=sum(reading.broken for reading in readings),
    )  # fmt: skip


WORST = 3  # samples that a Verification names


@dataclass(frozen=True)
class Verification:
    """What `verify` measured.

    Attributes:
        recipe: as it was loaded.
        mode: the section.
        optimize: of the plan.
        seed: of the draws.
        dtype: of the images that went in.
        promise: the contract of the plan.
        samples: how many were compared.
        figures: what was measured, by target and law.
        origins: from each target that comes out to the one that it is made of.
        worst: the samples nearest to, or furthest beyond, what is allowed, the worst first.
        left_out: what was wrong with samples that cannot be read, or that both pipelines refuse.
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
    """What all of them together promise."""
    rules = dict.fromkeys(rule for promise in promises for rule in promise.rules)
    random = dict.fromkeys(rule for promise in promises for rule in promise.random)
    return Promise(any(p.geometry for p in promises), max(p.levels for p in promises), (*rules,), (*random,))
