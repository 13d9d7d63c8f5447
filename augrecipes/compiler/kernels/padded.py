"""Borders in one call of OpenCV, where albumentations first looks for rare pictures in three functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric

_PICTURE = 3  # dimensions
_LABELS = 2
_FEW = (2, 3, 4)  # channels that OpenCV takes at once, and leaves on an axis of their own


def pad_with_params(
    img: np.ndarray,
    h_pad_top: int,
    h_pad_bottom: int,
    w_pad_left: int,
    w_pad_right: int,
    border_mode: int,
    value: Any,
) -> np.ndarray:
    """albumentations' function of this name and these arguments: a picture with a border, its bits and its errors.

    >>> pad_with_params(np.zeros((2, 2, 3), np.uint8), 1, 0, 0, 1, cv2.BORDER_CONSTANT, 7)[:, :, 0].tolist()
    [[7, 7, 7], [0, 0, 7], [0, 0, 7]]
    """
    channels = img.shape[2] if img.ndim == _PICTURE else 1
    if not (img.ndim == _LABELS or channels in _FEW) or not img.size:
        made: np.ndarray = geometric.pad_with_params(
            img, h_pad_top, h_pad_bottom, w_pad_left, w_pad_right, border_mode, value
        )
        return made
    filled = geometric.extend_value(value, channels)
    return cv2.copyMakeBorder(
        img, h_pad_top, h_pad_bottom, w_pad_left, w_pad_right, borderType=border_mode, value=filled
    )


def functions() -> dict[str, Callable[..., Any]]:
    """What may be called in place of albumentations' own functions."""
    return {"pad_with_params": pad_with_params}
