"""Show the further targets of a scene (`targets:`) as images: depths, vectors, normals and labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.cells import Cell
from augrecipes.preview.display import EMPTY, RgbImage, rgb_of_input, rgb_of_output
from augrecipes.preview.overlay import render_mask
from augrecipes.preview.stretch import stretch_of
from augrecipes.recipe.model import Inputs, Output, Recipe
from augrecipes.recipe.targets import Target

_LONG = 98  # the percentile of vector lengths at full saturation


def target_cells(recipe: Recipe, sample: Mapping[str, Any]) -> list[Cell]:
    """Make a cell for each further target among a sample's outputs."""
    targets = {name: target for name, target in recipe.targets.items() if name in sample}
    return [Cell(rgb_of_target(np.asarray(sample[name]), one, recipe.output), name) for name, one in targets.items()]


def rgb_of_target(array: NDArray[Any], target: Target, output: Output) -> RgbImage:
    """Convert a target of the output to RGB for display.

    Labels get colours, other numbers are stretched like deep images, vectors show their direction as hue and their
    length as saturation, and normals are mapped to red, green and blue.

    >>> rgb_of_target(np.array([[0.0, 9.0]], np.float32), Target("mask"), Output())[0, :, 0].tolist()
    [0, 255]
    """
    if target.is_image:
        return rgb_of_output(array, output)
    if target.like == "masks":
        array = (array != 0).astype(np.int64).cumsum(axis=0).argmax(axis=0) + array.any(axis=0) if len(array) else array
    if target.has_directions:
        field = np.moveaxis(array, 0, 2) if output.layout == "chw" else array
        return _rgb_of_normals(field) if target.like == "normals" else _rgb_of_vectors(field)
    if array.dtype.kind == "f":
        return rgb_of_input(array, stretch_of([array], Inputs(dtype="float32")))
    canvas = np.full((*array.shape[-2:], 3), EMPTY, np.uint8)
    render_mask(canvas, array)
    return canvas


def _rgb_of_vectors(field: NDArray[Any]) -> RgbImage:
    length, hue = np.linalg.norm(field, axis=2), np.degrees(np.arctan2(field[..., 1], field[..., 0])) % 360
    strength = np.clip(length / max(float(np.percentile(length, _LONG)), 1e-12), 0, 1)
    hsv = np.dstack([hue, strength, np.ones_like(strength)]).astype(np.float32)
    return rgb_of_input(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB))


def _rgb_of_normals(field: NDArray[Any]) -> RgbImage:
    lengths = np.maximum(np.linalg.norm(field, axis=2, keepdims=True), 1e-12)
    return rgb_of_input(np.clip((field / lengths + 1) / 2, 0, 1).astype(np.float32))
