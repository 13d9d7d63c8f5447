"""Conversions and filters of keypoints, in place of those of albumentations' processors. See `boxes`."""

from typing import Any

import numpy as np

from augrecipes.compat.albumentations import convert_keypoints_from_albumentations, convert_keypoints_to_albumentations
from augrecipes.errors import DataError
from augrecipes.native.kernels import address_of, library
from augrecipes.native.op_numbers import LIMITS

NO_MOVES = np.empty((0, LIMITS.MOVE))
_REMOVED = 64  # a flag of native/boxes.c: drop points outside the image
_HALF = 0.5  # px, from a pixel's centre to its edge


def moved_rows(rows: np.ndarray, moves: np.ndarray, size: Any, *options: Any) -> np.ndarray:
    """Move boxes or keypoints by the native kernel, in place; returns the rows that remain.

    Raises:
        ValueError: a row is not finite, or beyond all images.
    """
    kernels = library()
    assert kernels is not None, "there is a program"
    arrays = address_of(rows), *rows.shape, address_of(moves) if len(moves) else None, len(moves)
    count = kernels.kernel("places", "pllplddpii")(*arrays, *size, *options)
    if count < 0:
        raise ValueError("a keypoint is not finite, or beyond all images")
    return rows[:count]


class PointRules:
    """Converts and filters keypoints by the recipe's `inputs`."""

    def __init__(self, params: Any) -> None:
        self._params = params

    def move(self, points: np.ndarray, moves: np.ndarray, size: Any, form: int, passed: bool) -> np.ndarray:
        """As `BoxRules.move`, for keypoints: rows of x, y and more."""
        return moved_rows(points, moves, size, None, form | _REMOVED * self._params.remove_invisible, passed)

    def filter(self, data: np.ndarray, shape: Any) -> np.ndarray:
        """Keep keypoints on the image, or all where `remove_invisible` is false."""
        return data[_on_image(data, shape)] if data.size and self._params.remove_invisible else data

    def convert(self, data: np.ndarray, shape: Any, direction: str = "to") -> np.ndarray:
        """Convert keypoints from the recipe's format to x, y, z, angle, scale and more (`to`), or back.

        Raises:
            DataError: a keypoint lies beyond the image, and `remove_invisible` is true.
        """
        if not data.size:
            return data
        params = self._params
        convert = convert_keypoints_to_albumentations if direction == "to" else convert_keypoints_from_albumentations
        points: np.ndarray = convert(data, params.format, shape, False, params.angle_in_degrees)
        if direction == "to" and params.remove_invisible:
            beyond = ~(_on_image(points, shape, 0) | np.isnan(points[:, :3]).any(axis=1))
            if beyond.any():
                row = int(np.flatnonzero(beyond)[0])
                x, y = points[row, :2]
                size = f"{shape['width']} px wide and {shape['height']} px high"
                raise DataError(
                    f"keypoint {row} ({x:.6g}, {y:.6g} px) lies beyond the image, which is {size}; `remove_invisible: "
                    "false` in `inputs: keypoints:` keeps such points"
                )
        return points


def _on_image(points: np.ndarray, shape: Any, before: float = _HALF) -> np.ndarray:
    """Whether each point is on the image, or less than `before` px to its left or above it."""
    x, y, z = points[:, :3].T
    inside = (x >= -before) & (x < shape["width"]) & (y >= -before) & (y < shape["height"])
    return inside & (z >= 0) & (z < shape["depth"]) if "depth" in shape else inside
