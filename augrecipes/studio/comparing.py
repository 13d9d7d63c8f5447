"""Two recipes, or two settings of one, on the same sample and the same keys of draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.diff import words
from augrecipes.diff.recipes import diff
from augrecipes.diff.samples import RecipeRun, run_sample
from augrecipes.errors import DataError
from augrecipes.preview.display import Picture, amplified, picture_of_output
from augrecipes.recipe.model import Recipe
from augrecipes.studio.asked import MOST_SIZE, Refused, RequestBody
from augrecipes.studio.drawing import classes_of
from augrecipes.studio.overlays import overlay_of
from augrecipes.studio.studio import Studio
from augrecipes.studio.switches import switched
from augrecipes.studio.wanted import check_index, left_of

SIZE = 900


class _ShelfReader:
    """Reads for one side."""

    def __init__(self, studio: Studio, recipe: Recipe, pipeline: Any, epoch: int) -> None:
        self.studio, self.recipe, self.pipeline, self.epoch = studio, recipe, pipeline, epoch
        self.files = studio.shelf.files(recipe, pipeline)

    def __len__(self) -> int:
        return len(self.files)

    def read(self, k: int) -> Any:
        """One sample."""
        return self.studio.shelf.sample(self.recipe, self.pipeline, k, self.epoch)


def compared(studio: Studio, body: RequestBody) -> dict[str, Any]:
    """Both pictures, how far they are apart, and what `augrecipes diff` says.

    `a` and `b` each have `text`, and may have `optimize`, `mode`, `seed`, `off` and `force`.

    Raises:
        AugrecipesError: a recipe is none, or the sample cannot be read.
    """
    index, epoch = body.integer("index"), body.integer("epoch")
    size = body.integer("size", SIZE, 0, MOST_SIZE)
    sides: list[RecipeRun] = []
    recipes: list[Recipe] = []
    for name in ("a", "b"):
        side = body.inner(name)
        written = studio.bench.recipe(side.text())
        seed = side.integer("seed") if side.has("seed") else body.integer("seed")
        recipe, _ = left_of(studio, written, side, side.mode(), seed)
        pipeline = studio.bench.pipeline(recipe, side.mode(), side.optimize(), seed)
        reader = _ShelfReader(studio, recipe, pipeline, epoch)
        check_index(reader.files, index)
        sides.append(RecipeRun(name.upper(), recipe, pipeline, reader))
        recipes.append(switched(written, side))
    if sides[0].recipe.kind != sides[1].recipe.kind:
        raise DataError(f"A is of kind {sides[0].recipe.kind} and B of kind {sides[1].recipe.kind}: nothing is both")
    units = sides[0].reader.files.table.units_of(index)
    tile = body.integers("chosen", most=64)[0]
    if tile >= len(units):
        raise Refused(404, "tile", f"there are {len(units)} tiles; the last is number {len(units) - 1}")
    unit = units[tile]
    drawn = run_sample(sides, unit, epoch)
    name = next(iter(sides[0].pipeline.outputs))
    if name not in sides[1].pipeline.outputs:
        raise DataError("A and B have no target in common, so there is nothing to compare")
    pictures = [
        picture_of_output(out[name], side.recipe.outputs.get(name, side.recipe.output))
        for out, side in zip(drawn.outputs, sides, strict=True)
    ]
    found: dict[str, Any] = {
        key: _shown(studio, side, picture, out, size)
        for key, side, picture, out in zip(("a", "b"), sides, pictures, drawn.outputs, strict=True)
    }
    return {**found, **_apart(studio, pictures, size), "words": _words(recipes, sides), "target": name}


def _shown(studio: Studio, side: RecipeRun, picture: Picture, out: Mapping[str, Any], size: int) -> dict[str, Any]:
    shown = {**studio.pictures.put(picture, size), "optimize": side.pipeline.optimize, "overlay": {}}
    if side.recipe.facts.annotated:
        classes = classes_of(side.reader.files)
        shown["overlay"] = overlay_of(out, side.recipe, picture.shape[:2], studio.pictures, shown=size, classes=classes)
    return shown


def _apart(studio: Studio, pictures: list[Picture], size: int) -> dict[str, Any]:
    """The difference as a picture and in levels; nothing where the sizes differ."""
    one, other = pictures
    if one.shape != other.shape:
        return {"difference": None, "largest": None, "mean": None, "times": None}
    apart: NDArray[np.float32] = np.abs(one.astype(np.float32) - other.astype(np.float32)).max(axis=-1)
    picture, times = amplified(apart)
    shown = studio.pictures.put(picture, size)
    return {"difference": shown, "largest": float(apart.max()), "mean": float(apart.mean()), "times": times}


def _words(recipes: list[Recipe], sides: list[RecipeRun]) -> list[str]:
    (a, b), (first, second) = recipes, sides
    found = diff(a, b)
    lines = [f"{one.key}: {words.of_change(one)}" for one in found.settings]
    marks = {"added": "+", "removed": "−", "moved": "›", "changed": "~"}
    for one in found.steps:
        draws = " (other draws)" if one.draws == "changed" else ""
        where = "eval " if one.mode == "eval" else ""
        lines.append(f"{marks[one.what]} {where}{one.site}: {words.of_step(one)}{draws}")
    lines += [f"to keep draws: {hint}" for hint in found.hints]
    if first.pipeline.optimize != second.pipeline.optimize:
        lines.append(f"optimize: {first.pipeline.optimize} → {second.pipeline.optimize}")
    return lines or ["the same in effect"]
