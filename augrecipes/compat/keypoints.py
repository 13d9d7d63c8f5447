"""Albumentations' processor of keypoints with its arithmetic written out: the same bits, in less time.

Beside `augrecipes.compat.boxes`. What is rare, and whatever is refused, stays albumentations' own to do.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

_ORDER = {"xy": slice(2), "yx": slice(1, None, -1)}  # of the columns of a format, in albumentations' terms and back
_COLUMNS = 5  # x, y, z, angle, scale: then come labels


def quicken(processor: Any) -> None:
    """Let a processor of keypoints do its work in less time."""
    params, convert, keep = processor.params, processor.check_and_convert, processor.filter
    order, checks = _ORDER.get(params.format), params.remove_invisible

    def quick_convert(data: np.ndarray, shape: Any, direction: str = "to") -> np.ndarray:
        known = data.dtype == np.float32 or (data.dtype == np.float64 and direction == "from")
        if order is not None and known and data.ndim == 2 and len(data):
            made = _inward(data, order) if direction == "to" else _outward(data, order)
            if not checks or _plainly_inside(made if direction == "to" else data, shape):
                return made
        done: np.ndarray = convert(data, shape, direction)
        return done

    def quick_filter(data: np.ndarray, shape: Any) -> np.ndarray:
        if not checks or (data.ndim == 2 and len(data) and _plainly_inside(data, shape)):
            return data
        done: np.ndarray = keep(data, shape)
        return done

    processor.check_and_convert, processor.filter = quick_convert, quick_filter


def _inward(points: np.ndarray, order: slice) -> np.ndarray:
    made = np.zeros((len(points), _COLUMNS - 2 + points.shape[1]), np.float32)
    made[:, :2], made[:, _COLUMNS:] = points[:, order], points[:, 2:]
    return made


def _outward(points: np.ndarray, order: slice) -> np.ndarray:
    made = np.empty((len(points), points.shape[1] + 2 - _COLUMNS), points.dtype)
    made[:, :2], made[:, 2:] = points[:, order], points[:, _COLUMNS:]
    return made


def _plainly_inside(points: np.ndarray, shape: Any) -> bool:
    """Whether all lie within the picture, at angles that a whole turn less does not round up to one."""
    if "depth" in shape:
        return False
    most = _most(shape["height"], shape["width"])
    seen = points[:, :4]
    return bool(((seen >= _LEAST) & (seen < most)).all())


_LEAST = np.array([0, 0, -np.inf, 0])


@lru_cache(maxsize=256)
def _most(height: int, width: int) -> np.ndarray:
    most = np.array([width, height, np.inf, np.inf])
    most.flags.writeable = False
    return most
