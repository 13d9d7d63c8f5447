"""The geometry of steps as 3×3 matrices, from positions in the image before a step to positions after it.

Positions are of pixel centres, (x, y, 1). For steps without a matrix see `OpRecord.is_matrix`.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from augrecipes.ops.dihedral import D4, Symmetry, drawn_symmetry
from augrecipes.ops.records import op_record

Matrix: TypeAlias = NDArray[np.float64]
Size: TypeAlias = tuple[int, int]  # rows and columns
_PADS = ("pad_top", "pad_right", "pad_bottom", "pad_left")


def translation(x: float, y: float) -> Matrix:
    """The matrix of a translation, px."""
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1]], np.float64)


def scaling(y: float | Fraction, x: float | Fraction, *, centres: bool = True) -> Matrix:
    """The matrix to a grid with `y` and `x` pixels per pixel before; `centres`: positions are of pixel centres.

    >>> scaling(2, 4).tolist()
    [[4.0, 0.0, 1.5], [0.0, 2.0, 0.5], [0.0, 0.0, 1.0]]
    """
    half = 0.5 if centres else 0
    return np.array([[x, 0, half * (x - 1)], [0, y, half * (y - 1)], [0, 0, 1]], np.float64)


def in_pixels(matrix: Matrix, factor: float | Fraction) -> Matrix:
    """The matrix between a target's pixels, `factor` per cell, for a matrix between cells: S·M·S⁻¹.

    >>> in_pixels(np.array([[1.0, 0, 2], [0, 1, 0], [0, 0, 1]]), 4)[0].tolist()
    [1.0, 0.0, 8.0]
    """
    to_pixels = scaling(factor, factor)
    return np.asarray(to_pixels @ matrix @ np.linalg.inv(to_pixels))


def symmetry_matrix(symmetry: Symmetry, size: Size) -> Matrix:
    """The matrix of a flip or turn of an image of `size` (rows, columns).

    >>> (symmetry_matrix(Symmetry(transpose=True, flip_x=True), (3, 5)) @ [4, 0, 1]).tolist()
    [2.0, 4.0, 1.0]
    """
    rows, columns = size[::-1] if symmetry.transpose else size
    x, first_x = (-1, columns - 1) if symmetry.flip_x else (1, 0)
    y, first_y = (-1, rows - 1) if symmetry.flip_y else (1, 0)
    across, down = ((0, x, first_x), (y, 0, first_y)) if symmetry.transpose else ((x, 0, first_x), (0, y, first_y))
    return np.array([across, down, (0, 0, 1)], np.float64)


def symmetry_of(name: str, params: Mapping[str, Any]) -> Symmetry:
    """The symmetry of a dihedral step of class `name` under its drawn parameters."""
    fixed = op_record(name).symmetry
    return drawn_symmetry(params) if fixed is None else D4[fixed]


def drawn_size(step: Any, params: Mapping[str, Any], size: Size) -> tuple[float, float]:
    """Height and width of the largest image that a step makes on the way, before it cuts; not rounded.

    Args:
        step: the transform.
        params: its drawn parameters.
        size: rows and columns of the image before it.
    """
    rows, columns = size
    record, pads = op_record(type(step).__name__), params.get("pad_params")
    if record.resizes:
        if "scale" in params:
            return rows * params["scale"], columns * params["scale"]
        return getattr(step, "size", None) or (step.height, step.width)
    if "max_height" in params:  # a perspective, before it is scaled back
        return params["max_height"], params["max_width"]
    if "output_shape" in params:
        return params["output_shape"][0], params["output_shape"][1]
    if record.crops and not pads:
        return 0, 0
    sides = pads if isinstance(pads, list | tuple) else [(pads or params).get(side, 0) for side in _PADS]
    top, right, bottom, left = sides
    return rows + top + bottom, columns + left + right


def output_size(step: Any, params: Mapping[str, Any], size: Size) -> Size:
    """Rows and columns after a step of a known class; arguments as of `drawn_size`."""
    record = op_record(type(step).__name__)
    if record.action == "dihedral":
        return size[::-1] if symmetry_of(record.name, params).transpose else size
    if not record.moves or getattr(step, "keep_size", False):
        return size
    if record.resizes:  # RandomScale truncates, the others round
        whole = int if hasattr(step, "scale_limit") else lambda side: max(1, round(side))
        height, width = drawn_size(step, params, size)
        return whole(height), whole(width)
    if "result_shape" in params:
        return params["result_shape"][0], params["result_shape"][1]
    if params.get("x_min", -1) >= 0:
        return params["y_max"] - params["y_min"], params["x_max"] - params["x_min"]
    if "crop_coords" in params:
        x_min, y_min, x_max, y_max = params["crop_coords"]
        return y_max - y_min, x_max - x_min
    height, width = drawn_size(step, params, size)
    return int(height), int(width)


def matrix_of(name: str, params: Mapping[str, Any], before: Size, after: Size) -> Matrix:
    """The matrix of a step, from positions before it to positions after it.

    Args:
        name: the step's class.
        params: its drawn parameters.
        before: rows and columns of the image before it.
        after: rows and columns of the image after it.

    >>> matrix_of("CenterCrop", {"crop_coords": (2, 1, 6, 4), "pad_params": None}, (5, 8), (3, 4))[:2, 2].tolist()
    [-2.0, -1.0]
    """
    record = op_record(name)
    if record.action == "dihedral":
        return symmetry_matrix(symmetry_of(name, params), before)
    if record.resizes == "whole":
        return scaling(after[0] / before[0], after[1] / before[1])
    if "matrix" in params:
        matrix = params["matrix"]
        if "max_width" in params:  # albumentations scales a perspective to its size without half-pixel shifts
            matrix = scaling(after[0] / params["max_height"], after[1] / params["max_width"], centres=False) @ matrix
        cuts = params.get("x_min", -1) >= 0
        return np.asarray(translation(-params["x_min"], -params["y_min"]) @ matrix if cuts else matrix)
    if "result_shape" in params:  # cut, padded and, where it keeps its size, resized
        x, y, *_ = params["crop_params"] or (0, 0)
        top, _, left, _ = params["pad_params"] or (0, 0, 0, 0)
        rows, columns = params["result_shape"][:2]
        return scaling(after[0] / rows, after[1] / columns) @ translation(left - x, top - y)
    pads = params.get("pad_params") or params
    x, y, *far = params.get("crop_coords", (0, 0))
    matrix = translation(pads.get("pad_left", 0) - x, pads.get("pad_top", 0) - y)
    if record.resizes == "window":
        scaled = scaling(after[0] / (far[1] - y), after[1] / (far[0] - x))
        scaled[:2, 2] += scaled.diagonal()[:2] * matrix[:2, 2]  # each product rounded, as in native/moves.h
        return scaled
    return matrix
