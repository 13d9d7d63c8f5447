"""Shapes that are bent, and images with circles and colours laid over them, done quicker than by albumentations.

For quick_functions.py, which holds each to the class that calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric, pixel
from augrecipes.compiler.kernels import lens_native
from augrecipes.native.kernels import library

_F32 = np.float32
_NEAR = np.float32(1e-8)
_POINTS = 4096  # whose distances stay in the cache
_LARGE = 128  # rows of a matrix that OpenCV multiplies as it does all larger ones


def _done(name: str, arguments: str, *given: Any) -> bool:
    """Whether a kernel did its work with numbers and contiguous arrays."""
    kernels = library()
    if kernels is None:
        return False
    places = (one.ctypes.data if isinstance(one, np.ndarray) else one for one in given)
    return kernels.kernel(name, arguments)(*places) == 0


def create_piecewise_affine_maps(
    image_shape: tuple[int, int],
    grid: tuple[int, int],
    scale: float,
    absolute_scale: bool,
    random_generator: np.random.Generator,
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Where each pixel is taken from: the mean of where points of a grid are, by how near they are; row by row."""
    (height, width), (rows, columns) = image_shape[:2], grid
    if min(height, width, rows, columns) <= 0:
        raise ValueError("Dimensions must be positive")
    if scale <= 0:
        return None, None
    down, across = np.linspace(0, height - 1, rows, dtype=_F32), np.linspace(0, width - 1, columns, dtype=_F32)
    x, y = (each.reshape(-1) for each in np.meshgrid(across, down))
    spread = scale / 3 if absolute_scale else scale * min(width, height) / 3
    moved = random_generator.normal(0, spread, (rows, columns, 2)).astype(_F32).reshape(-1, 2)
    to_x, to_y = np.clip(x + moved[:, 1], 0, width - 1), np.clip(y + moved[:, 0], 0, height - 1)
    map_x, map_y = np.empty((2, height, width), _F32)
    points = np.stack([x, y, to_x, to_y]).astype(_F32, copy=False)
    if _done("means_of_moves", "plllpp", points, x.size, height, width, map_x, map_y):
        return np.clip(map_x, 0, width - 1, out=map_x), np.clip(map_y, 0, height - 1, out=map_y)
    away = (np.arange(width, dtype=_F32)[:, None] - x) ** 2
    for row in range(height):
        # Sums along the last axis are made in the order in which albumentations makes those of one pixel.
        off = _F32(row) - y
        weights = 1 / (away + off * off + _NEAR)
        weights /= weights.sum(axis=1, keepdims=True)
        (weights * to_x).sum(axis=1, out=map_x[row])
        (weights * to_y).sum(axis=1, out=map_y[row])
    return np.clip(map_x, 0, width - 1, out=map_x), np.clip(map_y, 0, height - 1, out=map_y)


def tps_transform(
    target_points: np.ndarray, control_points: np.ndarray, nonlinear_weights: np.ndarray, affine_weights: np.ndarray
) -> np.ndarray:
    """Points n×2 moved by a thin-plate spline, float32, some at a time."""
    given = target_points, control_points, nonlinear_weights, affine_weights
    points, control, bends, flat = (np.ascontiguousarray(one, dtype=_F32) for one in given)
    out, count = np.empty((len(points), 2), _F32), len(control)
    apart, more, sums = (np.empty((rows, _POINTS), _F32) for rows in (count, count, 2))
    for at in range(0, len(points), _POINTS):
        some, size = points[at : at + _POINTS], min(_POINTS, len(points) - at)
        small = len(points) < _LARGE
        if small or not _done("points_apart", "plplpp", some, size, control, count, apart, more):
            own: np.ndarray = geometric.tps_transform(*given)
            return own
        logs, to = cv2.log(more, more), out[at:]
        _done("bend_points", "plpplppppp", some, size, apart, logs, count, bends, flat, *sums, to)
    return out


def chromatic_aberration(
    img: np.ndarray,
    primary_distortion_red: float,
    secondary_distortion_red: float,
    primary_distortion_blue: float,
    secondary_distortion_blue: float,
    interpolation: int,
) -> np.ndarray:
    """A uint8 image of three channels, whose red and blue go through lenses of their own."""
    red, blue = (primary_distortion_red, secondary_distortion_red), (primary_distortion_blue, secondary_distortion_blue)
    kernels, made = library(), img.copy()
    for channel, amounts in ((0, red), (2, blue)):
        known = kernels is not None and img.dtype == np.uint8 and lens_native.same_bits(kernels)
        maps = lens_native.made(kernels, img.shape[:2], *amounts, 0) if kernels is not None and known else None
        if maps is None:
            own: np.ndarray = pixel.chromatic_aberration(img, *red, *blue, interpolation)
            return own
        plane = cv2.remap(np.ascontiguousarray(img[..., channel]), *maps, interpolation, None, cv2.BORDER_REPLICATE)
        cv2.insertChannel(plane, made, channel)
    return made


FUNCTIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "fgeometric": {"create_piecewise_affine_maps": create_piecewise_affine_maps, "tps_transform": tps_transform},
    "fpixel": {
        "chromatic_aberration": chromatic_aberration,
    },
}
