"""Albumentations' way of moving boxes by a matrix with its arithmetic written out: the same bits, in less time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric

_STILL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_FLAT = [0.0, 0.0, 1.0]
_PLAIN = (cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_WRAP)  # behind which nothing is seen once more
_CORNERS = [0, 1, 2, 1, 2, 3, 0, 3]  # of a box, in albumentations' order: columns of x and y


def bboxes_affine(
    bboxes: np.ndarray,
    matrix: np.ndarray,
    rotate_method: str,
    image_shape: tuple[int, int],
    border_mode: int,
    output_shape: tuple[int, int],
) -> np.ndarray:
    """albumentations' function of this name and these arguments: the boxes around moved corners, those outside dropped.

    >>> box, twice = np.array([[0.25, 0.5, 0.75, 1.0]]), np.diag([2.0, 1.0, 1.0])
    >>> bboxes_affine(box, twice, "largest_box", (8, 8), cv2.BORDER_CONSTANT, (8, 8)).tolist()
    [[0.5, 0.5, 1.5, 1.0]]
    """
    rows = matrix.tolist()
    if not len(bboxes) or rotate_method != "largest_box" or border_mode not in _PLAIN or rows[2] != _FLAT:
        made: np.ndarray = geometric.bboxes_affine(
            bboxes, matrix, rotate_method, image_shape, border_mode, output_shape
        )
        return made
    # As np.allclose asks; what is no number is not near anything.
    if all(abs(n - one) <= 1e-8 + 1e-5 * one for n, one in zip((n for row in rows for n in row), _STILL, strict=True)):
        return bboxes
    height, width = image_shape[:2]
    count, columns = bboxes.shape
    points = np.ones((4 * count, 3))
    points[:, :2] = (bboxes[:, _CORNERS] * np.array([width, height] * 4, float)).reshape(-1, 2)
    corners = (points @ matrix.T)[:, :2].reshape(-1, 4, 2)  # its library adds in an order of its own
    moved = np.empty((count, columns))
    moved[:, :2], moved[:, 2:4], moved[:, 4:] = corners.min(axis=1), corners.max(axis=1), bboxes[:, 4:]
    height, width = output_shape[:2]
    seen = ((moved[:, 2:4] > 0) & (moved[:, :2] < (width, height))).all(axis=1)
    if not seen.all():
        moved = moved[seen]
    moved[:, 0:4:2] /= width
    moved[:, 1:4:2] /= height
    return moved


def functions() -> dict[str, Callable[..., Any]]:
    """What may be called in place of albumentations' own functions."""
    return {"bboxes_affine": bboxes_affine}
