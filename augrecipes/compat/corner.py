"""Light from a corner, the same on every call.

albumentations asks OpenCV how far each pixel lies from the corner. Builds of OpenCV with Intel's IPP round that by
where the result lies in memory, and by how many threads OpenCV has.
"""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import pixel
from augrecipes.compat.instead import with_functions


def with_steady_corner(step: Any) -> Any:
    """The transform, which lights a corner by `lit_from_corner`."""
    return with_functions(step, ("apply",), {"apply_corner_illumination": lit_from_corner}, "fpixel")


def lit_from_corner(img: np.ndarray, intensity: float, corner: int) -> np.ndarray:
    """What albumentations' function of these arguments gives where OpenCV is without IPP, to the last bit.

    Grey pictures, too, which that one refuses where they have a channel.

    Args:
        img: uint8 or float32, H×W×C or H×W.
        intensity: how much darker it is at the far end of a diagonal.
        corner: 0 to 3, from the upper left one clockwise.

    >>> lit_from_corner(np.full((4, 3), 100, np.uint8), 0.5, 0).tolist()
    [[100, 90, 80], [90, 85, 77], [80, 77, 71], [70, 68, 63]]
    """
    height, width = img.shape[:2]
    rows, columns = np.arange(height, dtype=np.float32), np.arange(width, dtype=np.float32)
    rows, columns = rows[:: -1 if corner in (2, 3) else 1], columns[:: -1 if corner in (1, 2) else 1]
    light = np.sqrt((rows * rows)[:, None] + columns * columns)
    less: Any = -intensity / math.sqrt(height * height + width * width)
    one: Any = 1
    light = cv2.add(cv2.multiply(light, less), one)  # numpy rounds the product otherwise
    if img.ndim > light.ndim:
        light = np.repeat(light[..., None], img.shape[2], axis=2)
    lit: np.ndarray = pixel.clipped(pixel.multiply_by_array)(img, light)
    return lit
