"""Runs a sample through the plain and the optimised pipeline and measures their differences."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.flow import Dtype
from augrecipes.ops.records import op_record
from augrecipes.preview.display import levels_of
from augrecipes.recipe.model import Mode, Optimize, Output, Recipe
from augrecipes.sources.sample import Sample
from augrecipes.verify import likeness, variants
from augrecipes.verify.contract import Metrics, Promise, SampleRef, promise_of

# Rounding of outputs, in levels of 0..255; the float conversions of `none` and `fast` agree to 1e-6.
_ROUNDING = {"uint8": 0.0, "uint16": 0.0, "float32": 1e-3, "float16": 0.15}
_PART = 512  # px, side of the part of an image on which colours are compared

MOST_ERRORS = 6.0  # standard errors of a normal distribution: exceeded once in 500 million

Build = Callable[[Recipe, Optimize], Any]


class PlanDiffersError(Exception):
    """Only one of plan and recipe refuses a sample, or their results differ in targets, sizes or dtypes."""


@dataclass
class Comparison:
    """Compares the plan of a recipe with the recipe, sample by sample.

    Args:
        recipe: a recipe of any kind.
        mode: section of the recipe.
        optimize: optimisation of the plan.
        build: compiles the recipe and its variants.
        origins: the source target of each output target.
        dtype: dtype of the input images.
        promise: the contract that the plan must keep.
    """

    recipe: Recipe
    mode: Mode
    optimize: Optimize
    build: Build
    origins: dict[str, str]
    dtype: Dtype
    promise: Promise
    metrics: Metrics = field(default_factory=Metrics)
    _pipelines: dict[str, list[Any]] = field(default_factory=dict)
    _last: SampleRef = field(default_factory=lambda: SampleRef(0, 0))
    _noise: dict[str, likeness.NoiseComparison] = field(default_factory=dict)

    @property
    def steady(self) -> Recipe:
        """The recipe with the noise of `none` in both pipelines, so that images can be compared by value."""
        return self.promise.compared(self.recipe)

    def pipelines(self, name: str, recipe: Recipe, *, draws: bool = False) -> list[Any]:
        """The plain and the optimised pipeline of a variant, built once; `draws`: with `save_applied_params`."""
        if name not in self._pipelines:
            both = [self.build(recipe, optimize) for optimize in ("none", self.optimize)]
            if draws:
                both = [one.again(replace(one.compiled, save_applied_params=True)) for one in both]
            self._pipelines[name] = both
        return self._pipelines[name]

    def sample(self, source: Sample, place: SampleRef) -> DataError | None:
        """Measure one sample; returns the error, where both pipelines refuse it."""
        try:
            self._measure(source, place)
        except PlanDiffersError:
            self.metrics.add("sample", "outcome", 1.0, place, limit=0.0)
        except DataError as error:
            return error
        else:
            self.metrics.add("sample", "outcome", 0.0, place, limit=0.0)
        return None

    def _measure(self, source: Sample, place: SampleRef) -> None:
        plain, fast = _run_both(source, self.pipelines("all", self.steady), place.epoch)
        bound = None if self.promise.geometry else self.promise  # merged resampling promises nothing on levels
        for name in self.origins:
            self._add_levels(name, "levels", plain[name], fast[name], place, bound)
            if self.promise.geometry:
                self._add_likeness(name, plain[name], fast[name], place)
        if "mask" in plain:
            self._add_labels(np.asarray(source.rest["mask"]), plain["mask"], fast["mask"], place)
        for name in ("boxes", "keypoints", *self.recipe.targets):
            if name in plain:
                self.metrics.add(name, "equal", largest_difference(plain[name], fast[name]), place, limit=0.0)
        if self.promise.random:
            self._compare_random(source, place)
        colours = variants.only_colours(self.steady, self.mode)
        if self.promise.geometry and not self.recipe.facts.scales and variants.does_something(colours, self.mode):
            part = source.images["image"][:_PART, :_PART]
            sample = Sample(source.index, source.tile, source.path, {"image": part})
            pipelines = self.pipelines("colours", colours)
            plain, fast = _run_both(sample, pipelines, place.epoch)
            promise = promise_of(pipelines[1], self.dtype)
            self._add_levels("image", "colours", plain["image"], fast["image"], place, promise)

    def _add_levels(
        self, name: str, law: str, plain: NDArray[Any], fast: NDArray[Any], place: SampleRef, promise: Promise | None
    ) -> None:
        """Measure the differences of values; `promise` bounds them, unless it is None."""
        output = self.recipe.outputs.get(name, self.recipe.output)
        (largest, mean, share), limit = difference(plain, fast, output), None
        if promise is not None:
            dtype = "uint8" if output.where == "device" else output.dtype
            # Nearly equal floats may round to neighbouring levels.
            rounded = 1 if self.dtype == "float32" and dtype == "uint8" and promise.levels else 0
            limit = promise.levels + rounded + (_ROUNDING[dtype] if self.optimize == "fast" else 0.0)
        self.metrics.add(name, law, largest, place, limit=limit, mean=mean, share=share)

    def _add_likeness(self, name: str, plain: NDArray[Any], fast: NDArray[Any], place: SampleRef) -> None:
        """Measure the motion and the difference of content between images that were resampled differently."""
        output = self.recipe.outputs.get(name, self.recipe.output)
        a, b = (np.ascontiguousarray(levels_of(image, output)) for image in (plain, fast))
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            motion, error, content = (0.0, 0.0, 0.0) if np.array_equal(a, b, equal_nan=True) else (np.inf, 0.0, np.inf)
        else:
            (motion, error), content = likeness.motion_between(a, b), likeness.content_apart(a, b)
        self.metrics.add(name, "motion", motion, place, limit=likeness.allowed_motion(error))
        self.metrics.add(name, "content", content, place, limit=1.0)

    def _add_labels(self, source: NDArray[Any], plain: NDArray[Any], fast: NDArray[Any], place: SampleRef) -> None:
        """Measure masks: no new labels; equal masks where no resampling is merged."""
        share = float((plain != fast).mean())
        if not self.promise.geometry:
            self.metrics.add("mask", "labels", float(share > 0), place, limit=0.0, share=share)
            return
        known = [np.ravel(labels) for labels in (source, plain, [*variants.fills(self.recipe, self.mode)])]
        unknown = np.setdiff1d(fast, np.concatenate(known))
        self.metrics.add("mask", "labels", float(len(unknown)), place, limit=0.0, share=share)
        elsewhere = likeness.labels_elsewhere(plain, fast)
        self.metrics.add("mask", "elsewhere", elsewhere, place, limit=likeness.MOST_LABELS_ELSEWHERE)

    def _compare_random(self, source: Sample, place: SampleRef) -> None:
        """Compare steps whose random numbers the plan makes: equal draws, and noise of the same distribution."""
        recipe = variants.only_random(self.recipe, self.mode)
        pipelines = self.pipelines("random", recipe, draws=True)
        bare = self.pipelines("without random", variants.without_random(recipe, self.mode))[0]
        sample = Sample(source.index, source.tile, source.path, source.images)
        without, (plain, fast) = sample.run(bare, place.epoch), _run_both(sample, pipelines, place.epoch)
        differ = float(differing(plain["applied"], fast["applied"]))
        self.metrics.add("sample", "draws", differ, place, limit=0.0)
        for name in self.origins:
            output = recipe.outputs.get(name, recipe.output)
            levels = (levels_of(done[name], output) for done in (without, plain, fast))
            self._noise.setdefault(name, likeness.NoiseComparison()).add(*levels)
            self._last = place

    def close(self) -> None:
        """Add the measurements that need all samples."""
        for name, comparison in self._noise.items():
            for law, errors in comparison.errors(smooth="coarse_fields" in self.promise.random).items():
                self.metrics.add(name, law, errors, self._last, limit=MOST_ERRORS)


def _run_both(source: Sample, pipelines: list[Any], epoch: int) -> list[dict[str, Any]]:
    """Run a sample through both pipelines.

    Raises:
        DataError: both refuse it.
        PlanDiffersError: the results differ in more than values.
    """
    outcomes: list[dict[str, Any]] = []
    errors: list[DataError] = []
    for pipeline in pipelines:
        try:
            outcomes.append(source.run(pipeline, epoch))
        except DataError as error:
            errors.append(error)
    if len(errors) == len(pipelines):
        raise errors[0]
    if errors or not _is_same_kind(*outcomes):
        raise PlanDiffersError
    return outcomes


def _is_same_kind(plain: dict[str, Any], fast: dict[str, Any]) -> bool:
    """Whether both results have the same targets, and images and masks of the same sizes and dtypes."""
    return plain.keys() == fast.keys() and all(
        value.shape == fast[name].shape and value.dtype == fast[name].dtype
        for name, value in plain.items()
        if isinstance(value, np.ndarray) and name not in ("boxes", "keypoints") and value.ndim >= 2
    )


def differing(plain: list[Any], fast: list[Any]) -> int:
    """Count the steps with noise that acted in only one of two plans, or drew other numbers (arrays are the noise).

    >>> differing([("a", "GaussNoise", {"seed": 3})], [("a", "GaussNoise", {"seed": 5})])
    1
    """
    drawn = [
        {site: {key: value for key, value in params.items() if isinstance(value, int | float | np.number)}
         for site, name, params in applied if op_record(name).own_noise}
        for applied in (plain, fast)
    ]  # fmt: skip
    return sum(drawn[0].get(site) != drawn[1].get(site) for site in drawn[0].keys() | drawn[1].keys())


def difference(a: NDArray[Any], b: NDArray[Any], output: Output) -> tuple[float, float, float]:
    """The largest and the mean difference of two outputs, in levels of 0..255, and the share of pixels that differ.

    Equal bits are no difference, even NaN.

    >>> a = np.zeros((1, 2, 1), np.uint8)
    >>> difference(a, a + np.array([[[0], [3]]], np.uint8), Output(dtype="uint8", layout="hwc"))
    (3.0, 1.5, 0.5)
    """
    if np.array_equal(a, b, equal_nan=a.dtype != np.uint8):
        return 0.0, 0.0, 0.0
    distance = np.abs(levels_of(a, output) - levels_of(b, output))
    distance = np.nan_to_num(distance, nan=np.inf, posinf=np.inf)
    return float(distance.max()), float(distance.mean()), float((distance > 0).any(axis=-1).mean())


def largest_difference(a: Any, b: Any) -> float:
    """The largest difference between two arrays of boxes or keypoints; infinite where their shapes differ.

    >>> largest_difference(np.zeros((2, 4)), np.zeros((2, 4))), largest_difference(np.zeros((2, 4)), np.zeros((1, 4)))
    (0.0, inf)
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape:
        return float("inf")
    return float(np.abs(a - b).max()) if a.size else 0.0
