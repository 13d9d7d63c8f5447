"""Boxes and keypoints: how albumentations is told of them, and how a sample's get in and out."""

from __future__ import annotations

from typing import Any

import albumentations as A
import numpy as np

from augrecipes.compiler.targets import check_presence
from augrecipes.errors import DataError
from augrecipes.recipe.model import Boxes, Inputs, Keypoints


def processors(inputs: Inputs) -> dict[str, Any]:
    """Albumentations' box and keypoint processors, as the recipe's inputs declare them."""
    made: dict[str, Any] = {}
    if (boxes := inputs.boxes) and boxes.presence != "absent":
        made["bbox_params"] = A.BboxParams(
            format=boxes.format,
            label_fields=[boxes.labels] if boxes.labels else None,
            min_area=boxes.min_area,
            min_visibility=boxes.min_visibility,
            min_width=boxes.min_width,
            min_height=boxes.min_height,
            clip=boxes.clip,
        )
    if (points := inputs.keypoints) and points.presence != "absent":
        made["keypoint_params"] = A.KeypointParams(
            format=points.format,
            label_fields=[points.labels] if points.labels else None,
            remove_invisible=points.remove_invisible,
        )
    return made


def take_points(
    data: dict[str, Any], key: str, inner: str, declared: Boxes | Keypoints | None, columns: int
) -> list[str]:
    """Put boxes or keypoints where albumentations looks for them; the keys that were added and must go again."""
    given = data.get(key) is not None
    if declared is None:
        if given:
            raise DataError(f"the sample has {key}, and the recipe's inputs do not declare any: add `inputs: {key}:`")
        data.pop(key, None)
        return []
    check_presence(key, declared.presence, given=given)
    if declared.presence == "absent":
        data.pop(key, None)
        return []
    points = data.pop(key, None)
    data[inner] = _as_array(key, () if points is None else points, columns)
    added = [] if given else [inner]
    if declared.labels and data.get(declared.labels) is None:
        if len(data[inner]):
            raise DataError(f"the sample has {key} and no {declared.labels!r}, one label for each")
        data[declared.labels] = []
        added.append(declared.labels)
    if declared.labels and len(data[declared.labels]) != len(data[inner]):
        count = len(data[declared.labels])
        raise DataError(f"the sample has {len(data[inner])} {key} and {count} {declared.labels}")
    return added


def _as_array(name: str, points: Any, columns: int) -> np.ndarray:
    """Boxes or keypoints as a fresh float32 array (n, columns or more)."""
    array = np.array(points, np.float32)
    if array.size == 0:
        return np.zeros((0, columns), np.float32)
    if array.ndim != 2 or array.shape[1] < columns:
        raise DataError(f"{name} must be an array of shape (n, {columns}), got shape {array.shape}")
    return array
