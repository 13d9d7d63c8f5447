"""What a plan promises, by the contracts of the rules that made it, and what was measured of it over all samples."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, cast

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.flow import Dtype
from augrecipes.recipe.model import Recipe, RuleName
from augrecipes.sources.sample import Sample


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
    fired = pipeline.compiled.plans[dtype].fired
    return Promise(
        geometry=any(firing.contract == "GEOMETRY" for firing in fired),
        levels=sum(firing.levels for firing in fired),
        rules=tuple(firing.rule for firing in fired),
        random=tuple(dict.fromkeys(cast(RuleName, f.rule) for f in fired if f.contract == "DISTRIBUTION")),
    )


class PlanDiffersError(Exception):
    """The plan refuses what the recipe takes, or the other way round, or gives something of another kind."""


def run_plan(given: Sample, pipeline: Any, epoch: int, **instead: Any) -> dict[str, Any]:
    """As `Sample.run` by the pipeline that is checked: what it refuses is no DataError, which the recipe's own is."""
    try:
        return given.run(pipeline, epoch, **instead)
    except DataError as error:
        raise PlanDiffersError from error


@dataclass(frozen=True, slots=True)
class SampleRef:
    """A sample that can be run again.

    Attributes:
        index: of the sample, for bags of the bag.
        epoch: of its draws.
        tile: of a bag; 0 for other kinds.
        number: of the sample in the data, in the order in which it is read.
        path: the file.
        dtype: of the images that go in.
    """

    index: int
    epoch: int
    tile: int = 0
    number: int = 0
    path: str = ""
    dtype: Dtype = "uint8"


@dataclass(frozen=True, slots=True)
class Figure:
    """One law, measured on one target over all samples of one dtype.

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
        dtype: of the images that go in.
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
    dtype: Dtype = "uint8"

    @property
    def ok(self) -> bool:
        """Whether the law holds on every sample."""
        return self.broken == 0


# Name: (unit, what it says).
LAWS: dict[str, tuple[str, str]] = {
    "outcome": ("samples", "both give the same targets of the same sizes, or both refuse the sample"),
    "levels": ("levels", "largest difference of an image's values, 0..255 before normalisation"),
    "colours": ("levels", "the same for colours and distortions alone, on the image as the other steps leave it"),
    "displacement": ("px", "how far apart the sources of one output pixel are, in px of the output"),
    "hidden": ("px", "pixels that show the image where the other shows what lies beyond it"),
    "truth": ("×", "distance to a band-limited image that is known everywhere: optimised over unoptimised"),
    "labels": ("labels", "labels that neither the mask nor a fill has"),
    "nearest": ("px", "from the pixel that a label is taken from to where the image comes from, in px of the source"),
    "draws": ("steps", "that acted in one only, or drew other numbers, besides the noise itself"),
    "noise": ("errors", "how far the noise's moments and histogram are from the recipe's, in standard errors"),
    "independence": ("errors", "the same for products of neighbours: pixels, channels, samples"),
    "places": ("errors", "the same as noise for how far random fields take pixels from"),
    "smoothness": ("errors", "the same as independence for these fields"),
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
class Measurement:
    """One law on one sample; attributes as of `Figure`."""

    target: str
    law: str
    value: float
    limit: float | None
    mean: float
    share: float | None

    @property
    def broken(self) -> bool:
        """Whether the value is beyond its limit, or no number."""
        return self.limit is not None and not self.value <= self.limit

    def rank(self) -> tuple[bool, float, float]:
        """Broken laws first; then what is nearest to its limit; then what has none."""
        if self.limit is None:
            return self.broken, 0.0, self.value
        return self.broken, self.value / self.limit if self.limit else self.value, 0.0


@dataclass(frozen=True, slots=True)
class Worst:
    """A sample near to, or beyond, what is allowed.

    Attributes:
        place: where it is.
        readings: what was measured on it, the worst first.
    """

    place: SampleRef
    readings: tuple[Measurement, ...]


@dataclass
class Metrics:
    """All that was measured, by sample; of a `view` as of targets of one sample with other views."""

    readings: dict[SampleRef, list[Measurement]] = field(default_factory=dict)
    view: str = ""

    def add(self, target: str, law: str, value: float, place: SampleRef, **more: Any) -> None:
        """One sample's value; `more`: fields of a `Measurement`."""
        view = self.view
        target = view if view and target == "image" else f"{view}_{target}" if view else target
        usual = {"limit": None, "mean": value, "share": None}
        self.readings.setdefault(place, []).append(Measurement(target, law, value, **{**usual, **more}))

    def figures(self) -> tuple[Figure, ...]:
        """All laws, by dtype and by target in the order in which they were first measured."""
        found: dict[tuple[Dtype, str, str], list[tuple[SampleRef, Measurement]]] = {}
        for place, readings in self.readings.items():
            for one in readings:
                found.setdefault((place.dtype, one.target, one.law), []).append((place, one))
        dtypes = list(dict.fromkeys(dtype for dtype, _, _ in found))
        targets = list(dict.fromkeys(("sample", *(target for _, target, _ in found))))
        laws = list(LAWS)
        order = sorted(found, key=lambda key: (dtypes.index(key[0]), targets.index(key[1]), laws.index(key[2])))
        return tuple(_figure(key, found[key]) for key in order)

    def worst(self, count: int) -> tuple[Worst, ...]:
        """The samples nearest to, or furthest beyond, what is allowed; the worst first."""
        found = [
            Worst(place, tuple(sorted(readings, key=Measurement.rank, reverse=True)))
            for place, readings in self.readings.items()
        ]
        found.sort(key=lambda one: [reading.rank() for reading in one.readings], reverse=True)
        return tuple(found[:count])


def _figure(key: tuple[Dtype, str, str], found: list[tuple[SampleRef, Measurement]]) -> Figure:
    dtype, target, law = key
    where, worst = max(found, key=lambda one: (one[1].broken, one[1].value))
    each = [one for _, one in found]
    shares = [one.share for one in each if one.share is not None]
    return Figure(
        target, law, worst.limit, worst.value, fmean(one.mean for one in each),
        fmean(shares) if shares else None, len(each), sum(one.broken for one in each),
        where, dtype,
    )  # fmt: skip
