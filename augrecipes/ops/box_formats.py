"""Convert boxes between albumentations' formats and corners in px."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_SHARES = ("yolo", "albumentations")  # formats in shares of the image's sides


def corners_px(boxes: NDArray[Any], form: str, height: int, width: int) -> NDArray[np.float64]:
    """Boxes of any of albumentations' formats as x_min, y_min, x_max, y_max in px.

    >>> corners_px(np.array([[0.5, 0.5, 1.0, 1.0]]), "yolo", 10, 20).tolist()
    [[0.0, 0.0, 20.0, 10.0]]
    """
    out = np.array(boxes, np.float64).reshape(len(boxes), -1 if len(boxes) else 4)[:, :4].copy()
    if form == "yolo":
        out[:, :2] -= out[:, 2:] / 2
    if form in {"yolo", "coco"}:
        out[:, 2:] += out[:, :2]
    if form in _SHARES:
        out *= np.array([width, height, width, height])
    return out


def from_corners_px(corners: NDArray[Any], form: str, height: int, width: int) -> NDArray[np.float32]:
    """Boxes in one of albumentations' formats from x_min, y_min, x_max, y_max in px.

    >>> from_corners_px(np.array([[0, 0, 20, 10]]), "yolo", 10, 20).tolist()
    [[0.5, 0.5, 1.0, 1.0]]
    """
    out = np.array(corners, np.float64)
    if form in _SHARES:
        out /= np.array([width, height, width, height])
    if form in {"yolo", "coco"}:
        out[:, 2:] -= out[:, :2]
    if form == "yolo":
        out[:, :2] += out[:, 2:] / 2
    return out.astype(np.float32)
