"""Albumentations' processors of boxes and keypoints with their arithmetic written out: the same bits, in less time.

After every step the boxes are clipped and filtered, whether it moved them or not, by a dozen small functions; with a
few boxes that took longer than most steps. Labels were analysed and encoded anew for every sample.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import BboxProcessor, LabelManager, LabelMetadata, filter_bboxes

_EPSILON = 1e-7  # albumentations' own
_NUMBERS = (int, float)
_FLOATS = (np.float32, np.float64)
_FORMATS = ("coco", "pascal_voc", "yolo")


def quicken(processor: Any, rows: str) -> None:
    """Let a processor of a pipeline do its work in less time.

    Args:
        processor: of boxes or keypoints.
        rows: of the label fields the one that counts the rows 0, 1, 2, ...: only these come back.
    """
    processor._process_label_fields = lambda data, name: _with_labels(processor, data, name, rows)
    processor._remove_label_fields = lambda data, name: _without_labels(processor, data, name, rows)
    if not isinstance(processor, BboxProcessor):
        _quicken_keypoints(processor)
        return
    check, settled = processor.check, Settled()

    def quick_check(data: np.ndarray, shape: Any) -> None:
        # Albumentations asks twice a sample which coordinates are nearly 0 or 1; next to no box needs that.
        if data.ndim != 2 or not _plainly_valid(data):
            check(data, shape)

    def quick_filter(data: np.ndarray, shape: Any) -> np.ndarray:
        return settled.filter(data, shape, processor.params)

    processor.check, processor.filter = quick_check, quick_filter
    processor.check_and_convert = _converting(processor)


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
            shape: height and width of the picture, under these names.
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
    """Boxes clipped to the picture, without those of which too little is left; as albumentations works it out."""
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


def _converting(processor: Any) -> Callable[..., np.ndarray]:
    """Boxes from their format to albumentations' terms, or `from` these, and checked there."""
    params, as_it_does = processor.params, processor.check_and_convert

    def convert(data: np.ndarray, shape: Any, direction: str = "to") -> np.ndarray:
        rare = params.format not in _FORMATS or (direction == "to" and params.filter_invalid_bboxes)
        if rare or data.ndim != 2 or not len(data) or data.dtype not in _FLOATS:
            done: np.ndarray = as_it_does(data, shape, direction)
            return done
        height, width = shape["height"], shape["width"]
        sides = _scale(height, width, 4)
        if direction == "from":
            processor.check(data, shape)
            return _outward(data, params.format, sides)
        made = _inward(data, params.format, sides)
        if params.clip:
            made[:, :4] = made[:, :4].clip(0, 1)
        processor.check(made, shape)
        return made

    return convert


def _inward(boxes: np.ndarray, form: str, sides: np.ndarray) -> np.ndarray:
    made = np.array(boxes, np.float32)
    if form == "yolo":
        half = made[:, 2:4] / 2
        made[:, 2:4] = made[:, :2] + half
        made[:, :2] -= half
        return made
    if form == "coco":
        made[:, 2:4] += made[:, :2]
    made[:, :4] = made[:, :4] / sides
    return made


def _outward(boxes: np.ndarray, form: str, sides: np.ndarray) -> np.ndarray:
    made = np.array(boxes)
    corners = boxes[:, :4] if form == "yolo" else boxes[:, :4] * sides
    low, high = corners[:, :2], corners[:, 2:]
    made[:, :2] = (low + high) / 2 if form == "yolo" else low
    made[:, 2:4] = high if form == "pascal_voc" else high - low
    return made


@lru_cache(maxsize=256)
def _scale(height: int, width: int, columns: int) -> np.ndarray:
    """What boxes of so many columns are multiplied by to count pixels; what is no corner by 1."""
    scale = np.ones(columns)
    scale[0] = scale[2] = width
    scale[1] = scale[3] = height
    scale.flags.writeable = False
    return scale


def _plainly_valid(boxes: np.ndarray) -> bool:
    """Whether all boxes lie within the picture and have an area; albumentations' own terms, so 0..1."""
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


# Keypoints. What is rare, and whatever is refused, stays albumentations' own to do.

_ORDER = {"xy": slice(2), "yx": slice(1, None, -1)}  # of the columns of a format, in albumentations' terms and back
_COLUMNS = 5  # x, y, z, angle, scale: then come labels


def _quicken_keypoints(processor: Any) -> None:
    """Let a processor of keypoints do its work in less time."""
    params, convert, keep = processor.params, processor.check_and_convert, processor.filter
    order, checks = _ORDER.get(params.format), params.remove_invisible

    def quick_convert(data: np.ndarray, shape: Any, direction: str = "to") -> np.ndarray:
        known = data.dtype == np.float32 or (data.dtype == np.float64 and direction == "from")
        if order is not None and known and data.ndim == 2 and len(data):
            made = _points_inward(data, order) if direction == "to" else _points_outward(data, order)
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


def _points_inward(points: np.ndarray, order: slice) -> np.ndarray:
    made = np.zeros((len(points), _COLUMNS - 2 + points.shape[1]), np.float32)
    made[:, :2], made[:, _COLUMNS:] = points[:, order], points[:, 2:]
    return made


def _points_outward(points: np.ndarray, order: slice) -> np.ndarray:
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
