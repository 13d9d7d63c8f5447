"""Conversions, checks and filters of boxes and keypoints, in place of those of albumentations' processors.

The processors run before the steps, after each step and at the end. In between, boxes are float64 in shares of the
image's sides, clipped to the image; boxes without width or height are dropped. Labels are encoded once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import (
    BboxProcessor,
    LabelManager,
    convert_keypoints_from_albumentations,
    convert_keypoints_to_albumentations,
)
from augrecipes.errors import DataError
from augrecipes.native.kernels import address_of, library
from augrecipes.native.op_numbers import LIMITS

_LEAST = 1e-3  # px, the least width and height of a box
_ROUNDING, _WHOLE = 1e-7, 1 - 1e-6  # px and px², tolerance of limits; share of a box that counts as all of it
_BEYOND = 1e-5  # share of a side by which rounding may move a box beyond it
# Numbers and flags of native/boxes.c: the recipe's format; clip to the image; convert at the start, and at the end.
_FORMS = {"albumentations": 0, "pascal_voc": 1, "coco": 3, "yolo": 6}
_CLIPPED, COMES, LEAVES = 8, 16, 32


def prepare(processor: Any, rows: str | None) -> None:
    """Replace the functions of a pipeline's processor by those of this module.

    Args:
        processor: a processor of boxes or keypoints.
        rows: the label field that numbers the rows 0, 1, 2, ..., and which alone is returned; None: there is no such
            field, and albumentations returns the labels.
    """
    if rows is not None:
        processor._remove_label_fields = partial(_without_labels, processor, rows)
    is_of_boxes = isinstance(processor, BboxProcessor)
    processor.rules = rules = BoxRules(processor.params) if is_of_boxes else PointRules(processor.params)
    processor.filter = rules.filter
    processor.check_and_convert = rules.convert
    processor.preprocess = partial(_preprocess, processor, processor.preprocess)


def _preprocess(processor: Any, preprocess: Callable[[dict[str, Any]], None], data: dict[str, Any]) -> None:
    """Preprocess as the class does, without the labels of the sample before."""
    processor.label_manager = LabelManager()
    preprocess(data)


class BoxRules:
    """Converts and filters boxes by the recipe's `inputs`."""

    def __init__(self, params: Any) -> None:
        self._format, self._clip, self._drops = params.format, params.clip, params.filter_invalid_bboxes
        needs = params.min_area, params.min_visibility, params.min_width, params.min_height
        self._needs = np.array([*needs, -1 if params.max_accept_ratio is None else params.max_accept_ratio], float)
        self._needs_address = address_of(self._needs)
        self._form = _FORMS[params.format] | _CLIPPED * params.clip

    def filter(self, data: np.ndarray, shape: Any) -> np.ndarray:
        """Clip boxes to the image, and drop those below the limits."""
        boxes = np.array(data, float, order="C")
        if not boxes.size:
            return boxes.reshape(0, max(4, boxes.shape[-1]))
        height, width = shape["height"], shape["width"]
        if library() is None:
            return filter_boxes(boxes, height, width, self._needs)
        return self.move(boxes, NO_MOVES, (height, width), 0, True)

    def move(self, boxes: np.ndarray, moves: np.ndarray, size: Any, form: int, passed: bool) -> np.ndarray:
        """Move boxes by the native kernel, in place, and filter them after each move.

        Args:
            boxes: float64 (n, 4 or more).
            moves: the moves, in the layout of native/moves.h.
            size: height and width of the image before the moves, px.
            form: flags: boxes have the recipe's format before (COMES) and after (LEAVES) the moves.
            passed: whether to filter before the first move, too.

        Raises:
            ValueError: a row is not finite, or beyond all images.
        """
        form |= self._form if form else 0
        return moved_rows(boxes, moves, size, self._needs_address, form, passed)

    def convert(self, data: np.ndarray, shape: Any, direction: str = "to") -> np.ndarray:
        """Convert boxes from the recipe's format to shares of the sides (`to`), or back.

        Raises:
            DataError: a box is not finite, has no size, or lies beyond the image.
        """
        boxes = np.array(data, float)
        if not boxes.size:
            return np.zeros((0, 4), np.float32)
        width, height = shape["width"], shape["height"]
        corners, low, high = boxes[:, :4], boxes[:, :2], boxes[:, 2:4]
        sides = None if self._format in ("yolo", "albumentations") else np.array((width, height, width, height), float)
        if direction != "to":
            if self._format in ("coco", "yolo"):
                high -= low
            if self._format == "yolo":
                low += high / 2
            if sides is not None:
                corners *= sides
            return boxes
        if sides is not None:
            corners /= sides
        if self._format == "yolo":
            low -= high / 2
        if self._format in ("coco", "yolo"):
            high += low
        thin = _LEAST / min(width, height)  # a quick test, by the smaller side; others are tested exactly below
        if all(0 <= a <= c - thin and c <= 1 and 0 <= b <= d - thin and d <= 1 for a, b, c, d in corners.tolist()):
            return boxes
        if not self._drops:
            self._check(boxes, np.array((width, height), float))
        cut = corners.clip(0, 1)
        if self._clip or self._drops:
            has_size = ((cut[:, 2:] - cut[:, :2]) * (width, height) > _LEAST).all(axis=1)
            boxes, cut = boxes[has_size], cut[has_size]
        boxes[:, :4] = cut
        return boxes

    def _check(self, boxes: np.ndarray, sides: np.ndarray) -> None:
        corners = boxes[:, :4]
        has_size: Any = (corners[:, 2:] > corners[:, :2]).all(axis=1)
        inside = ((corners >= -_BEYOND) & (corners <= 1 + _BEYOND)).all(axis=1)
        fine: Any = has_size & (inside | self._clip) & np.isfinite(corners).all(axis=1)
        if fine.all():
            return
        row = int(fine.argmin())
        box = corners[row]
        where = f"box {row} ({', '.join(f'{v:.6g}' for v in box * [*sides, *sides])} px: left, top, right, bottom)"
        if not np.isfinite(box).all():
            raise DataError(f"{where} is not a box: every number must be finite; drop it or mend the label")
        if not has_size[row]:
            raise DataError(f"{where} has no width or height: right must be more than left, and bottom than top")
        size = f"{sides[0]:.0f} px wide and {sides[1]:.0f} px high"
        raise DataError(
            f"{where} lies beyond the image, which is {size}; `clip: true` in `inputs: boxes:`, or "
            f"`A.BboxParams(clip=True)`, cuts boxes at its sides (is `format: {self._format}` what the numbers are?)"
        )


def filter_boxes(boxes: np.ndarray, height: float, width: float, needs: np.ndarray) -> np.ndarray:
    """Clip and filter boxes, equal to the native kernel bit for bit: for machines without it.

    Args:
        boxes: float64 (n, 4 or more), first left, top, right and bottom in shares of the sides.
        height: height of the image, px.
        width: width of the image, px.
        needs: the least area (px²), visibility, width and height (px) of a box, and its greatest aspect ratio, or -1.
    """
    corners = boxes[:, :4]
    cut = np.where(corners < 0, 0.0, np.where(corners > 1, 1.0, corners))
    whole = (corners[:, 2] - corners[:, 0]) * width * ((corners[:, 3] - corners[:, 1]) * height)
    across, down = (cut[:, 2] - cut[:, 0]) * width, (cut[:, 3] - cut[:, 1]) * height
    area = across * down
    visible = (across > _LEAST) & (down > _LEAST) & (area >= needs[0] - _ROUNDING) & (area >= needs[1] * whole * _WHOLE)
    visible &= (across >= needs[2] - _ROUNDING) & (down >= needs[3] - _ROUNDING)
    if needs[4] >= 0:
        visible &= (across <= needs[4] * down) & (down <= needs[4] * across)
    return np.concatenate([cut, boxes[:, 4:]], axis=1)[visible]


def _without_labels(processor: Any, rows: str, data: dict[str, Any], name: str) -> None:
    """Remove the columns of labels from a target's array, and set the numbers of the rows that remain."""
    fields, array = processor.params.label_fields, data[name]
    first = array.shape[1] - len(fields)
    data.update(dict.fromkeys(fields, ()))
    data[rows], data[name] = array[:, first + fields.index(rows)].tolist(), array[:, :first]


NO_MOVES = np.empty((0, LIMITS.MOVE))
_REMOVED = 64  # a flag of native/boxes.c: drop points outside the image
_HALF = 0.5  # px, from a pixel's centre to its edge


def moved_rows(rows: np.ndarray, moves: np.ndarray, size: Any, *options: Any) -> np.ndarray:
    """Move boxes or keypoints by the native kernel, in place; returns the rows that remain.

    Raises:
        ValueError: a row is not finite, or beyond all images.
    """
    kernels = library()
    assert kernels is not None, "there is a program"
    arrays = address_of(rows), *rows.shape, address_of(moves) if len(moves) else None, len(moves)
    count = kernels.kernel("places", "pllplddpii")(*arrays, *size, *options)
    if count < 0:
        raise ValueError("a keypoint is not finite, or beyond all images")
    return rows[:count]


class PointRules:
    """Converts and filters keypoints by the recipe's `inputs`."""

    def __init__(self, params: Any) -> None:
        self._params = params

    def move(self, points: np.ndarray, moves: np.ndarray, size: Any, form: int, passed: bool) -> np.ndarray:
        """As `BoxRules.move`, for keypoints: rows of x, y and more."""
        return moved_rows(points, moves, size, None, form | _REMOVED * self._params.remove_invisible, passed)

    def filter(self, data: np.ndarray, shape: Any) -> np.ndarray:
        """Keep keypoints on the image, or all where `remove_invisible` is false."""
        return data[_on_image(data, shape)] if data.size and self._params.remove_invisible else data

    def convert(self, data: np.ndarray, shape: Any, direction: str = "to") -> np.ndarray:
        """Convert keypoints from the recipe's format to x, y, z, angle, scale and more (`to`), or back.

        Raises:
            DataError: a keypoint lies beyond the image, and `remove_invisible` is true.
        """
        if not data.size:
            return data
        params = self._params
        convert = convert_keypoints_to_albumentations if direction == "to" else convert_keypoints_from_albumentations
        points: np.ndarray = convert(data, params.format, shape, False, params.angle_in_degrees)
        if direction == "to" and params.remove_invisible:
            beyond = ~(_on_image(points, shape, 0) | np.isnan(points[:, :3]).any(axis=1))
            if beyond.any():
                row = int(np.flatnonzero(beyond)[0])
                x, y = points[row, :2]
                size = f"{shape['width']} px wide and {shape['height']} px high"
                raise DataError(
                    f"keypoint {row} ({x:.6g}, {y:.6g} px) lies beyond the image, which is {size}; `remove_invisible: "
                    "false` in `inputs: keypoints:` keeps such points"
                )
        return points


def _on_image(points: np.ndarray, shape: Any, before: float = _HALF) -> np.ndarray:
    """Whether each point is on the image, or less than `before` px to its left or above it."""
    x, y, z = points[:, :3].T
    inside = (x >= -before) & (x < shape["width"]) & (y >= -before) & (y < shape["height"])
    return inside & (z >= 0) & (z < shape["depth"]) if "depth" in shape else inside
