"""Sheets of images: sources down the side, and to the right of each what the recipe makes of it."""

from __future__ import annotations

from typing import Any

from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import rgb_of_input, rgb_of_output, size_text
from augrecipes.preview.overlay import label_colour
from augrecipes.preview.rows import (
    DrawnSample,
    SheetRequest,
    annotated,
    label_text,
    left_out,
    output_text,
    short_path,
    stage_groups,
)  # fmt: skip
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Recipe

ACROSS = 6  # samples on a line, where they are shown without their sources


def sheet(recipe: Recipe, request: SheetRequest) -> Sheet:
    """The sheet of a recipe of kind image; DataError where nothing can be shown."""
    pipeline, files = request.opened(recipe)
    drawn, skipped = request.drawn(pipeline, files)
    table: Any = files.table
    named = table.box_classes or (table.boxes and table.boxes.classes)
    classes = (named if recipe.inputs.boxes else None) or ()

    def outputs(one: DrawnSample) -> list[Cell]:
        return [annotated(rgb_of_output(out["image"], recipe.output), out, recipe, classes) for out in one.outputs]

    def known(one: DrawnSample) -> list[str]:
        label = label_text(table, one.sample.index % len(table))
        return [*([label] if label else []), f"index {one.sample.index}"]

    def row(one: DrawnSample) -> SheetRow:
        images = one.sample.images
        source = annotated(rgb_of_input(images["image"]), one.sample.rest, recipe, classes)
        if request.stages:
            groups = stage_groups(images, one.stages, lambda after: [Cell(rgb_of_input(after["image"]))])
        else:
            groups = [CellGroup([cell], f"epoch {epoch}") for epoch, cell in enumerate(outputs(one), request.epoch)]
        notes = " · ".join([f"{size_text(images['image'])} px", *known(one)])
        return SheetRow(groups, CellGroup([source], "source", quiet=True), short_path(one.sample.path), [notes])

    if request.columns or request.stages:
        rows, across, often = [row(one) for one in drawn], None, "one draw an epoch"
    else:  # as a dataset hands them out
        rows = [SheetRow([CellGroup(outputs(one), " · ".join(known(one))) for one in drawn])]
        across, often = ACROSS, f"epoch {request.epoch}"
    lines = request.lines(pipeline, often, output_text(drawn[0].outputs[0]["image"]))
    legend = [(label_colour(k), name) for k, name in enumerate(classes)]
    return Sheet(rows, recipe.name, lines, left_out(skipped), legend, across)
