"""One sample through both pipelines, and everything that is measured on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.flow import Dtype
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Mode, Optimize, Output, Recipe
from augrecipes.sources.sample import Sample
from augrecipes.verify import variants
from augrecipes.verify.contract import Metrics, PlanDiffersError, Promise, SampleRef, promise_of, run_plan
from augrecipes.verify.geometry import Geometry
from augrecipes.verify.noise import NoiseComparison

# What float32 and float16 outputs round off, in levels of 0..255: the conversions of `none` and `fast` agree to 1e-6.
_ROUNDING = {"uint8": 0.0, "float32": 1e-3, "float16": 0.15}

MOST_ERRORS = 6.0  # of a normal distribution: once in 500 million
_LEVELS, _STRIP = 255, 32  # px in which they are passed through

Laws = tuple[str, str]  # of moments and histogram, and of neighbours
Build = Callable[[Recipe, Optimize], Any]
Variant = Callable[[Recipe, Mode], Recipe]


@dataclass
class Comparison:
    """Compares the plan of a recipe with the recipe, sample by sample.

    Args:
        recipe: of any kind.
        mode: the section.
        optimize: of the plan.
        build: compiles the recipe and its variants.
        origins: from each target that comes out to the one that it is made of.
        dtype: of the images that go in.
        promise: what is asked of the plan.
    """

    recipe: Recipe
    mode: Mode
    optimize: Optimize
    build: Build
    origins: dict[str, str]
    dtype: Dtype
    promise: Promise
    metrics: Metrics = field(default_factory=Metrics)
    _built: dict[str, list[Any]] = field(default_factory=dict)
    _geometry: Geometry | None = None
    _last: SampleRef = field(default_factory=lambda: SampleRef(0, 0))
    _noise: dict[tuple[str, Laws], NoiseComparison] = field(default_factory=dict)

    @property
    def steady(self) -> Recipe:
        """The recipe whose images can be compared by value: both draw the same noise."""
        return self.promise.compared(self.recipe)

    def two(self, name: str, make: Callable[[], Recipe], *, draws: bool = False) -> list[Any]:
        """Both pipelines of a variant, built when they are first asked for; `draws`: they tell what they drew."""
        if name not in self._built:
            recipe = make()
            both = [self.build(recipe, optimize) for optimize in ("none", self.optimize)]
            if draws:
                both = [one.again(replace(one.compiled, save_applied_params=True)) for one in both]
            self._built[name] = both
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
        plain, fast = (_outcome(given, pipeline, place.epoch) for pipeline in two)
        if isinstance(plain, DataError) and isinstance(fast, DataError):
            raise plain
        if isinstance(plain, DataError) or isinstance(fast, DataError) or not _alike(plain, fast):
            raise PlanDiffersError
        for name in self.origins:
            bound = None if self.promise.geometry else self.promise  # of an image that is resampled as it is written
            self._levels(name, "levels", plain[name], fast[name], place, bound)
        if "mask" in plain:
            # No label that was not there; in a plan that merges no resampling, the same labels everywhere.
            share = float((plain["mask"] != fast["mask"]).mean())
            known = (np.asarray(given.rest["mask"]), plain["mask"], [*variants.fills(self.recipe, self.mode)])
            new = len(invented(fast["mask"], *known)) if self.promise.geometry else share > 0
            self.metrics.add("mask", "labels", float(new), place, limit=0.0, share=share)
        for name in ("boxes", "keypoints"):
            if name in plain:
                self.metrics.add(name, "equal", largest_difference(plain[name], fast[name]), place, limit=0.0)
        if "own_noise" in self.promise.random:
            self._random(given, place, variants.only_noise, given.images, ("noise", "independence"))
        if "coarse_fields" in self.promise.random:
            along = {name: _zigzag(image) for name, image in given.images.items()}
            self._random(given, place, variants.only_fields, along, ("places", "smoothness"))
        if not self.promise.geometry:
            return
        if self._geometry is None:
            self._geometry = Geometry(two, self.dtype, self.origins, self.metrics)
        image = self._geometry.measure(given, place)
        if not self.recipe.facts.scales:
            self._colours(given, place, image)

    def _levels(
        self, name: str, law: str, plain: NDArray[Any], fast: NDArray[Any], place: SampleRef, promise: Promise | None
    ) -> None:
        """Values, as they leave; bounded where something is promised of them."""
        output = self.recipe.outputs.get(name, self.recipe.output)
        (largest, mean, share), limit = difference(plain, fast, output), None
        if promise is not None:
            dtype = "uint8" if output.where == "device" else output.dtype
            # Floats that differ by next to nothing may be rounded to two neighbouring levels.
            apart = 1 if self.dtype == "float32" and dtype == "uint8" and promise.levels else 0
            limit = promise.levels + apart + (_ROUNDING[dtype] if self.optimize == "fast" else 0.0)
        self.metrics.add(name, law, largest, place, limit=limit, mean=mean, share=share)

    def _colours(self, given: Sample, place: SampleRef, image: NDArray[Any]) -> None:
        """The other steps alone, on the image as the geometry leaves it."""
        recipe = variants.not_merged(self.steady, self.mode)
        if not variants.does_something(recipe, self.mode):
            return
        two = self.two("colours", lambda: recipe)
        if image.dtype != np.uint8:
            image = image.clip(0, 1)  # cubic resampling goes beyond
        alone = Sample(given.index, given.tile, given.path, {"image": image})
        plain, fast = alone.run(two[0], place.epoch), run_plan(alone, two[1], place.epoch)
        self._levels("image", "colours", plain["image"], fast["image"], place, promise_of(two[1], self.dtype))

    def _random(self, given: Sample, place: SampleRef, only: Variant, images: dict[str, Any], laws: Laws) -> None:
        """The steps that make noise, or fields, alone: the same draws, and what they make of the same distribution."""
        recipe = only(self.recipe, self.mode)
        two = self.two(f"only {laws}", lambda: recipe, draws=True)
        bare = self.two(f"without {laws}", lambda: variants.without_noise(recipe, self.mode))
        alone = Sample(given.index, given.tile, given.path, images)
        without, plain = (alone.run(one, place.epoch) for one in (bare[0], two[0]))
        fast = run_plan(alone, two[1], place.epoch)
        differ = float(differing(plain.pop("applied", []), fast.pop("applied", [])))
        self.metrics.add("sample", "draws", differ, place, limit=0.0)
        if not _alike(plain, fast):
            raise PlanDiffersError
        for name in self.origins:
            output = recipe.outputs.get(name, recipe.output)
            made = (levels_of(done[name], output) for done in (without, plain, fast))
            self._noise.setdefault((name, laws), NoiseComparison()).add(*made)
            self._last = place

    def close(self) -> None:
        """Judge what can be judged over all samples alone."""
        for (name, laws), found in self._noise.items():
            for law, errors in zip(laws, found.errors(smooth="places" in laws), strict=False):
                self.metrics.add(name, law, errors, self._last, limit=MOST_ERRORS)


def _zigzag(image: NDArray[Any]) -> NDArray[Any]:
    """An image like another whose channels say in turn in which column and in which row a pixel lies, by levels that go
    up and down in strips."""
    places = np.indices(image.shape[:2])[::-1]
    levels = np.abs((places % (2 * _STRIP)) - _STRIP) * (_LEVELS // _STRIP)
    channels = [levels[c % 2] for c in range(image.shape[2])]
    made = np.stack(channels, axis=-1).astype(np.uint8)
    return made if image.dtype == np.uint8 else made / np.float32(_LEVELS)


def _outcome(given: Sample, pipeline: Any, epoch: int) -> dict[str, Any] | DataError:
    """What a pipeline makes of a sample, or its refusal."""
    try:
        return given.run(pipeline, epoch)
    except DataError as error:
        return error


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
    drawn: list[dict[str, Any]] = [{}, {}]
    for of, part in zip(drawn, (plain, fast), strict=True):
        for site, name, params in part:
            if op_record(name).own_noise:
                of[site] = {key: value for key, value in params.items() if isinstance(value, int | float | np.number)}
    return sum(drawn[0].get(site) != drawn[1].get(site) for site in drawn[0].keys() | drawn[1].keys())


def levels_of(image: NDArray[Any], output: Output) -> NDArray[np.float32]:
    """An output as levels of 0..255, float32 H×W×C.

    >>> levels_of(np.ones((3, 4, 5), np.float32), Output(range=(-1.0, 1.0)))[0, 0].tolist()
    [255.0, 255.0, 255.0]
    """
    values = (image if output.layout == "hwc" else np.moveaxis(image, 0, -1)).astype(np.float32)
    if image.dtype == np.uint8:
        return values
    if output.normalize is not None:
        mean, std = (np.array(v, np.float32) for v in (output.normalize.mean, output.normalize.std))
        return (values * std + mean) * np.float32(255)
    low, high = output.range
    return (values - np.float32(low)) * np.float32(255 / (high - low))


def difference(a: NDArray[Any], b: NDArray[Any], output: Output) -> tuple[float, float, float]:
    """The largest and the mean difference of two outputs, in levels, and the share of pixels that differ.

    Equal bits are no difference, whatever they hold.

    >>> a = np.zeros((1, 2, 1), np.uint8)
    >>> difference(a, a + np.array([[[0], [3]]], np.uint8), Output(dtype="uint8", layout="hwc"))
    (3.0, 1.5, 0.5)
    """
    if np.array_equal(a, b, equal_nan=a.dtype != np.uint8):
        return 0.0, 0.0, 0.0
    apart = np.abs(levels_of(a, output) - levels_of(b, output))
    apart = np.nan_to_num(apart, nan=np.inf, posinf=np.inf)
    return float(apart.max()), float(apart.mean()), float((apart > 0).any(axis=-1).mean())


def invented(mask: NDArray[Any], *known: Any) -> NDArray[Any]:
    """The labels of a mask that nothing has of what is known: its source, the fills, the mask as written."""
    return np.setdiff1d(mask, np.concatenate([np.ravel(one) for one in known]))


def largest_difference(a: Any, b: Any) -> float:
    """Between two lists of boxes or keypoints; infinite where they are not equally many.

    >>> largest_difference(np.zeros((2, 4)), np.zeros((2, 4))), largest_difference(np.zeros((2, 4)), np.zeros((1, 4)))
    (0.0, inf)
    """
    mine, its = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if mine.shape != its.shape:
        return float("inf")
    return float(np.abs(mine - its).max()) if mine.size else 0.0
