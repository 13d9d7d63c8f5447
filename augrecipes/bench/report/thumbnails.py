"""The same samples, with the same random parameters, as every recipe hands them out: small images inside the page."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cv2

from augrecipes.bench.sides import Setting, compiled
from augrecipes.diff.images import RecipeRun, run_sample
from augrecipes.preview.cells import Cell
from augrecipes.preview.display import picture_of_input, picture_of_output, size_text
from augrecipes.preview.rows import annotated, show_rows
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe
from augrecipes.sources.opening import words_of

_SAMPLES, _EPOCH = 6, 0
_EDGE, _FULL = 288, 24  # px of the longer edge; smaller where there are more images than so many
_QUALITY = 84


class Thumbnail(NamedTuple):
    """One image: a JPEG as `data:`, the size of what it shows, and what that is."""

    uri: str
    size: str
    alt: str


class ThumbnailLine(NamedTuple):
    """One row of images, a sample each: `source` or the recipe, its level and target, the images."""

    name: str
    note: str
    images: tuple[Thumbnail, ...]


class ThumbnailGrid(NamedTuple):
    """All of them: file and number of each sample, the rows, and what was wrong with samples that are not shown."""

    captions: tuple[tuple[str, str], ...]
    lines: tuple[ThumbnailLine, ...]
    left_out: tuple[str, ...]


def grid(
    recipes: Mapping[str, Recipe], setting: Setting, levels: Mapping[str, Any], progress: Progress | None = None
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
    runs = []
    for name, recipe in recipes.items():
        left, _ = setting.left_of(recipe)
        pipeline = compiled(left, setting, levels[name])
        runs.append(RecipeRun(name, left, pipeline, setting.reader(left, pipeline)))
    count = min(len(run.reader) for run in runs)
    shown, skipped = show_rows(
        count, _SAMPLES, lambda k: run_sample(runs, k, _EPOCH), data=words_of(setting.data), path=str, progress=progress
    )
    whole = len(shown) * (1 + sum(len(run.pipeline.outputs) for run in runs))
    edge = int(_EDGE * min(1.0, (_FULL / whole) ** 0.5))
    sources = [Cell(picture_of_input(next(iter(one.given.images.values())))) for one in shown]
    lines = [_line("source", "", sources, "the source", edge)]
    for number, run in enumerate(runs):
        for target in run.pipeline.outputs:
            cells = [_cell(one.outputs[number], target, run.recipe) for one in shown]
            note = " · ".join([*([target] if run.recipe.facts.scales else []), run.pipeline.optimize])
            lines.append(_line(run.name, note, cells, f"{run.name}, {target}", edge))
    tiles = runs[0].recipe.facts.tiles
    captions = [
        (path.name, f"{path.parent.name}, {f'tile {one.given.tile}' if tiles else f'index {one.given.index}'}")
        for one in shown
        for path in [Path(one.given.path)]
    ]
    return ThumbnailGrid(tuple(captions), tuple(lines), tuple(map(str, skipped)))


def _cell(out: Mapping[str, Any], target: str, recipe: Recipe) -> Cell:
    """A target as it came out, with mask, boxes and keypoints over images."""
    plain = picture_of_output(out[target], recipe.outputs.get(target, recipe.output))
    return annotated(plain, out, recipe) if recipe.facts.annotated else Cell(plain)


def _line(name: str, note: str, cells: Sequence[Cell], alt: str, edge: int) -> ThumbnailLine:
    images = []
    for cell in cells:
        assert cell.picture is not None
        height, width = cell.picture.shape[:2]
        scale = edge / max(height, width)
        small = cv2.cvtColor(cell.at((max(round(height * scale), 1), max(round(width * scale), 1))), cv2.COLOR_RGB2BGR)
        _, encoded = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
        uri = "data:image/jpeg;base64," + base64.b64encode(encoded.tobytes()).decode("ascii")
        images.append(Thumbnail(uri, size_text(cell.picture), alt))
    return ThumbnailLine(name, note, tuple(images))
