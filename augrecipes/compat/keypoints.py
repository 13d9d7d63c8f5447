"""What lies between a sample's keypoints and its steps: conversions and filters. See `boxes`."""

from typing import Any

import numpy as np

from augrecipes.compat.albumentations import convert_keypoints_from_albumentations, convert_keypoints_to_albumentations
from augrecipes.errors import DataError
from augrecipes.native.kernels import address_of, library
from augrecipes.native.op_numbers import LIMITS

NO_MOVES = np.empty((0, LIMITS.MOVE))
_REMOVED = 64  # as native/boxes.c numbers it
_HALF = 0.5  # a pixel around its centre


def moved_rows(rows: np.ndarray, moves: np.ndarray, size: Any, *how: Any) -> np.ndarray:
    """What the native kernel leaves of boxes, or keypoints, that it moves in place.

    Raises:
        ValueError: one of those that come has no place on the image.
    """
    kernels = library()
    assert kernels is not None, "there is a program"
    what = address_of(rows), *rows.shape, address_of(moves) if len(moves) else None, len(moves)
    count = kernels.kernel("places", "pllplddpii")(*what, *size, *how)
    if count < 0:
        raise ValueError("it has no place on the image")
    return rows[:count]


class PointRules:
    """What is done to keypoints, by the recipe's `inputs`."""

    def __init__(self, params: Any) -> None:
        self._params = params

    def move(self, points: np.ndarray, moves: np.ndarray, size: Any, form: int, passed: bool) -> np.ndarray:
        """As `BoxRules.move`, of rows of x, y and more."""
        return moved_rows(points, moves, size, None, form | _REMOVED * self._params.remove_invisible, passed)

    def filter(self, data: np.ndarray, shape: Any) -> np.ndarray:
        """Those on a pixel of the image, or all of them where `remove_invisible` is false."""
        return data[_on_image(data, shape)] if data.size and self._params.remove_invisible else data

    def convert(self, data: np.ndarray, shape: Any, direction: str = "to") -> np.ndarray:
        """Keypoints of the recipe's format as x, y, z, angle, scale and more (`to`), and back.

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
    """Whether each point is on the image, or by so much left of it or above it."""
    x, y, z = points[:, :3].T
    inside = (x >= -before) & (x < shape["width"]) & (y >= -before) & (y < shape["height"])
    return inside & (z >= 0) & (z < shape["depth"]) if "depth" in shape else inside
