"""Albumentations' box filter with its arithmetic written out, and labels that are encoded once: the same bits, faster.

After every step the boxes are clipped and filtered, whether it moved them or not, by a dozen small functions: with a
few boxes a fifth of a sample's time. Labels were analysed and encoded anew for every sample.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import BboxProcessor, LabelManager, LabelMetadata, filter_bboxes

_EPSILON = 1e-7  # albumentations' own
_NUMBERS = (int, float)


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
    check, settled = processor.check, Settled()

    def quick_check(data: np.ndarray, shape: Any) -> None:
        # Albumentations asks twice a sample which coordinates are nearly 0 or 1; next to no box needs that.
        if data.ndim != 2 or not _plainly_valid(data):
            check(data, shape)

    def quick_filter(data: np.ndarray, shape: Any) -> np.ndarray:
        return settled.filter(data, shape, processor.params)

    processor.check, processor.filter = quick_check, quick_filter


def forget_labels(processor: Any) -> None:
    """Let a processor forget the labels of the sample before."""
    processor.label_manager = LabelManager()


class Settled:
    """Filters boxes. Those that it left as they were it leaves again, at the same size, without looking."""

    def __init__(self) -> None:
        self._known: tuple[bytes, Any, tuple[int, int]] = b"", None, (0, 0)

    def filter(self, boxes: np.ndarray, shape: Any, params: Any) -> np.ndarray:
        """What albumentations' `filter_bboxes` gives, bit for bit; the very array, where that is what came.

        Args:
            boxes: n × 4 or more, in albumentations' terms.
            shape: height and width of the image, under these names.
            params: albumentations' BboxParams.
        """
        size = shape["height"], shape["width"]
        known = self._known
        if boxes.dtype == np.float64 and (boxes.tobytes(), boxes.shape, size) == known:
            return boxes
        if params.max_accept_ratio is not None or not len(boxes):
            done: np.ndarray = filter_bboxes(
                boxes, shape, params.min_area, params.min_visibility, params.min_width, params.min_height,
                params.max_accept_ratio,
            )  # fmt: skip
            return done
        kept = filtered(boxes, *size, params)
        if kept.dtype == boxes.dtype and kept.shape == boxes.shape and kept.tobytes() == boxes.tobytes():
            self._known = kept.tobytes(), kept.shape, size
        return kept


def filtered(boxes: np.ndarray, height: int, width: int, params: Any) -> np.ndarray:
    """Boxes clipped to the image, without those of which too little is left; as albumentations works it out."""
    scale = _scale(height, width, boxes.shape[1])
    sides = boxes[:, 2:4] - boxes[:, :2]
    sides *= scale[:2].astype(sides.dtype)
    areas = sides[:, 0] * sides[:, 1]
    clipped = boxes * scale
    for across, most in ((clipped[:, 0:4:2], width), (clipped[:, 1:4:2], height)):
        across.clip(0, most, out=across)  # bounds that are arrays make 0 of -0
    clipped /= scale
    sides = clipped[:, 2:4] - clipped[:, :2]
    sides *= scale[:2]
    left = sides[:, 0] * sides[:, 1]
    corners = clipped[:, :4] * scale[:4]
    sides = corners[:, 2:] - corners[:, :2]
    mask = areas >= _EPSILON
    mask &= left >= params.min_area - _EPSILON
    mask &= left / (areas + _EPSILON) >= params.min_visibility
    mask &= sides[:, 0] >= params.min_width - _EPSILON
    mask &= sides[:, 1] >= params.min_height - _EPSILON
    if mask.all():
        return clipped
    kept: np.ndarray = clipped[mask]
    return kept if len(kept) else np.empty((0, 4), np.float32)


@lru_cache(maxsize=256)
def _scale(height: int, width: int, columns: int) -> np.ndarray:
    """What boxes of so many columns are multiplied by to count pixels; what is no corner by 1."""
    scale = np.ones(columns)
    scale[0] = scale[2] = width
    scale[1] = scale[3] = height
    scale.flags.writeable = False
    return scale


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
