"""A sheet of the samples that a dataset hands out, side by side, without their sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from augrecipes.data.reading.held import Held
from augrecipes.preview.cells import cell_of_output, output_aspect
from augrecipes.preview.overlay import label_colour
from augrecipes.preview.rows import Asked, made_by, show_rows
from augrecipes.preview.sheet import SheetRow, compose, layout_for
from augrecipes.preview.shown import LabelledPicture, PictureRow, Sheet

ACROSS = 6


def handed_out(held: Held, rows: int, epoch: int) -> Sheet:
    """Up to `rows` of the samples, spread over them and their classes; DataError where none can be read."""
    dataset, recipe = held.dataset, held.dataset.recipe
    names = {number: name for name, number in (dataset.class_to_idx or {}).items()}

    def show(k: int) -> dict[str, Any]:
        held.check(k)
        sample = dataset[epoch, held.positions[k]]
        return {key: np.asarray(value) if hasattr(value, "numpy") else value for key, value in sample.items()}

    shown = show_rows(len(held), rows, show, data=held.words, path=held.path, labels=held.labels)
    images = [sample["image"] for sample in shown.rows]
    layout = layout_for(min(ACROSS, len(images)), *output_aspect(images, recipe.output))
    classes = getattr(dataset, "box_classes", None) or ()
    cells = []
    for sample in shown.rows:
        label = sample.get("label")
        known = [] if label is None else [str(names.get(label, label))]
        cells.append(cell_of_output(sample, recipe, layout, " · ".join([*known, f"index {sample['index']}"]), classes))
    made = f"{images[0].dtype} {'×'.join(map(str, images[0].shape))}"
    asked = Asked(held, rows, 1, dataset.seed, epoch, False, {})
    texts: dict[str, Any] = {
        "title": recipe.name, "footers": shown.footers(),
        "lines": [line for line in (recipe.about, made_by(dataset.pipeline, asked, f"epoch {epoch}", made)) if line],
        "legend": [(label_colour(k), name) for k, name in enumerate(classes)],
    }  # fmt: skip
    lines = [cells[k : k + ACROSS] for k in range(0, len(cells), ACROSS)]
    figures = [[LabelledPicture(cell.picture, cell.header) for cell in line] for line in lines]
    return Sheet([PictureRow(figures)], lambda: compose(layout, [SheetRow(line) for line in lines], **texts), **texts)
