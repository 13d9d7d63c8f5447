"""One sample through both pipelines, and everything that is measured on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.flow import Dtype
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Mode, Optimize, Output, Recipe
from augrecipes.sources.sample import Sample
from augrecipes.verify import variants
from augrecipes.verify.contract import PlanDiffersError, Planned, Promise, Two, promise_of, rounding
from augrecipes.verify.geometry import Geometry
from augrecipes.verify.metrics import Metrics, SampleRef
from augrecipes.verify.noise import MOST_ERRORS, NoiseComparison
from augrecipes.verify.targets import difference, fills, invented, largest_difference, levels_of

Build = Callable[[Recipe, Optimize], Any]


@dataclass
class Comparison:
    """Compares the plan of a recipe with the recipe, sample by sample.

    Args:
        recipe: of any kind.
        mode: the section.
        optimize: of the plan.
        seed: of the draws, which decides the band-limited images too.
        build: compiles the recipe and its variants.
        origins: from each target that comes out to the one that it is made of.
        dtype: of the images that go in.
        promise: what is asked of the plan.
    """

    recipe: Recipe
    mode: Mode
    optimize: Optimize
    seed: int
    build: Build
    origins: dict[str, str]
    dtype: Dtype
    promise: Promise
    metrics: Metrics = field(default_factory=Metrics)
    _built: dict[str, Two] = field(default_factory=dict)
    _geometry: Geometry | None = None
    _last: SampleRef = field(default_factory=lambda: SampleRef(0, 0))
    _noise: dict[str, NoiseComparison] = field(default_factory=dict)

    @property
    def steady(self) -> Recipe:
        """The recipe whose images can be compared by value: both draw the same noise."""
        return self.promise.compared(self.recipe)

    def two(self, name: str, make: Callable[[], Recipe], *, draws: bool = False) -> Two:
        """Both pipelines of a variant, built when they are first asked for; `draws`: they tell what they drew."""
        if name not in self._built:
            recipe = make()
            both = [self.build(recipe, optimize) for optimize in ("none", self.optimize)]
            if draws:
                both = [one.again(replace(one.compiled, save_applied_params=True)) for one in both]
            self._built[name] = Two(both[0], Planned(both[1]))
        return self._built[name]

    def sample(self, given: Sample, place: SampleRef) -> DataError | None:
        """Measure one sample; the error, where the recipe itself refuses it, and the plan as well."""
        try:
            self._sample(given, place)
        except PlanDiffersError:
            self.metrics.add("sample", "outcome", 1.0, place, limit=0.0)
        except DataError as error:
            return error
        else:
            self.metrics.add("sample", "outcome", 0.0, place, limit=0.0)
        return None

    def _sample(self, given: Sample, place: SampleRef) -> None:
        two = self.two("itself", lambda: self.steady)
        try:
            plain = given.run(two.plain, place.epoch)
        except DataError:
            try:
                given.run(two.fast, place.epoch)
            except PlanDiffersError:
                pass
            else:
                raise PlanDiffersError from None
            raise
        fast = given.run(two.fast, place.epoch)
        if not _alike(plain, fast):
            raise PlanDiffersError
        for name in self.origins:
            bound = None if self.promise.geometry else self.promise  # of an image that is resampled as it is written
            self._levels(name, "levels", plain[name], fast[name], place, bound)
        if "mask" in plain:
            self._masks(plain["mask"], fast["mask"], np.asarray(given.rest["mask"]), place)
        for name in ("boxes", "keypoints"):
            if name in plain:
                self.metrics.add(name, "equal", largest_difference(plain[name], fast[name]), place, limit=0.0)
        if self.promise.random:
            self._random(given, place)
        if not self.promise.geometry:
            return
        if self._geometry is None:
            free = self.two("geometry", lambda: variants.with_free_points(self.steady))
            self._geometry = Geometry(free, self.dtype, self.seed, self.origins, self.metrics)
        picture = self._geometry.measure(given, place)
        if not self.recipe.facts.scales:
            self._colours(given, place, picture)

    def _levels(
        self, name: str, law: str, plain: NDArray[Any], fast: NDArray[Any], place: SampleRef, promise: Promise | None
    ) -> None:
        """Values, as they leave; bounded where something is promised of them."""
        output = self.output_of(name)
        found, limit = difference(plain, fast, output), None if promise is None else self._most(output, promise)
        self.metrics.add(name, law, found.largest, place, limit=limit, mean=found.mean, share=found.share)

    def _most(self, output: Output, promise: Promise) -> float:
        """By how many levels an output may differ."""
        dtype = "uint8" if output.where == "device" else output.dtype
        # Floats that differ by next to nothing may be rounded to two neighbouring levels.
        apart = 1 if self.dtype == "float32" and dtype == "uint8" and promise.levels else 0
        return promise.levels + apart + rounding(self.optimize, dtype)

    def output_of(self, name: str) -> Output:
        """What the recipe asks of a target."""
        found: Output = self.recipe.outputs.get(name, self.recipe.output)
        return found

    def _colours(self, given: Sample, place: SampleRef, picture: NDArray[Any]) -> None:
        """The other steps alone, on the image as the geometry leaves it."""
        recipe = variants.not_merged(self.steady, self.mode)
        if not variants.does_something(recipe, self.mode):
            return
        two = self.two("colours", lambda: recipe)
        planned = two.fast.pipeline
        promise = promise_of(planned, self.dtype) if isinstance(planned, Pipeline) else self.promise
        if picture.dtype != np.uint8:
            picture = picture.clip(0, 1)  # cubic resampling goes beyond
        alone = Sample(given.index, given.tile, given.path, {"image": picture})
        plain, fast = (alone.run(pipeline, place.epoch) for pipeline in two)
        self._levels("image", "colours", plain["image"], fast["image"], place, promise)

    def _random(self, given: Sample, place: SampleRef) -> None:
        """The steps that make noise alone: the same draws, and noise of the same distribution."""
        two = self.two("noise", lambda: variants.only_noise(self.recipe, self.mode), draws=True)
        bare = self.two("bare", lambda: variants.without_noise(variants.only_noise(self.recipe, self.mode), self.mode))
        alone = Sample(given.index, given.tile, given.path, given.images)
        without, plain, fast = (alone.run(one, place.epoch) for one in (bare.plain, *two))
        differ = float(differing(plain.pop("applied", []), fast.pop("applied", [])))
        self.metrics.add("sample", "draws", differ, place, limit=0.0)
        if not _alike(plain, fast):
            raise PlanDiffersError
        for name in self.origins:
            pictures = (levels_of(done[name], self.output_of(name)) for done in (without, plain, fast))
            self._noise.setdefault(name, NoiseComparison()).add(*pictures)
            self._last = place

    def close(self) -> None:
        """Judge what can be judged over all samples alone."""
        for name, found in self._noise.items():
            for law, errors in found.errors().items():
                self.metrics.add(name, law, errors, self._last, limit=MOST_ERRORS)

    def _masks(self, plain: NDArray[Any], fast: NDArray[Any], source: NDArray[Any], place: SampleRef) -> None:
        """No label that was not there; in a plan that merges no resampling, the same labels everywhere."""
        share = float((plain != fast).mean())
        new = len(invented(plain, fast, source, fills(self.recipe, self.mode))) if self.promise.geometry else share > 0
        self.metrics.add("mask", "labels", float(new), place, limit=0.0, share=share)


def _alike(plain: dict[str, Any], fast: dict[str, Any]) -> bool:
    """Whether both gave the same targets; images and masks of the same sizes and dtypes."""
    if plain.keys() != fast.keys():
        return False
    return all(
        value.shape == fast[name].shape and value.dtype == fast[name].dtype
        for name, value in plain.items()
        if isinstance(value, np.ndarray) and name not in ("boxes", "keypoints") and value.ndim >= 2
    )


def differing(plain: list[Any], fast: list[Any]) -> int:
    """How many steps with noise acted in one of two plans alone, or drew other numbers (arrays are the noise itself).

    >>> differing([("a", "GaussNoise", {"seed": 3})], [("a", "GaussNoise", {"seed": 5})])
    1
    """
    drawn = [
        {
            site: {key: value for key, value in params.items() if isinstance(value, int | float | np.number)}
            for site, name, params in part
            if claims(name).own_noise
        }
        for part in (plain, fast)
    ]
    return sum(drawn[0].get(site) != drawn[1].get(site) for site in drawn[0].keys() | drawn[1].keys())
