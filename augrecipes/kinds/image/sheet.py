"""Sheets of images: sources down the side, and to the right of each what the recipe makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import picture_of_input, picture_of_output, size_text
from augrecipes.preview.overlay import label_colour
from augrecipes.preview.rows import Asked, DrawnSample, Shown, annotated, made_by, short_path, show_rows, stage_groups
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Recipe
from augrecipes.sources.sample import Held

COLUMNS = 6
ACROSS = 6  # samples on a line, where they are shown without their sources


def sheet(recipe: Recipe, asked: Asked) -> Sheet:
    """The sheet of a recipe of kind image; DataError where nothing can be shown."""
    pipeline, files = asked.opened(recipe)
    shown = asked.drawn(pipeline, files)
    boxes = files.table.boxes if recipe.inputs.boxes else None
    classes = (boxes.classes or ()) if boxes else ()
    image = shown.rows[0].outputs[0]["image"]
    made = made_by(pipeline, asked, "one draw an epoch", f"{image.dtype} {'×'.join(map(str, image.shape))}")
    rows = [_row(one, recipe, asked, classes) for one in shown.rows]
    return _sheet(recipe, made, rows, shown, classes)


def handed_out(held: Held, rows: int, epoch: int) -> Sheet:
    """Samples that a dataset hands out, side by side, without their sources; DataError where none can be read."""
    dataset, recipe = held.dataset, held.dataset.recipe
    names = {number: name for name, number in (dataset.class_to_idx or {}).items()}
    classes = getattr(dataset, "box_classes", None) or ()

    def show(k: int) -> dict[str, Any]:
        held.check(k)
        sample = dataset[epoch, held.positions[k]]
        return {key: np.asarray(value) if hasattr(value, "numpy") else value for key, value in sample.items()}

    shown = show_rows(len(held), rows, show, data=held.words, path=held.path, labels=held.labels)
    groups = []
    for sample in shown.rows:
        label = sample.get("label")
        known = [] if label is None else [str(names.get(label, label))]
        header = " · ".join([*known, f"index {sample['index']}"])
        picture = picture_of_output(sample["image"], recipe.output)
        groups.append(CellGroup([annotated(picture, sample, recipe, classes)], header))
    image = shown.rows[0]["image"]
    asked = Asked(held, rows, 1, dataset.seed, epoch, False, {})
    output = f"{image.dtype} {'×'.join(map(str, image.shape))}"
    made = made_by(dataset.pipeline, asked, f"epoch {epoch}", output)
    return _sheet(recipe, made, [SheetRow(groups)], shown, classes, ACROSS)


def _sheet(
    recipe: Recipe, made: str, rows: Sequence[SheetRow], shown: Shown[Any], classes: Sequence[str],
    across: int | None = None,
) -> Sheet:  # fmt: skip
    legend = [(label_colour(k), name) for k, name in enumerate(classes)]
    return Sheet(rows, recipe.name, [line for line in (recipe.about, made) if line], shown.footers(), legend, across)


def _row(one: DrawnSample, recipe: Recipe, asked: Asked, classes: Sequence[str]) -> SheetRow:
    """The source, then its draws, or the picture after each step."""
    sample = one.sample
    image = sample.images["image"]
    source = CellGroup([annotated(picture_of_input(image), sample.rest, recipe, classes)], "source", quiet=True)
    if asked.stages:
        stages = ((label, {"image": after}) for label, after in one.stages)
        groups = stage_groups({"image": image}, stages, lambda after: [Cell(picture_of_input(after["image"]))])
    else:
        groups = [
            CellGroup(
                [annotated(picture_of_output(out["image"], recipe.output), out, recipe, classes)],
                f"epoch {asked.epoch + k}",
            )
            for k, out in enumerate(one.outputs)
        ]
    return SheetRow(groups, source, short_path(sample.path), [f"{size_text(image)} px · index {sample.index}"])
