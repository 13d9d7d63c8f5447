"""Boxes and keypoints: albumentations' processors for them, and how a sample's are passed in and out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compiler.rewrite import Compiled
from augrecipes.compiler.run.objects import NUMBER, arrange, link, select_rows
from augrecipes.compiler.run.targets import check_presence
from augrecipes.errors import DataError
from augrecipes.recipe.model import Boxes, Inputs, Keypoints

_KEYS = frozenset({"boxes", "bboxes", "keypoints"})
_NUMBERS = frozenset({int, float})


def processors(inputs: Inputs) -> dict[str, Any]:
    """Albumentations' box and keypoint processors, as the recipe's inputs declare them."""
    arguments: dict[str, Any] = {}
    if (boxes := inputs.boxes) and boxes.presence != "absent":
        arguments["bbox_params"] = A.BboxParams(
            format=boxes.format,
            label_fields=_label_fields("bboxes", boxes),
            min_area=boxes.min_area,
            min_visibility=boxes.min_visibility,
            min_width=boxes.min_width,
            min_height=boxes.min_height,
            clip=boxes.clip,
        )
    if (points := inputs.keypoints) and points.presence != "absent":
        arguments["keypoint_params"] = A.KeypointParams(
            format=points.format,
            label_fields=_label_fields("keypoints", points),
            remove_invisible=points.remove_invisible,
        )
    return arguments


def _label_fields(inner: str, declared: Boxes | Keypoints) -> list[str]:
    return [declared.labels, rows_of(inner)] if declared.labels else [rows_of(inner)]


def rows_of(inner: str) -> str:
    """The key of row numbers, which restore labels: albumentations converts these to float32 and loses some."""
    return f"_{inner}_rows"


@dataclass(frozen=True, slots=True)
class Points:
    """The boxes or the keypoints of one sample, on their way through the steps.

    Attributes:
        inner: albumentations' key.
        outer: the sample's key; None: the sample has none, and none come out.
        labels: the sample's labels.
        declared: the recipe's `boxes` or `keypoints`.
        dtype: dtype of the result; None: as the steps leave it.
    """

    inner: str
    outer: str | None
    labels: Any
    declared: Boxes | Keypoints
    dtype: Any = np.float32

    def put_back(self, done: dict[str, Any]) -> None:
        """Turn albumentations' result into the sample's: arrays of `dtype`, with the input's labels."""
        array, rows = done.pop(self.inner), np.array(done.pop(rows_of(self.inner), ()), int)
        done.pop(self.declared.labels or "", None)
        if self.outer is None:
            return
        order, labels = arrange(self.inner, rows, done, self.declared, self.labels)
        done[self.outer] = np.array(array[order], self.dtype)
        if self.declared.labels:
            done[self.declared.labels] = select_rows(labels, rows[order])
        if self.dtype is not None and self.inner == "keypoints":
            done.pop(NUMBER, None)


def take_points(data: dict[str, Any], compiled: Compiled) -> Sequence[Points]:
    """Move a sample's boxes and keypoints to albumentations' keys; return what puts them back.

    Args:
        data: the sample, changed in place.
        compiled: the recipe. Where it resumes they come in albumentations' format and keep their dtype; where it
            pauses they come out so.
    """
    inputs = compiled.recipe.inputs
    if inputs.boxes is None and inputs.keypoints is None and _KEYS.isdisjoint(data):
        return ()  # the usual case
    box_key = "bboxes" if "bboxes" in data else "boxes"
    dtypes = [None if own else np.float32 for own in (compiled.resumes, compiled.pauses)]
    both = (
        _take(data, box_key, "bboxes", inputs.boxes, *dtypes),
        _take(data, "keypoints", "keypoints", inputs.keypoints, *dtypes),
    )
    present = [points for points in both if points is not None and points.outer]
    counts = {points.inner: len(data[points.inner]) for points in present}
    labels = present[-1].labels if present else ()
    link(data, counts.get("bboxes"), counts.get("keypoints"), inputs.keypoints, labels)
    return [points for points in both if points is not None]


def _take(data: dict[str, Any], key: str, inner: str, declared: Any, comes: Any, leaves: Any) -> Points | None:
    """Move the points under `key`, as dtype `comes`, to albumentations' key `inner`; None: the recipe has none."""
    is_present = data.get(key) is not None
    if declared is None:
        if is_present:
            raise DataError(f"the sample has {key}, and the recipe's inputs do not declare any: add `inputs: {key}:`")
        data.pop(key, None)
        return None
    check_presence(key, declared.presence, is_present=is_present)
    points = data.pop(key, None)
    if declared.presence == "absent":
        return None
    array = _as_array(key, () if points is None else points, 4 if inner == "bboxes" else 2, comes)
    data[inner] = array
    labels: Any = ()
    if declared.labels:
        labels = data.get(declared.labels)
        if labels is None and len(array):
            raise DataError(f"the sample has {key} and no {declared.labels!r}, one label for each")
        labels = () if labels is None else labels
        if len(labels) != len(array):
            raise DataError(f"the sample has {len(array)} {key} and {len(labels)} {declared.labels}")
        data[declared.labels] = _encodable(labels)
    data[rows_of(inner)] = list(range(len(array)))
    return Points(inner, key if is_present else None, labels, declared, leaves)


def _encodable(labels: Sequence[Any]) -> list[Any]:
    """Labels that albumentations can encode, for steps that look for some; labels of mixed types become zeros."""
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    kinds = {*map(type, values)}
    is_uniform = kinds <= _NUMBERS or any(all(issubclass(kind, base) for kind in kinds) for base in (str, (int, float)))
    return values if is_uniform else [0] * len(values)


def _as_array(name: str, points: Any, columns: int, dtype: Any) -> np.ndarray:
    """Copy boxes or keypoints to an array (n, columns or more) of `dtype`; None: their own dtype."""
    array = np.array(points, dtype)
    if array.size == 0:
        return np.zeros((0, columns), np.float32)
    if array.ndim != 2 or array.shape[1] < columns:
        raise DataError(f"{name} must be an array of shape (n, {columns}), got shape {array.shape}")
    return array
