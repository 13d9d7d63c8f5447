"""The same samples, with the same draws, as every recipe hands them out: small pictures that travel inside the page."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2

from augrecipes.bench.sides import Setting, compiled
from augrecipes.diff.samples import ComparedSample, RecipeRun, run_sample
from augrecipes.preview.cells import Cell
from augrecipes.preview.display import picture_of_input, picture_of_output, size_text
from augrecipes.preview.rows import annotated, show_rows
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe
from augrecipes.sources.opening import words_of
from augrecipes.sources.sample import Sample

SAMPLES = 6
EPOCH = 0
_BUDGET = 1_100_000  # characters of all pictures together; the page stays below 2 MB
_EDGES = (288, 208, 144, 96, 64)  # px; the first that keeps to the budget
_QUALITY = 84


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """One picture.

    Attributes:
        uri: a JPEG as `data:`.
        size: of what it shows, px.
        alt: what it shows, in words.
    """

    uri: str
    size: str
    alt: str


@dataclass(frozen=True, slots=True)
class ThumbnailLine:
    """One row of pictures, a sample each.

    Attributes:
        name: `source`, or the recipe.
        note: the level, and of pairs the target.
        pictures: by sample.
    """

    name: str
    note: str
    pictures: tuple[Thumbnail, ...]


@dataclass(frozen=True, slots=True)
class ThumbnailGrid:
    """All of them.

    Attributes:
        captions: file and number of each sample.
        lines: the source, then each recipe.
        left_out: what was wrong with samples that could not be shown.
    """

    captions: tuple[tuple[str, str], ...]
    lines: tuple[ThumbnailLine, ...]
    left_out: tuple[str, ...]


def grid(
    recipes: Mapping[str, Recipe],
    setting: Setting,
    levels: Mapping[str, Any],
    progress: Progress | None = None,
) -> ThumbnailGrid:
    """Run samples, spread evenly over the data, through every recipe.

    Args:
        recipes: of one kind, by the name that they are shown under.
        setting: data, section, seed.
        levels: of the optimiser, by the recipe's name.
        progress: called with (samples done, samples).

    Raises:
        DataError: no sample can be shown; recipes do not read the same files.
        LintError, RecipeError, StoreError: as `sides_of`.
    """
    left = {name: setting.left_of(recipe)[0] for name, recipe in recipes.items()}
    sides = []
    for name, recipe in left.items():
        pipeline = compiled(recipe, setting, levels[name])
        sides.append(RecipeRun(name, recipe, pipeline, setting.reader(recipe, pipeline)))
    count = min(len(side.reader) for side in sides)
    shown, skipped = show_rows(
        count, SAMPLES, lambda k: run_sample(sides, k, EPOCH), data=words_of(setting.data), path=str, progress=progress
    )
    for edge in _EDGES:
        lines = tuple(_lines(shown, sides, edge))
        if sum(len(picture.uri) for line in lines for picture in line.pictures) <= _BUDGET:
            break
    return ThumbnailGrid(tuple(_caption(one.given, sides[0].recipe) for one in shown), lines, tuple(map(str, skipped)))


def _lines(drawn: list[ComparedSample], sides: list[RecipeRun], edge: int) -> Iterator[ThumbnailLine]:
    sources = [next(iter(one.given.images.values())) for one in drawn]
    yield ThumbnailLine("source", "", tuple(_thumbnail(Cell(picture_of_input(s)), edge, "the source") for s in sources))
    for number, side in enumerate(sides):
        for target in side.pipeline.outputs:
            pictures = (_shown(one.outputs[number], target, side, edge) for one in drawn)
            note = [target] if side.recipe.facts.scales else []
            yield ThumbnailLine(side.name, " · ".join((*note, side.pipeline.optimize)), tuple(pictures))


def _shown(out: Mapping[str, Any], target: str, side: RecipeRun, edge: int) -> Thumbnail:
    """A target as it came out, with mask, boxes and keypoints over images."""
    plain = picture_of_output(out[target], side.recipe.outputs.get(target, side.recipe.output))
    cell = annotated(plain, out, side.recipe) if side.recipe.facts.annotated else Cell(plain)
    return _thumbnail(cell, edge, f"what {side.name} makes of it" + (f", {target}" if target != "image" else ""))


def _thumbnail(cell: Cell, edge: int, alt: str) -> Thumbnail:
    """A picture at the size at which its longer edge is `edge`."""
    assert cell.picture is not None
    height, width = cell.picture.shape[:2]
    scale = edge / max(height, width)
    shown = cell.at((max(round(height * scale), 1), max(round(width * scale), 1)))
    _, encoded = cv2.imencode(".jpg", cv2.cvtColor(shown, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    uri = "data:image/jpeg;base64," + base64.b64encode(encoded.tobytes()).decode("ascii")
    return Thumbnail(uri, size_text(cell.picture), alt)


def _caption(given: Sample, recipe: Recipe) -> tuple[str, str]:
    """File and number of a sample."""
    path = Path(given.path)
    return path.name, f"{path.parent.name}, {f'tile {given.tile}' if recipe.facts.tiles else f'index {given.index}'}"
