"""Cells: a source, an output or a stage as a picture that fits the sheet, with what belongs over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.data.reading.sample import Sample
from augrecipes.preview.display import Picture, fit_into, picture_of_input, picture_of_output
from augrecipes.preview.overlay import corners_px, render_boxes, render_keypoints, render_mask
from augrecipes.preview.sheet import Cell, SheetLayout
from augrecipes.recipe.model import Output, Recipe


def cell_of_source(sample: Sample, recipe: Recipe, layout: SheetLayout, classes: Sequence[str] = ()) -> Cell:
    """The source as it was read, with its mask, boxes and keypoints."""
    picture = picture_of_input(sample.images["image"])
    return Cell(_decorated(picture, sample.rest, recipe, layout, classes), "source", quiet=True)


def cell_of_output(
    out: Mapping[str, Any], recipe: Recipe, layout: SheetLayout, header: str, classes: Sequence[str] = ()
) -> Cell:
    """What a pipeline returned, with the targets that it returned."""
    return Cell(_decorated(picture_of_output(out["image"], recipe.output), out, recipe, layout, classes), header)


def cell_of_stage(label: str, image: NDArray[Any], before: NDArray[Any], layout: SheetLayout) -> Cell:
    """The picture after one step; its header is grey where the step changed nothing."""
    same = image.shape == before.shape and bool(np.array_equal(image, before))
    return Cell(layout.fitted(picture_of_input(image)), header_after(label, same), quiet=same)


def header_after(label: str, same: bool) -> str:
    """What stands over the picture after a step.

    >>> header_after("HorizontalFlip#1", True)
    'HorizontalFlip – unchanged'
    """
    return short_label(label) + (" – unchanged" if same else "")


def short_path(path: str) -> str:
    """A file's name with its folder's, where it has one.

    >>> short_path("data/HR/0001.png"), short_path("digits[3]")
    ('HR/0001.png', 'digits[3]')
    """
    found = Path(path)
    return f"{found.parent.name}/{found.name}" if found.parent.name else found.name


def short_label(label: str) -> str:
    """A step's label without the ordinal that says nothing.

    >>> short_label("HorizontalFlip#1"), short_label("HorizontalFlip#2")
    ('HorizontalFlip', 'HorizontalFlip#2')
    """
    return label.removesuffix("#1")


def output_aspect(
    images: Sequence[NDArray[Any]], output: Output | None, widths: tuple[int, int] = (176, 256)
) -> tuple[float, int]:
    """Height over width of a cell that suits these images, and the largest width (px) worth giving it.

    Args:
        images: outputs, or H×W×C images where `output` is None.
        output: gives the layout of outputs.
        widths: least and most of a cell, px.
    """
    first = 1 if output is not None and output.layout == "chw" else 0
    sizes = np.array([image.shape[first : first + 2] for image in images], float)
    aspect = float(np.clip(np.median(sizes[:, 0] / sizes[:, 1]), 0.5, 1.6))
    return aspect, int(np.clip(sizes[:, 1].max(), *widths))


def _decorated(
    picture: Picture, targets: Mapping[str, Any], recipe: Recipe, layout: SheetLayout, classes: Sequence[str]
) -> Picture:
    height, width = picture.shape[:2]
    fitted, scale = fit_into(picture, layout.cell_height, layout.cell_width)
    mask, boxes, points = targets.get("mask"), targets.get("boxes"), targets.get("keypoints")
    boxed = boxes is not None and recipe.inputs.boxes is not None
    # Colours of ids under colours of boxes say nothing: a detector's picture shows the mask only if it needs it.
    if mask is not None and (recipe.inputs.mask == "required" or not boxed):
        render_mask(fitted, np.asarray(mask))
    if boxed and boxes is not None and len(boxes) and recipe.inputs.boxes:
        corners = corners_px(np.asarray(boxes), recipe.inputs.boxes.format, height, width)
        labels = targets.get(recipe.inputs.boxes.labels or "", ())
        render_boxes(fitted, corners, list(labels), scale, classes)
    if points is not None and len(points) and recipe.inputs.keypoints:
        xy = np.asarray(points, np.float32)[:, :2]
        render_keypoints(fitted, xy[:, ::-1] if recipe.inputs.keypoints.format == "yx" else xy, scale)
    return fitted
