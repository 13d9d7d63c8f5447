"""A request's recipe over the data: which steps run, which samples are shown, and how they look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.data.picking import tiles_of
from augrecipes.errors import AugrecipesError, DataError, harmless
from augrecipes.ops import groups
from augrecipes.preview.display import Picture, picture_of_input
from augrecipes.recipe.model import Bag, Mode, Optimize, Recipe, Step
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.sources.stored import StoredSource
from augrecipes.studio.outline import steps_by_path
from augrecipes.studio.requests import CompareRequest, Refused, VariantRequest, ViewRequest
from augrecipes.studio.studio import Studio


class View:
    """What a request shows: its recipe as it is run, compiled, and the data as that reads them.

    Args:
        studio: whose data and caches.
        request: which samples, how large.
        variant: the recipe; None: the request's own.
        optimize: instead of the request's choice.
        mode: the same.
        size: where the request names none, px.
        more: arguments of the compiler.

    Attributes:
        written: the recipe as its text says.
        switched: the same, without the steps that are switched off.
        recipe: what is run: without those that a packed dataset has behind it, too.
        baked: labels of the steps that the dataset was packed with.
        number: of the listing, see `StudioData.listed`.

    Raises:
        Refused: a path that no step has, or of a step that the dataset was packed with.
        RecipeError, LintError: the recipe cannot run.
        DataError: there is nothing that it can run on.
    """

    def __init__(
        self, studio: Studio, request: ViewRequest | CompareRequest, variant: VariantRequest | None = None, *,
        optimize: Optimize | None = None, mode: Mode | None = None, size: int = 0, **more: Any,
    ) -> None:  # fmt: skip
        self.studio, self.request = studio, request
        self.variant = variant = variant or (request if isinstance(request, ViewRequest) else request.a)
        self.mode, self.size = mode or variant.mode, size if request.size is None else request.size
        self.written = studio.bench.recipe(variant.text)
        self.steps = steps_by_path(self.written)
        self.baked = studio.data.left(self.written, self.mode, request.seed)[1]
        self.switched = self._switched()
        self.recipe = studio.data.left(self.switched, self.mode, request.seed)[0]
        self.pipeline = studio.bench.pipeline(self.recipe, self.mode, optimize, request.seed, **more)
        self.number, self.files = studio.data.listed(self.recipe, self.pipeline)

    def _switched(self) -> Recipe:
        """The recipe without the steps that are off, and with a p of 0 or 1 for those that are forced.

        Labels stay, so every other step draws what it drew. Inside a group a step that is off stays and never acts,
        because groups draw which of so many steps act.
        """
        off, force = self.variant.off, self.variant.force
        for path in (*off, *force):
            if path not in self.steps:
                raise Refused(404, "path", f"there is no step {path!r:.80}")
            if self.steps[path].site in self.baked:
                fix = "give the files that the store was packed from, or pack them again"
                message = f"{self.steps[path].name} is in the store already: it cannot be switched"
                raise Refused(422, "baked", message, fix)

        def step(old: Step, path: str) -> Step:
            inner = [f"{path}.steps.{number}" for number in range(len(old.steps))]
            chosen = {one for one in inner if force.get(one) == 1} if old.name == groups.ONE_OF else set()
            made = [
                replace(step(child, one), p=0.0) if one in off or (chosen and one not in chosen) else step(child, one)
                for child, one in zip(old.steps, inner, strict=True)
            ]
            return replace(old, steps=tuple(made), p=float(force[path]) if path in force else old.p)

        def section(steps: tuple[Step, ...], name: str) -> tuple[Step, ...]:
            paths = {f"{name}.{number}": one for number, one in enumerate(steps)}
            return tuple(step(one, path) for path, one in paths.items() if path not in off)

        old = self.written
        if not off and not force:
            return old
        return replace(old, steps=section(old.steps, "steps"), eval=old.eval and section(old.eval, "eval"))

    def check(self, *indices: int) -> None:
        """Refused where there are not so many samples."""
        if max(indices) >= (count := len(self.files.table)):
            raise Refused(404, "index", f"there are {count} samples; the last is number {count - 1}")

    def units(self, index: int, epoch: int) -> list[int]:
        """The files of a sample: itself, or some of the tiles that an epoch picks of a bag.

        Raises:
            Refused: there is no such sample, or none of the tiles that were chosen is picked.
        """
        self.check(index)
        units = self.files.table.units_of(index)
        if not self.recipe.facts.tiles or not isinstance(self.request, ViewRequest):
            return list(units)
        rule, seed = self.recipe.bag or Bag(), self.request.seed
        picked = tiles_of(rule, len(units), self.mode, seed=seed, epoch=epoch, index=index)
        if chosen := self.request.chosen:
            among = [units[tile] for tile in chosen if tile in picked]
            if not among:
                those = ", ".join(map(str, chosen[:8]))
                raise Refused(404, "tile", f"of the {len(units)} tiles of this bag the epoch picks others than {those}")
            return among
        spread = np.unique(np.linspace(0, len(picked) - 1, min(self.request.tiles, len(picked))).round().astype(int))
        return [units[int(tile)] for tile in picked[spread]]

    def sample(self, unit: int, epoch: int) -> Sample:
        """One image, scene or tile as the pipeline takes it; DataError where it cannot be read."""
        return self.studio.data.sample(self.recipe, self.pipeline, unit, epoch)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Names of the boxes' labels."""
        boxes = self.files.table.boxes
        return tuple((boxes.classes if boxes is not None else None) or self.files.table.box_classes or ())

    def put(self, image: Picture, whole: tuple[int, int] | None = None) -> dict[str, Any]:
        """Cache an image, see `ImageCache.put`."""
        return self.studio.images.put(image, self.size, whole)

    def overlay(
        self, targets: Mapping[str, Any], size: tuple[int, int], recipe: Recipe | None = None
    ) -> dict[str, Any]:
        """What lies over an image, see `ImageCache.overlay`; empty for kinds that have nothing such."""
        recipe = recipe or self.recipe
        found = recipe.facts.annotated
        return self.studio.images.overlay(targets, recipe, size, self.size, self.classes) if found else {}

    def source(self, sample: Sample, name: str) -> dict[str, Any]:
        """An image as it was read, with its overlay."""
        image, rest = sample.images[name], dict(sample.rest)
        picture = picture_of_input(image if isinstance(image, np.ndarray) else _small(image, self.size))
        size = image.shape[0], image.shape[1]
        if size != picture.shape[:2]:
            rest.pop("mask", None)  # it is as large as an image of many megapixels
        recipe, inputs = self.recipe, self.recipe.inputs
        if isinstance(self.files, StoredSource):  # which has boxes and points in albumentations' own terms
            boxes = inputs.boxes and replace(inputs.boxes, format="albumentations")
            points = inputs.keypoints and replace(inputs.keypoints, format="xy")
            recipe = replace(recipe, inputs=replace(inputs, boxes=boxes, keypoints=points))
        return {**self.put(picture, size), "overlay": self.overlay(rest, size, recipe)}


def whole(image: Any) -> NDArray[Any]:
    """An image, decoded."""
    return image if isinstance(image, np.ndarray) else np.asarray(image.array())


def _small(image: Any, size: int) -> Any:
    """A file's image for showing it at a size, decoded no larger than that needs."""
    height, width = image.shape[:2]
    able = [k for k in (1, *image.scales()) if size and max(height, width) // k >= size]
    return image.region(0, 0, height, width, max(able, default=1))


def name_of(files: RecipeSource, recipe: Recipe, index: int) -> str:
    """A sample's name: the end of its path, of a bag its folder; text, whatever somebody has called a file."""
    path = files.path(files.table.units_of(index)[0])
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    shown = parts[-2:-1] if recipe.facts.tiles else parts[-2:]
    return harmless("/".join(shown) or path).encode("utf-8", "replace").decode()


def failure(error: AugrecipesError | Refused) -> dict[str, str]:
    """The error that the page shows in place of a sample."""
    if isinstance(error, Refused):
        return {"code": error.code, "message": harmless(error.message), "fix": error.fix}
    fix = "" if not isinstance(error, DataError) or error.step is None else f"the step {error.step} fails on it"
    return {"code": "data", "message": harmless(str(error)), "fix": fix}
