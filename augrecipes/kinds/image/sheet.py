"""Sheets of images: sources down the side, and to the right of each what the recipe makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from augrecipes.data.reading.sample import Sample
from augrecipes.preview.cells import cell_of_output, cell_of_source, cell_of_stage, output_aspect, short_path
from augrecipes.preview.overlay import label_colour
from augrecipes.preview.rows import Asked, made_by, show_rows
from augrecipes.preview.sheet import MAX_WIDTH_PX, Cell, SheetLayout, SheetRow, compose, layout_for
from augrecipes.preview.shown import LabelledPicture, PictureRow, Sheet
from augrecipes.recipe.model import Recipe

COLUMNS = 6
_STAGE_PX = 150  # stages are put on a further line before they get smaller than this


@dataclass(slots=True)
class _DrawnRow:
    """What was drawn of one source: the targets that came out, or the picture after each step."""

    sample: Sample
    outputs: list[dict[str, Any]] = field(default_factory=list)
    stages: list[tuple[str, NDArray[Any]]] = field(default_factory=list)


def sheet(recipe: Recipe, asked: Asked) -> Sheet:
    """The sheet of a recipe of kind image; DataError where nothing can be shown."""
    pipeline, files = asked.opened(recipe)
    draws = 1 if asked.stages or pipeline.mode == "eval" else asked.columns

    def show(index: int) -> _DrawnRow:
        sample = files.read(index)
        epochs = range(asked.epoch, asked.epoch + draws)
        outputs = [files.in_epoch(index, epoch, sample).run(pipeline, epoch) for epoch in epochs]
        stages = pipeline.stages(sample.index, asked.epoch)(**sample.targets) if asked.stages else []
        return _DrawnRow(sample, outputs, stages)

    shown = show_rows(
        len(files), asked.rows, show, data=asked.words, path=files.path, labels=files.labels,
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
    footers = shown.footers()
    return Sheet(
        _figures(body),
        lambda: compose(layout, body, title=recipe.name, lines=lines, footers=footers, legend=legend),
        title=recipe.name, lines=lines, footers=footers, legend=legend,
    )  # fmt: skip


def _figures(body: Sequence[SheetRow]) -> list[PictureRow]:
    """The rows without their layout; one that goes on from the row above is a line of it."""
    found: list[PictureRow] = []
    for row in body:
        line = [LabelledPicture(cell.picture, cell.header, cell.quiet) for cell in row.cells]
        if row.indent:
            found[-1] = PictureRow([*found[-1].lines, line], found[-1].caption, found[-1].notes)
        else:
            found.append(PictureRow([line], row.caption, [row.note]))
    return found


def _caption(sample: Sample) -> tuple[str, str]:
    """File name and folder; width, height and index."""
    height, width = sample.images["image"].shape[:2]
    return short_path(sample.path), f"{width}×{height} px · index {sample.index}"


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
