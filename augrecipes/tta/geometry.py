"""The geometry of views: matrices of evaluation's steps, flips and turns, and boxes and keypoints moved by them.

Matrices map pixel centres of the source to those of the network's grid. Boxes are measured from pixels' corners, half a
pixel before their centres.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from augrecipes.compiler.run.draw_without_pixels import StepMatrices
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.ops.box_formats import corners_px, from_corners_px
from augrecipes.ops.dihedral import D4, IDENTITY, Symmetry
from augrecipes.ops.matrices import Matrix, Size, matrix_of, symmetry_matrix, translation
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Inputs


@dataclass(frozen=True, slots=True)
class Placement:
    """The geometric effect of the steps of evaluation.

    Attributes:
        after: rows and columns after the last step.
        pixels: 3×3, the map from pixel centres of the source to those after the last step.
        cuts: matrices and sizes of earlier grids; pixels outside of these are lost, even if later steps pad.
    """

    after: Size
    pixels: Matrix
    cuts: tuple[tuple[Matrix, Size], ...]


def of_corners(matrix: Matrix) -> Matrix:
    """Convert a matrix between pixel centres to one between places measured from pixel corners, as boxes are.

    >>> of_corners(np.diag([4.0, 2, 1]))[0].tolist()
    [4.0, 0.0, -1.5]
    """
    return np.asarray(translation(0.5, 0.5) @ matrix @ translation(-0.5, -0.5))


def geometry_of(pipeline: Pipeline, size: Size, channels: int) -> Placement:
    """The geometric effect of a pipeline's steps on an image.

    Args:
        pipeline: a pipeline with `optimize` none, whose steps draw no geometry; it is not changed.
        size: rows and columns of the image.
        channels: number of channels of the image.

    >>> import augrecipes as ar
    >>> pipeline = ar.load("folder-128").compile("eval", "none")
    >>> found = geometry_of(pipeline, (256, 512), 3)
    >>> found.after, found.pixels[0].tolist()
    ((128, 128), [0.5, 0.0, -64.25])
    """
    pixels, after = np.eye(3), size
    cuts: list[tuple[Matrix, Size]] = []
    for move in StepMatrices(pipeline.again()).moves((0, 0, 0), (*size, channels)):
        name, *_, after = move
        pixels = matrix_of(*move) @ pixels
        if op_record(name).resizes != "whole":
            cuts.append((pixels, after))
    return Placement(after, pixels, tuple(cut for cut in cuts if cut[0] is not pixels))


def moved_places(places: np.ndarray, matrix: Matrix) -> np.ndarray:
    """Move places (x, y), (n, 2), by a 3×3 matrix.

    >>> moved_places(np.array([[1.0, 2.0]]), np.array([[0, 1, 3], [1, 0, 0], [0, 0, 1]])).tolist()
    [[5.0, 1.0]]
    """
    moved = places @ matrix[:, :2].T + matrix[:, 2]
    return np.asarray(moved[:, :2] / moved[:, 2:])


def array_of(values: Any, name: str = "a prediction", kinds: str = "biuf") -> np.ndarray:
    """Convert to a numpy array; tensors are detached and copied to the host, bfloat16 becomes float32.

    Raises:
        DataError: it is no array, or its dtype is not of `kinds`.
    """
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    with suppress(RuntimeError, TypeError, ValueError):
        if (array := np.asarray(values)).dtype.kind in kinds:
            return array
    raise DataError(f"{name} must be an array of numbers, got {values!r:.80}")


def rows_of(values: Any, name: str) -> np.ndarray:
    """Convert `boxes` to float64 (n, 4 or more), or `keypoints` to (n, 2 or more); DataError for infinite values.

    >>> rows_of([], "boxes").shape
    (0, 4)
    """
    array, columns = array_of(values, name), 4 if name == "boxes" else 2
    array = (np.empty((0, columns)) if array.shape[:1] == (0,) else array).astype(np.float64)
    if array.ndim != 2 or array.shape[1] < columns:
        raise DataError(f"{name} must be an array of shape (n, {columns}), got shape {array.shape}")
    for row in np.flatnonzero((np.abs(array[:, :columns]) > 1e100).any(axis=1))[:1]:  # areas of greater values overflow
        raise DataError(f"{name}[{row}] is {array[row].tolist()}; places are finite, below 1e100, or NaN for none")
    return array


def moved_corners(corners: np.ndarray, matrix: Matrix) -> np.ndarray:
    """Move boxes (n, 4), x_min, y_min, x_max, y_max; returns the bounding boxes of the moved corners.

    >>> moved_corners(np.array([[0, 0, 2, 1]]), np.array([[0, -1, 9], [1, 0, 0], [0, 0, 1]])).tolist()
    [[8.0, 0.0, 9.0, 2.0]]
    """
    points = corners[:, [0, 1, 2, 1, 0, 3, 2, 3]].reshape(-1, 2).astype(np.float64)
    moved = moved_places(points, matrix).reshape(-1, 4, 2)
    return np.concatenate([moved.min(axis=1), moved.max(axis=1)], axis=1)


def places_in(form: str) -> list[int]:
    """The columns of x and y in keypoints of an albumentations format.

    Raises:
        DataError: the format has angles or scales, which steps do not treat alike.

    >>> places_in("yx")
    [1, 0]
    """
    if not {"a", "s"}.isdisjoint(form):
        raise DataError(f"angles and scales of keypoints cannot come back: declare them as xy, yx or xyz, not {form}")
    return [form.index("x"), form.index("y")]


def moved_keypoints(points: Any, form: str, matrix: Matrix) -> np.ndarray:
    """Move keypoints (n, 2 or more) of an albumentations format; other columns than x and y stay.

    >>> moved_keypoints(np.array([[1.0, 2.0, 7.0]]), "yxz", np.array([[0, 1, 3], [1, 0, 0], [0, 0, 1]])).tolist()
    [[2.0, 4.0, 7.0]]
    """
    rows, xy = rows_of(points, "keypoints"), places_in(form)
    rows[:, xy] = moved_places(rows[:, xy], matrix)
    return rows


# By the value of `views:` in a recipe; the first view is the image itself.
VIEWS: dict[str, tuple[Symmetry, ...]] = {
    "none": (IDENTITY,),
    "hflip": (IDENTITY, D4["h"]),
    "flips": (IDENTITY, D4["h"], D4["v"], D4["r180"]),
    "d4": tuple(D4.values()),
}


def undone(symmetry: Symmetry) -> Symmetry:
    """The inverse of a symmetry.

    >>> grid = np.arange(6).reshape(2, 3)
    >>> all((undone(symmetry).view(symmetry.view(grid)) == grid).all() for symmetry in VIEWS["d4"])
    True
    """
    y, x = (symmetry.flip_x, symmetry.flip_y) if symmetry.transpose else (symmetry.flip_y, symmetry.flip_x)
    return Symmetry(symmetry.transpose, y, x)


def size_of_view(symmetry: Symmetry, size: Size) -> Size:
    """Rows and columns of a view of an image of `size`."""
    return size[::-1] if symmetry.transpose else size


def view_of(array: np.ndarray, symmetry: Symmetry, *, channels_first: bool = True) -> np.ndarray:
    """Apply a symmetry to an array H×W, H×W×C or, with `channels_first`, C×H×W, without a copy.

    >>> view_of(np.arange(6).reshape(1, 2, 3), D4["t"]).tolist()
    [[[0, 3], [1, 4], [2, 5]]]
    """
    if channels_first and array.ndim == 3:
        return np.moveaxis(symmetry.view(np.moveaxis(array, 0, -1)), -1, 0)
    return symmetry.view(array)


def viewed(
    sample: Mapping[str, Any], symmetry: Symmetry, size: Size, inputs: Inputs, *, channels_first: bool
) -> dict[str, Any]:
    """Apply a symmetry to a sample of evaluation, whose image has `size`; returns copies of its arrays."""
    view, matrix = dict(sample), symmetry_matrix(symmetry, size)
    for name in ("image", "mask"):
        if sample.get(name) is not None:
            view[name] = view_of(sample[name], symmetry, channels_first=channels_first and name == "image").copy()
    if (boxes := inputs.boxes) and sample.get("boxes") is not None:
        corners = moved_corners(corners_px(sample["boxes"], boxes.format, *size), of_corners(matrix))
        view["boxes"] = from_corners_px(corners, boxes.format, *size_of_view(symmetry, size))
    if (points := inputs.keypoints) and sample.get("keypoints") is not None:
        view["keypoints"] = moved_keypoints(sample["keypoints"], points.format, matrix).astype(np.float32)
    return view
