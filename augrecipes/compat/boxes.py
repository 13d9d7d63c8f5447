"""Boxes are filtered in one go, and not again where no step has moved them; labels are encoded once: the same bits.

After every step albumentations clips and filters the boxes, whether it moved them or not, by a dozen small functions,
and it analyses and encodes labels anew for every sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import BboxProcessor, LabelManager, LabelMetadata
from augrecipes.native.kernels import Library, address_of, library

_NUMBERS = (int, float)


def quicken(processor: Any, rows: str) -> None:
    """Make a processor of a pipeline faster.

    Args:
        processor: of boxes or keypoints.
        rows: of the label fields the one that counts the rows 0, 1, 2, ...: only these come back.
    """
    processor._process_label_fields = lambda data, name: _with_labels(processor, data, name, rows)
    processor._remove_label_fields = lambda data, name: _without_labels(processor, data, name, rows)
    if isinstance(processor, BboxProcessor) and (kernels := library()) is not None:
        quick = BoxKernels(kernels, processor)
        processor.check, processor.filter = quick.check, Settled(quick.filter).filter
        processor.check_and_convert = quick.check_and_convert


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


class BoxKernels:
    """What the native kernels do to boxes, as albumentations does it, bit for bit."""

    def __init__(self, kernels: Library, processor: Any) -> None:
        self._filter, self._inside = kernels.kernel("boxes", "pllddip"), kernels.kernel("boxes_inside", "pll")
        self._own_filter, self._own_check, params = processor.filter, processor.check, processor.params
        self._own_convert = processor.check_and_convert
        self._in_pixels = params.format == "pascal_voc" and not (params.clip or params.filter_invalid_bboxes)
        needs = params.min_area, params.min_visibility, params.min_width, params.min_height
        self._needs = np.array([*needs, -1 if params.max_accept_ratio is None else params.max_accept_ratio], float)
        self._needs_at = self._needs.ctypes.data

    def filter(self, data: np.ndarray, shape: Any) -> np.ndarray:
        """What albumentations' `filter_bboxes` gives: boxes cut at the image's sides, of those large enough."""
        cut, single, kept = np.array(data, float, order="C"), data.dtype == np.float32, -1
        if single or data.dtype == float:
            size = shape["height"], shape["width"]
            kept = self._filter(address_of(cut), *cut.shape, *size, single, self._needs_at)
        if kept < 0:
            return np.asarray(self._own_filter(data, shape))
        return cut[:kept] if kept else np.zeros((0, 4), np.float32)

    def check(self, data: np.ndarray, shape: Any) -> None:
        """Albumentations' check, which asks which coordinates are nearly 0 or 1; next to no box needs that."""
        boxes = np.array(data, float, order="C")
        if boxes.ndim != 2 or self._inside(address_of(boxes), *boxes.shape) < len(boxes):
            self._own_check(data, shape)

    def check_and_convert(self, data: np.ndarray, shape: Any, direction: str = "to") -> np.ndarray:
        """Albumentations' own, in a few calls for the format that most boxes have."""
        if not self._in_pixels or not data.size:
            return np.asarray(self._own_convert(data, shape, direction))
        sides, comes = np.array((shape["width"], shape["height"]) * 2, float), direction == "to"
        made = np.array(data, np.float32 if comes else None)
        made[:, :4] = made[:, :4] / sides if comes else made[:, :4] * sides
        self.check(made if comes else data, shape)
        return made


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
