"""Boxes are filtered in one go, and not again where no step has moved them; labels are encoded once: the same bits.

After every step albumentations clips and filters the boxes, whether it moved them or not, by a dozen small functions,
and it analyses and encodes labels anew for every sample.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import BboxProcessor, LabelManager, LabelMetadata

_NUMBERS = (int, float)
_LEAST = 1e-7  # albumentations' epsilon


def quicken(processor: Any, rows: str) -> None:
    """Make a processor of a pipeline faster.

    Args:
        processor: of boxes or keypoints.
        rows: of the label fields the one that counts the rows 0, 1, 2, ...: only these come back.
    """
    processor._process_label_fields = lambda data, name: _with_labels(processor, data, name, rows)
    processor._remove_label_fields = lambda data, name: _without_labels(processor, data, name, rows)
    if not isinstance(processor, BboxProcessor):
        return
    check, settled = processor.check, Settled(partial(filtered, params=processor.params))

    def quick_check(data: np.ndarray, shape: Any) -> None:
        # Albumentations asks twice a sample which coordinates are nearly 0 or 1; next to no box needs that.
        if data.ndim != 2 or not _plainly_valid(data):
            check(data, shape)

    processor.check, processor.filter = quick_check, settled.filter


def forget_labels(processor: Any) -> None:
    """Let a processor forget the labels of the sample before."""
    processor.label_manager = LabelManager()


class Settled:
    """Filters boxes by `own`. Those that it left as they were it leaves again, at the same size, without looking."""

    def __init__(self, own: Callable[[np.ndarray, Any], np.ndarray]) -> None:
        self._own = own
        self._known: tuple[Any, ...] = ()

    def filter(self, data: np.ndarray, shape: Any) -> np.ndarray:
        """What `own` gives, bit for bit; the very array, where that is what came.

        Args:
            data: n × 4 or more boxes, in albumentations' terms.
            shape: height and width of the image, under these names.
        """
        came = data.tobytes(), data.shape, data.dtype, shape["height"], shape["width"]
        if came == self._known:
            return data
        left = self._own(data, shape)
        if (left.dtype, left.shape) == (data.dtype, data.shape) and left.tobytes() == came[0]:
            self._known = came
        return left


def filtered(data: np.ndarray, shape: Any, params: Any) -> np.ndarray:
    """What albumentations' `filter_bboxes` gives, bit for bit: boxes cut at the image's sides, of those large enough.

    Args:
        data: n × 4 or more boxes, in albumentations' terms.
        shape: height and width of the image, under these names.
        params: of the processor; what a box must have to be kept.
    """
    height, width = shape["height"], shape["width"]
    areas = (data[:, 2] - data[:, 0]) * width * ((data[:, 3] - data[:, 1]) * height)
    sides = np.array((width, height, width, height), float)
    corners, cut = data[:, :4] * sides, data.astype(float)
    for first, side in enumerate((width, height)):
        np.clip(corners[:, first::2], 0, side, out=corners[:, first::2])
    cut[:, :4] = corners / sides
    left = (cut[:, 2] - cut[:, 0]) * width * ((cut[:, 3] - cut[:, 1]) * height)
    corners = cut[:, :4] * sides
    widths, heights = corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]
    kept = (areas >= _LEAST) & (left >= params.min_area - _LEAST)
    kept &= left / (areas + _LEAST) >= params.min_visibility
    kept &= (widths >= params.min_width - _LEAST) & (heights >= params.min_height - _LEAST)
    if (most := params.max_accept_ratio) is not None:
        kept &= np.maximum(widths / (heights + _LEAST), heights / (widths + _LEAST)) <= most
    return cut[kept] if kept.any() else np.zeros((0, 4), np.float32)


def _plainly_valid(boxes: np.ndarray) -> bool:
    """Whether all boxes lie within the image and have an area; albumentations' own terms, so 0..1."""
    low, high = boxes[:, :2], boxes[:, 2:4]
    return bool(((low >= 0) & (low < high) & (high <= 1)).all())


def _with_labels(processor: Any, data: dict[str, Any], name: str, rows: str) -> np.ndarray:
    """The array under `name` with a column for each label field; the fields leave the sample."""
    columns = [data[name]]
    for field in processor.params.label_fields:
        processor._validate_label_field_length(data, name, field)
        labels = data.pop(field)
        if field == rows:
            columns.append(np.arange(len(labels), dtype=np.float32)[:, None])
        elif type(labels) is list and labels and all(type(label) in _NUMBERS for label in labels):
            processor.label_manager.metadata[name][field] = LabelMetadata(list, is_numerical=True)
            columns.append(np.array(labels, np.float32)[:, None])
        else:
            columns.append(processor.label_manager.process_field(name, field, labels))
    return np.concatenate(columns, axis=1)


def _without_labels(processor: Any, data: dict[str, Any], name: str, rows: str) -> None:
    """The array without these columns, and the rows that are left."""
    fields = processor.params.label_fields
    array = data[name]
    first = array.shape[1] - len(fields)
    data.update(dict.fromkeys(fields, ()))
    data[rows] = array[:, first + fields.index(rows)].tolist()
    data[name] = array[:, :first]
