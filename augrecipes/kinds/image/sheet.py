"""Preview sheets of images: each source, and to its right the results of the recipe."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from augrecipes.lint.meaning import mask_hint
from augrecipes.preview import overlay
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import rgb_of_input, rgb_of_output, size_text
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
from augrecipes.preview.stretch import Stretch, stretch_of
from augrecipes.recipe.model import Recipe

ACROSS = 6  # samples on a line, where they are shown without their sources


def sheet(recipe: Recipe, request: SheetRequest) -> Sheet:
    """Make the sheet of a recipe of images, stacks or views; DataError where nothing can be shown."""
    pipeline, files = request.opened(recipe)
    drawn, skipped = request.drawn(pipeline, files)
    table: Any = files.table
    named = table.box_classes or (table.boxes and table.boxes.classes)
    classes = (named if recipe.inputs.boxes else None) or ()
    several = [name for name in pipeline.outputs if name != "image"]  # views, frames
    is_stack = recipe.inputs.stack is not None

    def parts(out: Mapping[str, Any], name: str) -> Iterable[tuple[str, str, Any, Mapping[str, Any]]]:
        return frames_of(out) if is_stack else images_of(out, [name])

    def cells(out: Mapping[str, Any], name: str, stretch: Stretch, words: str = "") -> list[Cell]:
        return [
            annotated(rgb_of_output(image, recipe.output, stretch), on, recipe, classes, view if several else words)
            for _, view, image, on in parts(out, name)
        ] + overlay.target_cells(recipe, out)

    def known(entry: DrawnSample) -> list[str]:
        label = label_text(table, entry.sample.index % len(table))
        return [*([label] if label else []), f"index {entry.sample.index}"]

    def stretched(entry: DrawnSample) -> Stretch:
        sources = parts(entry.sample.targets, pipeline.targets[0])
        return stretch_of([image for _, _, image, _ in sources], recipe.inputs)

    def alone(entry: DrawnSample) -> list[Cell]:
        stretch = stretched(entry)
        return cells(entry.outputs[0], "image", stretch, stretch.words)

    def row(entry: DrawnSample) -> SheetRow:
        shown = [*parts(entry.sample.targets, pipeline.targets[0])]
        images, stretch = {"image": shown[0][2]}, stretched(entry)
        source = annotated(rgb_of_input(images["image"], stretch), shown[0][3], recipe, classes)
        if is_stack:
            source = Cell(np.hstack([rgb_of_input(image, stretch) for _, _, image, _ in shown]))
        if request.stages:
            groups = stage_groups(images, entry.stages, lambda after: [Cell(rgb_of_input(after["image"], stretch))])
        else:
            groups = [
                CellGroup(cells(out, name, stretch), f"epoch {epoch}" + f" · {name}" * (bool(several) and not is_stack))
                for epoch, out in enumerate(entry.outputs, request.epoch)
                for name in pipeline.outputs
            ]
        notes = [" · ".join([f"{size_text(images['image'])} px", *known(entry)]), stretch.words]
        return SheetRow(groups, CellGroup([source], "source", quiet=True), short_path(entry.sample.path), notes)

    out = drawn[0].outputs[0]
    output = ", ".join(f"{name} {output_text(out[name][0])}" for name in several) or output_text(out["image"])
    if request.columns or request.stages or several:
        rows, across, often = [row(entry) for entry in drawn], None, "one draw an epoch"
    else:  # as a dataset hands them out
        groups = [CellGroup(alone(entry), " · ".join(known(entry))) for entry in drawn]
        rows, across, often = [SheetRow(groups)], ACROSS, f"epoch {request.epoch}"
    lines = request.lines(pipeline, often, output)
    legend = [(overlay.label_colour(k), name) for k, name in enumerate(classes)]
    masks = (entry.sample.rest["mask"] for entry in drawn if "mask" in entry.sample.rest)
    hint = max(map(stretched, drawn), key=lambda stretch: stretch.high).hint
    footers = [*left_out(skipped), *mask_hint(recipe, masks), *filter(None, [hint])]
    return Sheet(rows, recipe.name, lines, footers, legend, across)


def frames_of(targets: Mapping[str, Any]) -> Iterator[tuple[str, str, Any, Mapping[str, Any]]]:
    """Some frames of a stack, the first and the last among them, as `images_of` gives images."""
    stack = targets["images"]
    for k in sorted({round(place * (len(stack) - 1) / (ACROSS - 1)) for place in range(ACROSS)}):
        of_frame = {"mask": targets["masks"][k]} if "masks" in targets else {}
        yield "images", f"frame {k + 1}", stack[k], {**targets, **of_frame}
