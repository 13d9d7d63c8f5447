"""Warps of pictures that are one pixel high or wide, which OpenCV may never come back from.

Where a side has one pixel, `reflect_101` has nothing to reflect, and OpenCV's cubic interpolation looks for it without
end. Its other interpolations take that pixel wherever they look; so does this one of the same pixel twice. The
functions have the names, arguments and results of albumentations' own.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.compat.instead import Functions, with_functions


def comes_back(step: Any) -> Any:
    """The transform, which no group has taken up yet, so that it comes back from pictures of one row or column.

    >>> from augrecipes.compat.albumentations import A
    >>> step = comes_back(A.Rotate((30, 30), interpolation=cv2.INTER_CUBIC, border_mode=cv2.BORDER_REFLECT_101, p=1))
    >>> step(image=np.full((1, 3, 3), 7, np.uint8))["image"].ravel().tolist()
    [7, 7, 7, 7, 7, 7, 7, 7, 7]
    """
    if getattr(step, "border_mode", None) == cv2.BORDER_REFLECT_101:
        for method, sampling in (("apply", "interpolation"), ("apply_to_mask", "mask_interpolation")):
            if getattr(step, sampling, None) == cv2.INTER_CUBIC:
                with_functions(step, (method,), _FUNCTIONS)
    return step


def doubled(image: np.ndarray, interpolation: int, border: int) -> np.ndarray:
    """A picture H×W or H×W×C; its sides of one pixel doubled where OpenCV would not come back from them.

    >>> doubled(np.zeros((1, 5, 3)), cv2.INTER_CUBIC, cv2.BORDER_REFLECT_101).shape
    (2, 5, 3)
    """
    if interpolation != cv2.INTER_CUBIC or border != cv2.BORDER_REFLECT_101:
        return image
    for axis in (0, 1):
        if image.shape[axis] == 1:
            image = np.repeat(image, 2, axis)
    return image


def warp_affine(
    image: np.ndarray, matrix: np.ndarray, interpolation: int, fill: Any, border_mode: int, output_shape: Any
) -> np.ndarray:
    """A picture through a matrix from it to the result; as it is where that is nearly the identity."""
    twice = doubled(image, interpolation, border_mode)
    made: np.ndarray = geometric.warp_affine(twice, matrix, interpolation, fill, border_mode, output_shape)
    return image if made is twice else made


def perspective(
    img: np.ndarray,
    matrix: np.ndarray,
    max_width: int,
    max_height: int,
    border_val: Any,
    border_mode: int,
    keep_size: bool,
    interpolation: int,
) -> np.ndarray:
    """The same in perspective; with `keep_size` scaled back to the size of the picture."""
    twice = doubled(img, interpolation, border_mode)
    if twice is not img and keep_size:  # of the picture as it came
        height, width = img.shape[:2]
        matrix = np.dot(np.diag([width / max_width, height / max_height, 1.0]), matrix)
        max_width, max_height, keep_size = width, height, False
    made: np.ndarray = geometric.perspective(
        twice, matrix, max_width, max_height, border_val, border_mode, keep_size, interpolation
    )
    return made


def remap(
    img: np.ndarray, map_x: np.ndarray, map_y: np.ndarray, interpolation: int, border_mode: int, value: Any = None
) -> np.ndarray:
    """A picture whose pixels are taken from where two maps H×W say."""
    made: np.ndarray = geometric.remap(
        doubled(img, interpolation, border_mode), map_x, map_y, interpolation, border_mode, value
    )
    return made


_FUNCTIONS: Functions = {"warp_affine": warp_affine, "perspective": perspective, "remap": remap}
