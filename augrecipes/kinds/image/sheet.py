"""Sheets of images: sources down the side, and to the right of each what the recipe makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from augrecipes.lint.meaning import mask_hint
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import rgb_of_input, rgb_of_output, size_text
from augrecipes.preview.overlay import label_colour
from augrecipes.preview.rows import (
    DrawnSample,
    SheetRequest,
    annotated,
    images_of,
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
    """The sheet of a recipe of one image, or of its views; DataError where nothing can be shown."""
    pipeline, files = request.opened(recipe)
    drawn, skipped = request.drawn(pipeline, files)
    table: Any = files.table
    named = table.box_classes or (table.boxes and table.boxes.classes)
    classes = (named if recipe.inputs.boxes else None) or ()
    several = [name for name in pipeline.outputs if name != "image"]  # views, frames
    is_stack = recipe.inputs.stack is not None

    def cells(out: Mapping[str, Any], name: str) -> list[Cell]:
        found = _frames(out) if is_stack else [of_view[1:] for of_view in images_of(out, [name])]
        named = [(rgb_of_output(one, recipe.output), on, words if several else "") for words, one, on in found]
        return [annotated(image, on, recipe, classes, words) for image, on, words in named]

    def known(one: DrawnSample) -> list[str]:
        label = label_text(table, one.sample.index % len(table))
        return [*([label] if label else []), f"index {one.sample.index}"]

    def row(one: DrawnSample) -> SheetRow:
        shown = [*_frames(one.sample.targets)] if is_stack else [("", one.sample.images["image"], one.sample.rest)]
        source = annotated(rgb_of_input(shown[0][1]), shown[0][2], recipe, classes)
        if is_stack:
            source = Cell(np.hstack([rgb_of_input(image) for _, image, _ in shown]))
        images = {"image": shown[0][1]}
        if request.stages:
            groups = stage_groups(images, one.stages, lambda after: [Cell(rgb_of_input(after["image"]))])
        else:
            groups = [
                CellGroup(cells(out, name), f"epoch {epoch}" + f" · {name}" * (bool(several) and not is_stack))
                for epoch, out in enumerate(one.outputs, request.epoch)
                for name in pipeline.outputs
            ]
        notes = " · ".join([f"{size_text(images['image'])} px", *known(one)])
        return SheetRow(groups, CellGroup([source], "source", quiet=True), short_path(one.sample.path), [notes])

    out = drawn[0].outputs[0]
    output = ", ".join(f"{name} {output_text(out[name][0])}" for name in several) or output_text(out["image"])
    if request.columns or request.stages or several:
        rows, across, often = [row(one) for one in drawn], None, "one draw an epoch"
    else:  # as a dataset hands them out
        groups = [CellGroup(cells(one.outputs[0], "image"), " · ".join(known(one))) for one in drawn]
        rows, across, often = [SheetRow(groups)], ACROSS, f"epoch {request.epoch}"
    lines = request.lines(pipeline, often, output)
    legend = [(label_colour(k), name) for k, name in enumerate(classes)]
    masks = (one.sample.rest["mask"] for one in drawn if "mask" in one.sample.rest)
    return Sheet(rows, recipe.name, lines, [*left_out(skipped), *mask_hint(recipe, masks)], legend, across)


def _frames(targets: Mapping[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Some frames of a stack, the first and the last among them: a name, the image, and what lies on it."""
    stack = targets["images"]
    for k in sorted({round(place * (len(stack) - 1) / (ACROSS - 1)) for place in range(ACROSS)}):
        yield f"frame {k + 1}", stack[k], {**targets, **({"mask": targets["masks"][k]} if "masks" in targets else {})}
