"""Albumentations' own samplers with their matrices written out: the same draws, in half the time.

Rotate, Affine and ShiftScaleRotate make two matrices a sample, each the product of six small arrays. That took longer
than any other draw, and longer than the sink (benchmarks/fast.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.compat.instead import with_functions

_MATRIX = "create_affine_transformation_matrix"


def with_quick_matrix(step: Any) -> Any:
    """The transform, whose sampler calls `affine_matrix` instead of albumentations' function of the same arguments."""
    return with_functions(step, ("get_params_dependent_on_data",), {_MATRIX: affine_matrix})


def with_same_matrix(step: Any) -> Any:
    """The same with `same_matrix`, whose bits are those of albumentations."""
    return with_functions(step, ("get_params_dependent_on_data",), {_MATRIX: same_matrix})


def affine_matrix(
    translate: Mapping[str, float],
    shear: Mapping[str, float],
    scale: Mapping[str, float],
    rotate: float,
    shift: tuple[float, float],
) -> np.ndarray:
    """Centre · Translate · Shear · Rotate · Scale · Centre⁻¹, 3×3 float64; angles in degrees.

    >>> affine_matrix({"x": 1, "y": 0}, {"x": 0, "y": 0}, {"x": 2, "y": 2}, 0, (1.5, 1.5)).tolist()
    [[2.0, 0.0, -0.5], [0.0, 2.0, -1.5], [0.0, 0.0, 1.0]]
    """
    angle = math.radians(rotate % 360)
    c, s = math.cos(angle), math.sin(angle)
    tx, ty = math.tan(math.radians(shear["x"])), math.tan(math.radians(shear["y"]))
    kx, ky, (x, y) = scale["x"], scale["y"], shift
    a, b = (c - tx * s) * kx, (s + tx * c) * ky
    d, e = (ty * c - s) * kx, (ty * s + c) * ky
    return np.array(
        ((a, b, x + translate["x"] - a * x - b * y), (d, e, y + translate["y"] - d * x - e * y), (0.0, 0.0, 1.0))
    )


def same_matrix(
    translate: Mapping[str, float],
    shear: Mapping[str, float],
    scale: Mapping[str, float],
    rotate: float,
    shift: tuple[float, float],
) -> np.ndarray:
    """What albumentations' function of these arguments gives, to the last bit.

    Without shear all its products but the last multiply by 0 and 1 only, or round once: those are written out. The last
    is made as it makes it, since only that library knows in which order it adds.

    >>> same_matrix({"x": 1, "y": 0}, {"x": 0, "y": 0}, {"x": 2, "y": 2}, 0, (1.5, 1.5)).tolist()
    [[2.0, 0.0, -0.5], [0.0, 2.0, -1.5], [0.0, 0.0, 1.0]]
    """
    if shear["x"] or shear["y"]:
        own: np.ndarray = geometric.create_affine_transformation_matrix(translate, shear, scale, rotate, shift)
        return own
    angle = np.deg2rad(rotate % 360)
    c, s = float(np.cos(angle)), float(np.sin(angle))
    (x, y), kx, ky = shift, scale["x"], scale["y"]
    # 0 is added as sums of products have it: of -0 it makes 0.
    m: np.ndarray = np.array(
        (
            (c * kx + 0.0, s * ky + 0.0, translate["x"] + x + 0.0),
            (-s * kx + 0.0, c * ky + 0.0, translate["y"] + y + 0.0),
            (0.0, 0.0, 1.0),
        )
    ) @ np.array(((1.0, 0.0, -x), (0.0, 1.0, -y), (0.0, 0.0, 1.0)))
    m[2] = 0, 0, 1
    return m
