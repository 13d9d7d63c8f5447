"""Sheets of images: sources down the side, and to the right of each what the recipe makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.data.reading.listing import words_of
from augrecipes.data.reading.sample import Sample, open_data
from augrecipes.preview.cells import cell_of_output, cell_of_source, cell_of_stage, output_aspect
from augrecipes.preview.overlay import label_colour
from augrecipes.preview.rows import Asked, made_by, show_rows
from augrecipes.preview.sheet import MAX_WIDTH_PX, Cell, SheetLayout, SheetRow, compose, layout_for
from augrecipes.recipe.model import Recipe

COLUMNS = 6
_STAGE_PX = 150  # stages are put on a further line before they get smaller than this


@dataclass(slots=True)
class _DrawnRow:
    """What was drawn of one source: the targets that came out, or the picture after each step."""

    sample: Sample
    outputs: list[dict[str, Any]] = field(default_factory=list)
    stages: list[tuple[str, NDArray[Any]]] = field(default_factory=list)


def sheet(recipe: Recipe, asked: Asked) -> NDArray[np.uint8]:
    """The sheet of a recipe of kind image, uint8 H×W×3 RGB; DataError where nothing can be shown."""
    pipeline = recipe.compile(seed=asked.seed, **asked.compiled)
    files = open_data(recipe, pipeline.targets, asked.data, asked.masks)
    draws = 1 if asked.stages or pipeline.mode == "eval" else asked.columns

    def show(index: int) -> _DrawnRow:
        sample = files.read(index)
        outputs = [sample.run(pipeline, asked.epoch + k) for k in range(draws)]
        return _DrawnRow(sample, outputs, pipeline.stages(index, asked.epoch)(**sample.targets) if asked.stages else [])

    shown = show_rows(
        len(files), asked.rows, show, data=words_of(asked.data), path=files.path, table=files.listing.table,
        progress=asked.progress,
    )  # fmt: skip
    drawn = shown.rows
    table = files.listing.table
    boxes = table.boxes if recipe.inputs.boxes else None
    classes = (boxes.classes or ()) if boxes else ()
    rows = _stage_rows(drawn, recipe, classes) if asked.stages else _render_rows(drawn, recipe, asked.epoch, classes)
    layout, body = rows
    image = drawn[0].outputs[0]["image"]
    made = made_by(pipeline, asked, "one draw an epoch", f"{image.dtype} {'×'.join(map(str, image.shape))}")
    lines = [line for line in (recipe.about, made) if line]
    legend = [(label_colour(k), name) for k, name in enumerate(classes)]
    return compose(layout, body, title=recipe.name, lines=lines, footers=shown.footers(), legend=legend)


def _caption(sample: Sample) -> tuple[str, str]:
    """File name and folder; width, height and index."""
    path = Path(sample.path)
    height, width = sample.images["image"].shape[:2]
    name = f"{path.parent.name}/{path.name}" if path.parent.name else path.name
    return name, f"{width}×{height} px · index {sample.index}"


def _render_rows(
    drawn: Sequence[_DrawnRow], recipe: Recipe, epoch: int, classes: Sequence[str]
) -> tuple[SheetLayout, list[SheetRow]]:
    """One row a source: the source, then its draws."""
    columns = 1 + len(drawn[0].outputs)
    images = [out["image"] for one in drawn for out in one.outputs]
    layout = layout_for(columns, *output_aspect(images, recipe.output))
    body = []
    for number, one in enumerate(drawn):
        cells = [cell_of_source(one.sample, recipe, layout, classes)]
        cells += [
            cell_of_output(out, recipe, layout, f"epoch {epoch + k}", classes) for k, out in enumerate(one.outputs)
        ]
        body.append(SheetRow(cells, *_caption(one.sample), headers=number == 0))
    return layout, body


def _stage_rows(
    drawn: Sequence[_DrawnRow], recipe: Recipe, classes: Sequence[str]
) -> tuple[SheetLayout, list[SheetRow]]:
    """The source, then the picture after each step; a row that does not fit the sheet goes on below."""
    most = max(len(one.stages) for one in drawn)
    across = max((MAX_WIDTH_PX - 2 * 36) // (_STAGE_PX + 12) - 1, 1)  # stages beside the source
    lines = -(-most // across)
    across = max(-(-most // lines), 1)
    images = [image for one in drawn for _, image in one.stages] or [one.sample.images["image"] for one in drawn]
    layout = layout_for(across + 1, *output_aspect(images, None))
    body = []
    for one in drawn:
        before = one.sample.images["image"]
        cells: list[Cell] = []
        for label, image in one.stages:
            cells.append(cell_of_stage(label, image, before, layout))
            before = image
        source = cell_of_source(one.sample, recipe, layout, classes)
        body.append(SheetRow([source, *cells[:across]], *_caption(one.sample)))
        body += [SheetRow(cells[k : k + across], indent=True) for k in range(across, len(cells), across)]
    return layout, body
