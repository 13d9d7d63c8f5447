"""One sample through both pipelines, and everything that is measured on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.flow import Dtype
from augrecipes.recipe.model import Mode, Optimize, Output, Recipe
from augrecipes.verify import variants
from augrecipes.verify.contract import Promise, promise_of, rounding
from augrecipes.verify.gauges import GOALS, Gauges, Place
from augrecipes.verify.labels import MOST_BESIDE_PX, beside, beyond, fills, invented, places_mask
from augrecipes.verify.levels import difference
from augrecipes.verify.points import MOST_ASTRAY_PX, Grid, largest_difference
from augrecipes.verify.ramps import MOST_APART_PX, Apart, Map, compare, map_of, planes
from augrecipes.verify.samples import Given
from augrecipes.verify.truth import Waves, integrated, rms

LOSS_FROM = 2.0  # source px per output px
_TRUTH_SLACK = 0.05  # levels: rounding of float32 positions and of cv2's weights
_LOSS_FLOOR = 0.5  # levels: rounding to uint8
_ASTRAY_SLACK = 0.02

Build = Callable[[Recipe, Optimize], Any]


class Two(NamedTuple):
    """The pipeline that counts, and the one that is checked."""

    plain: Any
    fast: Any


@dataclass
class Comparison:
    """Compares the plan of a recipe with the recipe, sample by sample.

    Args:
        recipe: of any kind.
        mode: the section.
        optimize: of the plan.
        seed: of the draws, which decides the band-limited pictures too.
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
    gauges: Gauges = field(default_factory=Gauges)
    _built: dict[str, Two] = field(default_factory=dict)

    def two(self, name: str, make: Callable[[], Recipe]) -> Two:
        """Both pipelines of a variant, built when they are first asked for."""
        if name not in self._built:
            recipe = make()
            self._built[name] = Two(self.build(recipe, "none"), _Plan(self.build(recipe, self.optimize)))
        return self._built[name]

    def sample(self, given: Given, place: Place) -> DataError | None:
        """Measure one sample; the error, where the recipe itself refuses it, and the plan as well."""
        try:
            self._sample(given, place)
        except _PlanDiffersError:
            self.gauges.add("sample", "outcome", 1.0, place, limit=0.0)
        except DataError as error:
            return error
        else:
            self.gauges.add("sample", "outcome", 0.0, place, limit=0.0)
        return None

    def _sample(self, given: Given, place: Place) -> None:
        two = self.two("itself", lambda: self.recipe)
        try:
            plain = given.run(two.plain, place.epoch)
        except DataError:
            try:
                given.run(two.fast, place.epoch)
            except _PlanDiffersError:
                pass
            else:
                raise _PlanDiffersError from None
            raise
        fast = given.run(two.fast, place.epoch)
        if not _alike(plain, fast):
            raise _PlanDiffersError
        self._pictures(plain, fast, place)
        maps = self._maps(given, place) if self.promise.geometry else {}
        if "mask" in plain:
            self._masks(plain["mask"], fast["mask"], given, maps.get("image"), place)
        for name in ("boxes", "keypoints"):
            if name in plain:
                self.gauges.add(name, "equal", largest_difference(plain[name], fast[name]), place, limit=0.0)
        if self.promise.geometry and (self.recipe.inputs.boxes or self.recipe.inputs.keypoints):
            self._points(given, place)

    def _pictures(self, plain: dict[str, Any], fast: dict[str, Any], place: Place) -> None:
        """Values, as they leave; bounded where no resampling was merged."""
        for name in self.origins:
            output = self.output_of(name)
            limit = None if self.promise.geometry else self._most(output, self.promise)
            self._levels(name, "levels", plain[name], fast[name], output, place, limit)

    def _levels(
        self, name: str, law: str, a: NDArray[Any], b: NDArray[Any], output: Output, place: Place, limit: float | None
    ) -> None:
        found = difference(a, b, output)
        self.gauges.add(name, law, found.largest, place, limit=limit, mean=found.mean, share=found.share)

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

    def _maps(self, given: Given, place: Place) -> dict[str, tuple[Map, Apart]]:
        """Where pixels come from, in both; how far apart, how near to the truth.

        Returns the unoptimised maps, and how the optimised ones differ.
        """
        sizes = {name: (*image.shape[:2], image.shape[2]) for name, image in given.images.items()}
        two = self.two("moves", lambda: variants.only_moves(self.recipe, self.mode))
        both = [
            map_of(lambda pictures, p=pipeline: given.run(p, place.epoch, **pictures), sizes, self.origins)  # type: ignore[misc]
            for pipeline in two
        ]
        bytes_out = self.two("bytes", lambda: variants.only_moves(self.recipe, self.mode, bytes_out=True))
        pictures = [given.run(pipeline, place.epoch) for pipeline in bytes_out]
        seen = {}
        for name in self.origins:
            if both[0][name].x.shape != both[1][name].x.shape:
                raise _PlanDiffersError
            apart = compare(both[0][name], both[1][name])
            seen[name] = both[0][name], apart
            self.gauges.add(
                name, "displacement", apart.largest, place, limit=MOST_APART_PX, mean=apart.mean, share=apart.share
            )
            self.gauges.add(name, "hidden", float(apart.hidden), place, limit=0.0)
            if apart.where.any():
                self._truth(name, given, place, both[0][name], apart)
                self._loss(name, given, place, both[0][name], apart, [done[name] for done in pictures])
        if self.recipe.kind != "pair" and variants.has_colours(self.recipe, self.mode):
            self._colours(given, place, pictures[0]["image"])
        return seen

    def _truth(self, name: str, given: Given, place: Place, where: Map, apart: Apart) -> None:
        """A picture that is known everywhere: the plan may be no further from it than the recipe.

        Where much is shrunk, the truth may also be the mean over each pixel's area: a plan that reduces first gives
        up the one for the other.
        """
        waves = Waves.for_scale(where.largest_scale(apart.where), (self.seed & 0xFFFFFFFF, place.index, place.epoch))
        pictures = {
            target: planes(waves.picture(*image.shape[:2]), image.shape[2]) for target, image in given.images.items()
        }
        plain, fast = (given.run(pipeline, place.epoch, **pictures)[name][..., 0] for pipeline in self._built["moves"])
        known = [waves.at(where.x, where.y)]
        if where.scale() >= LOSS_FROM:
            known.append(waves.over(where))
        further = [(255 * rms(fast, one, apart.where), 255 * rms(plain, one, apart.where)) for one in known]
        ratio = min((mine + _TRUTH_SLACK) / (its + _TRUTH_SLACK) for mine, its in further)
        broken = all(not mine <= its + _TRUTH_SLACK for mine, its in further)
        self.gauges.add(name, "truth", ratio, place, limit=1.0, broken=broken)

    def _loss(self, name: str, given: Given, place: Place, where: Map, apart: Apart, done: list[NDArray[Any]]) -> None:
        """The real picture: how much further the plan is from its integral. A goal, not a promise."""
        source = given.images[self.origins[name]]
        known = integrated(source, where, apart.where) * np.float32(1 if source.dtype == np.uint8 else 255)
        plain, fast = (rms(picture, known, apart.where) for picture in done)
        loss = max(fast, _LOSS_FLOOR) / max(plain, _LOSS_FLOOR)
        self.gauges.add(name, "loss", loss, place, warned=where.scale() >= LOSS_FROM and loss > GOALS["loss"])

    def _colours(self, given: Given, place: Place, picture: NDArray[Any]) -> None:
        """The colour steps alone, on the picture as the geometry leaves it."""
        two = self.two("colours", lambda: variants.only_colours(self.recipe, self.mode))
        planned = two.fast.pipeline
        promise = promise_of(planned, self.dtype) if isinstance(planned, Pipeline) else self.promise
        alone = Given(given.index, given.tile, given.path, {"image": picture}).of(self.dtype)
        plain, fast = (alone.run(pipeline, place.epoch) for pipeline in two)
        limit = self._most(self.recipe.output, promise)
        self._levels("image", "colours", plain["image"], fast["image"], self.recipe.output, place, limit)

    def _masks(
        self, plain: NDArray[Any], fast: NDArray[Any], given: Given, seen: tuple[Map, Apart] | None, place: Place
    ) -> None:
        share = float((plain != fast).mean())
        if seen is None or plain.dtype.kind == "f":
            self.gauges.add("mask", "labels", float(share > 0), place, limit=0.0, share=share)
            return
        source = np.asarray(given.rest["mask"])
        new = invented(plain, fast, source, fills(self.recipe, self.mode))
        self.gauges.add("mask", "labels", float(len(new)), place, limit=0.0, share=share)
        where, apart = seen
        own = places_mask(*source.shape[:2])
        its, mine = (given.run(pipeline, place.epoch, mask=own)["mask"] for pipeline in self._built["bytes"])
        self.gauges.add("mask", "hidden", float(beyond(its, mine, where)), place, limit=0.0)
        far = beside(mine, where, apart.where)
        limit = max(MOST_BESIDE_PX, beside(its, where, apart.where)) + MOST_APART_PX
        self.gauges.add("mask", "nearest", far, place, limit=MOST_BESIDE_PX, broken=not far <= limit)

    def _points(self, given: Given, place: Place) -> None:
        """Boxes and keypoints of our own, on ramps: do they lie where the picture shows them?"""
        inputs = self.recipe.inputs
        two = self.two("points", lambda: variants.with_free_points(variants.only_moves(self.recipe, self.mode)))
        height, width, channels = given.images["image"].shape
        grid = Grid.over(height, width)
        targets = grid.targets(boxes=inputs.boxes is not None, keypoints=inputs.keypoints is not None)
        rest = {"mask": given.rest["mask"]} if "mask" in given.rest else {}
        bare = Given(given.index, given.tile, given.path, {}, rest)
        kept: list[dict[str, Any]] = [{}, {}]
        maps = []
        for pipeline, done in zip(two, kept, strict=True):

            def run(
                pictures: dict[str, NDArray[Any]], p: Any = pipeline, done: dict[str, Any] = done
            ) -> dict[str, Any]:
                done.update(bare.run(p, place.epoch, **pictures, **targets))
                return done

            maps.append(map_of(run, {"image": (height, width, channels)}, {"image": "image"})["image"])
        seen = compare(*maps).where
        strays = [grid.astray(done, where, seen) for done, where in zip(kept, maps, strict=True)]
        for name, far in strays[1].items():
            limit = max(MOST_ASTRAY_PX, strays[0][name] + _ASTRAY_SLACK)
            self.gauges.add(name, "follows", far, place, limit=MOST_ASTRAY_PX, broken=not far <= limit)


class _PlanDiffersError(Exception):
    """The plan refuses what the recipe takes, or the other way round, or gives something of another kind."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The optimised pipeline, whose refusals are told from the recipe's own."""

    pipeline: Any

    def at(self, index: int, epoch: int, tile: int) -> Callable[..., dict[str, Any]]:
        """As the pipeline's."""

        def run(**targets: Any) -> dict[str, Any]:
            try:
                done: dict[str, Any] = self.pipeline.at(index, epoch, tile)(**targets)
            except DataError as error:
                raise _PlanDiffersError from error
            return done

        return run


def _alike(plain: dict[str, Any], fast: dict[str, Any]) -> bool:
    """Whether both gave the same targets; pictures and masks of the same sizes and dtypes."""
    if plain.keys() != fast.keys():
        return False
    return all(
        value.shape == fast[name].shape and value.dtype == fast[name].dtype
        for name, value in plain.items()
        if isinstance(value, np.ndarray) and name not in ("boxes", "keypoints") and value.ndim >= 2
    )
