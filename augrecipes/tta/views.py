"""The views of a sample: its flips and quarter turns, and what lies on them; and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from augrecipes.ops.box_formats import corners_px, from_corners_px
from augrecipes.ops.dihedral import D4, IDENTITY, Symmetry
from augrecipes.ops.matrices import Size, symmetry_matrix
from augrecipes.recipe.model import Inputs
from augrecipes.tta.geometry import of_corners
from augrecipes.tta.points import moved_corners, moved_keypoints

# By the word of a recipe; the first view is the image as it is.
VIEWS: dict[str, tuple[Symmetry, ...]] = {
    "none": (IDENTITY,),
    "hflip": (IDENTITY, D4["h"]),
    "flips": (IDENTITY, D4["h"], D4["v"], D4["r180"]),
    "d4": tuple(D4.values()),
}


def undone(symmetry: Symmetry) -> Symmetry:
    """The symmetry that leads back.

    >>> all(symmetry.then(undone(symmetry)) == IDENTITY for symmetry in VIEWS["d4"])
    True
    """
    y, x = (symmetry.flip_x, symmetry.flip_y) if symmetry.transpose else (symmetry.flip_y, symmetry.flip_x)
    return Symmetry(symmetry.transpose, y, x)


def size_of_view(symmetry: Symmetry, size: Size) -> Size:
    """Rows and columns of a view of an image of `size`."""
    return size[::-1] if symmetry.transpose else size


def view_of(array: np.ndarray, symmetry: Symmetry, *, channels_first: bool = True) -> np.ndarray:
    """A view of H×W, H×W×C or, with `channels_first`, of C×H×W, without a copy.

    >>> view_of(np.arange(6).reshape(1, 2, 3), D4["t"]).tolist()
    [[[0, 3], [1, 4], [2, 5]]]
    """
    if channels_first and array.ndim == 3:
        return np.moveaxis(symmetry.view(np.moveaxis(array, 0, -1)), -1, 0)
    return symmetry.view(array)


def viewed(
    sample: Mapping[str, Any], symmetry: Symmetry, size: Size, inputs: Inputs, *, channels_first: bool
) -> dict[str, Any]:
    """One view of a sample of evaluation, whose image has `size`; its arrays share no memory with it."""
    found, matrix = dict(sample), symmetry_matrix(symmetry, size)
    for name in ("image", "mask"):
        if sample.get(name) is not None:
            found[name] = view_of(sample[name], symmetry, channels_first=channels_first and name == "image").copy()
    if (boxes := inputs.boxes) and sample.get("boxes") is not None:
        corners = moved_corners(corners_px(sample["boxes"], boxes.format, *size), of_corners(matrix))
        found["boxes"] = from_corners_px(corners, boxes.format, *size_of_view(symmetry, size))
    if (points := inputs.keypoints) and sample.get("keypoints") is not None:
        found["keypoints"] = moved_keypoints(sample["keypoints"], points.format, matrix).astype(np.float32)
    return found
