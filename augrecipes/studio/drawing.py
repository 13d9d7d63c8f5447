"""Samples as the recipe makes them, one piece of work for each sample and epoch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import AugrecipesError, DataError, harmless
from augrecipes.preview.display import picture_of_input
from augrecipes.recipe.model import Recipe, Step
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.sources.stored import StoredSource
from augrecipes.studio.asked import MOST_DRAWS, Refused, RequestBody
from augrecipes.studio.jobs import Piece, Say
from augrecipes.studio.overlays import overlay_of
from augrecipes.studio.pictures import shown_of
from augrecipes.studio.replay import python_of
from augrecipes.studio.studio import Studio
from augrecipes.studio.wanted import WantedDraws, check_index, units_of
from augrecipes.studio.words import in_words
from augrecipes.studio.working import key_of


def draws(studio: Studio, body: RequestBody) -> Iterator[Piece]:
    """The pieces of work of a request: each says what the page shows of one sample in one epoch.

    A sample that cannot be read, or that a step fails on, is said as `error`; the others go on.

    Raises:
        RecipeError, LintError: the recipe cannot be drawn.
        DataError: there is nothing that it can be drawn with.
    """
    wanted = WantedDraws.of(studio, body)
    indices, epochs = body.integers("indices"), body.integers("epochs")
    if len(indices) * len(epochs) > MOST_DRAWS:
        raise Refused(400, "too-many", f"at most {MOST_DRAWS} draws at once")
    pipeline = wanted.pipeline(studio)
    number, files = studio.shelf.listed(wanted.recipe, pipeline)
    check_index(files, *indices)
    key = (
        *key_of(wanted.recipe, wanted.mode, wanted.optimize, wanted.seed), number, wanted.size, wanted.tiles,
        wanted.chosen, wanted.source,
    )  # fmt: skip

    def drawn(index: int, epoch: int) -> dict[str, Any]:
        def draw() -> dict[str, Any]:
            return _draw(studio, wanted, pipeline, files, index, epoch)

        found = studio.drawn.get((*key, index, epoch), draw)
        if all(studio.pictures.has(one["url"]) for one in found["pictures"]):
            return found
        studio.drawn.forget((*key, index, epoch))  # its pictures had to make room
        return studio.drawn.get((*key, index, epoch), draw)

    def piece(index: int, epoch: int) -> Piece:
        def work(say: Say) -> None:
            line = {"index": index, "epoch": epoch, "name": name_of(files, wanted.recipe, index)}
            try:
                line |= drawn(index, epoch)
            except (AugrecipesError, Refused) as error:
                line |= {"pictures": [], "error": failure(error)}
            say(line)

        return work

    return (piece(index, epoch) for index in indices for epoch in epochs)


def name_of(files: RecipeSource, recipe: Recipe, index: int) -> str:
    """What a sample is called: the end of its path, of a bag its folder; text, whatever somebody has called a file."""
    path = files.path(files.table.units_of(index)[0])
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    shown = parts[-2:-1] if recipe.facts.tiles else parts[-2:]
    return harmless("/".join(shown) or path).encode("utf-8", "replace").decode()


def failure(error: AugrecipesError | Refused) -> dict[str, str]:
    """What the page says of a sample that cannot be shown."""
    if isinstance(error, Refused):
        return {"code": error.code, "message": harmless(error.message), "cure": error.cure}
    cure = "" if not isinstance(error, DataError) or error.step is None else f"the step {error.step} fails on it"
    return {"code": "data", "message": harmless(str(error)), "cure": cure}


def _draw(
    studio: Studio, wanted: WantedDraws, pipeline: Pipeline, files: RecipeSource, index: int, epoch: int
) -> dict[str, Any]:
    units = units_of(wanted, files, index, epoch)
    made = [_sample(studio, wanted, pipeline, files, unit, epoch) for unit in units]
    line: dict[str, Any] = {"pictures": [one for shown, _, _ in made for one in shown], "python": made[0][1]}
    if wanted.recipe.facts.tiles:
        line["words"] = made[0][2]
        line["more"] = len(files.table.units_of(index)) - len(units)
    return line


def _sample(
    studio: Studio, wanted: WantedDraws, pipeline: Pipeline, files: RecipeSource, unit: int, epoch: int
) -> tuple[list[dict[str, Any]], str, list[str]]:
    """The pictures of one sample, or tile; the line of Python that makes it; and what it shares with its bag."""
    sample = studio.shelf.sample(wanted.recipe, pipeline, unit, epoch)
    try:
        out = sample.run(pipeline, epoch)
    except DataError as error:
        raise (error if error.path else error.with_path(sample.path)) from error.__cause__
    found = [_shown(studio, wanted, out, name, files, sample, pipeline) for name in pipeline.outputs]
    if wanted.source:
        for one in found:
            one["source"] = source_of(studio, wanted, sample, pipeline.origins[one["target"]], files)
    python = python_of(studio.source, pipeline, files, sample, unit, epoch)
    return found, python, _shared(wanted, out.get("applied", ()))


def _shared(wanted: WantedDraws, applied: Iterable[tuple[str, str, dict[str, Any]]]) -> list[str]:
    """What is drawn once for a whole bag, in words."""
    if not wanted.recipe.facts.tiles:
        return []
    drawn = {label: (name, in_words(params)) for label, name, params in applied}
    return [
        f"{drawn[step.site][0]}: {drawn[step.site][1]}"
        for step in shared_steps(wanted.recipe.section(wanted.mode) or (), "tile")
        if step.site in drawn
    ]


def shared_steps(steps: Iterable[Step], inherited: str) -> Iterator[Step]:
    """The steps that draw once a bag; what a group says holds for those in it."""
    for step in steps:
        share = step.share or inherited
        if step.steps:
            yield from shared_steps(step.steps, share)
        elif share == "bag":
            yield step


def _shown(
    studio: Studio,
    wanted: WantedDraws,
    out: Mapping[str, Any],
    name: str,
    files: RecipeSource,
    sample: Sample,
    pipeline: Pipeline,
) -> dict[str, Any]:
    recipe = wanted.recipe
    output = recipe.outputs.get(name, recipe.output)
    size = out[name].shape[1:] if output.layout == "chw" else out[name].shape[:2]
    picture = shown_of(out[name], output, wanted.size)
    one = {"target": name, **studio.pictures.put(picture, wanted.size, size), "overlay": {}}
    if recipe.facts.annotated:
        one["overlay"] = overlay_of(out, recipe, size, studio.pictures, shown=wanted.size, classes=classes_of(files))
    if recipe.facts.tiles:
        one["tile"] = sample.tile
    window = (out.get("window") or {}).get(pipeline.origins[name])
    if window is not None:
        one["window"] = [int(value) for value in window]
    return one


def source_of(studio: Studio, wanted: WantedDraws, sample: Sample, name: str, files: RecipeSource) -> dict[str, Any]:
    """A picture as it was read, with what lies on it."""
    image = sample.images[name]
    picture = picture_of_input(image if isinstance(image, np.ndarray) else small(image, wanted.size))
    shown = studio.pictures.put(picture, wanted.size)
    shown["height"], shown["width"] = image.shape[:2]
    if wanted.recipe.facts.annotated:
        rest = {**sample.rest}
        size = (image.shape[0], image.shape[1])
        if "mask" in rest and size != picture.shape[:2]:
            del rest["mask"]  # a mask as large as a picture of many megapixels
        shown["overlay"] = overlay_of(
            rest, as_read(wanted.recipe, files), size, studio.pictures, shown=wanted.size, classes=classes_of(files)
        )
    return shown


def as_read(recipe: Recipe, files: RecipeSource) -> Recipe:
    """The recipe, with its boxes and points as the data have them: in a store in albumentations' own terms."""
    inputs = recipe.inputs
    if not isinstance(files, StoredSource):
        return recipe
    boxes = inputs.boxes and replace(inputs.boxes, format="albumentations")
    points = inputs.keypoints and replace(inputs.keypoints, format="xy")
    return replace(recipe, inputs=replace(inputs, boxes=boxes, keypoints=points))


def whole(image: Any) -> NDArray[Any]:
    """A picture decoded."""
    return image if isinstance(image, np.ndarray) else np.asarray(image.array())


def small(image: Any, size: int) -> Any:
    """A file's picture for showing it at a size, decoded no larger than that needs."""
    height, width = image.shape[:2]
    able = [k for k in (1, *image.scales()) if size and max(height, width) // k >= size]
    return image.region(0, 0, height, width, max(able, default=1))


def classes_of(files: RecipeSource) -> tuple[str, ...]:
    """Names of the boxes' labels."""
    table = files.table
    boxes = table.boxes
    return tuple((boxes.classes if boxes is not None else None) or table.box_classes or ())
