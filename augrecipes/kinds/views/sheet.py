"""Sheets of views: an image, and beside it all views of each name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from augrecipes.kinds.image.sheet import sheet as sheet_of_images
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import rgb_of_input, rgb_of_output, size_text
from augrecipes.preview.overlay import label_colour
from augrecipes.preview.rows import SheetRequest, annotated, images_of, label_text, left_out, output_text, short_path
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Recipe


def sheet(recipe: Recipe, request: SheetRequest) -> Sheet:
    """The sheet of a recipe of kind views; DataError where nothing can be shown."""
    pipeline, files = request.opened(recipe)
    if pipeline.outputs == ("image",):
        return sheet_of_images(recipe, request)
    if request.stages:  # of one view: the first
        first = next(iter(pipeline.parts.values()))[1]
        return sheet_of_images(first.recipe, replace(request, at_hand=(first, files)))
    table: Any = files.table
    classes = (table.box_classes if recipe.inputs.boxes else None) or ()
    made: list[Any] = []

    def cells(name: str, out: dict[str, Any]) -> list[Cell]:
        views = images_of(out, [name])
        return [annotated(rgb_of_output(view, recipe.output), on_it, recipe, classes) for *_, view, on_it in views]

    def row(index: int) -> SheetRow:
        sample = files.read(index)
        groups = []
        for epoch in range(request.epoch, request.epoch + (request.columns or 1)):
            out = files.in_epoch(index, epoch, sample).run(pipeline, epoch)
            made.append(out)
            groups += [CellGroup(cells(name, out), f"epoch {epoch} · {name}") for name in pipeline.outputs]
        source = annotated(rgb_of_input(sample.images["image"]), sample.rest, recipe, classes)
        label = label_text(table, sample.index % len(table))
        facts = [f"{size_text(sample.images['image'])} px", *([label] if label else []), f"index {sample.index}"]
        notes = " · ".join(facts)
        return SheetRow(groups, CellGroup([source], "source", quiet=True), short_path(sample.path), [notes])

    rows, skipped = request.shown(files, row)
    sizes = ", ".join(f"{name} {output_text(made[0][name][0])}" for name in pipeline.outputs)
    lines = request.lines(pipeline, "one draw an epoch", sizes)
    legend = [(label_colour(k), name) for k, name in enumerate(classes)]
    return Sheet(rows, recipe.name, lines, left_out(skipped), legend)
