"""Boxes and keypoints under steps that hide parts of an image, such as CoarseDropout."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compat import Mixin

Points = NDArray[Any]
_ROUNDING = 1e-4  # px: tolerance of a box's side that is meant to lie between two pixels


class HolePlaces(Mixin):  # type: ignore[misc]
    """A step that hides pixels: a box shrinks only where whole outer rows or columns of it are hidden."""

    def apply_to_bboxes(self, bboxes: Points, **params: Any) -> Points:
        """Shrink boxes, in shares of the image's sides; drop those of which too little is visible."""
        processor = self.get_processor("bboxes")
        if processor is None or not len(bboxes):
            return bboxes
        rows, columns = params["shape"][:2]
        sides = np.array([columns, rows, columns, rows], np.float64)
        boxes, hidden, needs = bboxes[:, :4] * sides, _hidden(params), processor.params
        result, is_visible = np.array(bboxes, np.float64), np.ones(len(boxes), bool)
        for row in _rows_near_holes(boxes, params).tolist():
            box = _visible_box(boxes[row], hidden, needs.min_area, needs.min_visibility)
            is_visible[row] = box is not None
            if box is not None:
                result[row, :4] = np.where(box == boxes[row], result[row, :4], box / sides)
        return result[is_visible]

    def apply_to_keypoints(self, keypoints: Points, **params: Any) -> Points:
        """Drop keypoints on hidden pixels, where the recipe removes invisible ones."""
        processor = self.get_processor("keypoints")
        if processor is None or not processor.params.remove_invisible or "drop_mask" in params or not len(keypoints):
            return keypoints
        rows, columns = params["shape"][:2]
        x, y = np.nan_to_num(np.rint(keypoints[:, :2])).astype(int).T
        return np.asarray(keypoints[~_hidden(params)[y.clip(0, rows - 1), x.clip(0, columns - 1)]])


def _hidden(params: dict[str, Any]) -> Points:
    """The mask of pixels that a step hides, H×W bool."""
    hidden: Points = np.zeros(params["shape"][:2], bool)
    if "holes" in params:
        for x_min, y_min, x_max, y_max in _holes(params).tolist():
            hidden[y_min:y_max, x_min:x_max] = True
        return hidden
    mask = params.get("dropout_mask", params.get("drop_mask"))
    return hidden if mask is None else np.logical_and.reduce(np.asarray(mask, bool).reshape(*hidden.shape, -1), axis=2)


def _rows_near_holes(boxes: Points, params: dict[str, Any]) -> Points:
    """The indices of boxes, in pixels, that holes may touch."""
    if "holes" not in params:
        return np.arange(len(boxes))
    holes = _holes(params)
    meet: Any = (boxes[:, None, :2] < holes[:, 2:]) & (boxes[:, None, 2:] > holes[:, :2])
    return np.flatnonzero(meet.all(axis=2).any(axis=1))


def _holes(params: dict[str, Any]) -> Points:
    return np.asarray(params["holes"]).reshape(-1, 4).astype(int)


def _visible_box(box: Points, hidden: Points, min_area: float, min_visibility: float) -> Points | None:
    """A box in pixels without its hidden outer rows and columns; None where too little of it is left."""
    left, top, right, bottom = box.tolist()
    first, above = max(int(left + _ROUNDING), 0), max(int(top + _ROUNDING), 0)
    visible: Any = ~hidden[above : math.ceil(bottom - _ROUNDING), first : math.ceil(right - _ROUNDING)]
    if np.logical_and.reduce(visible, axis=None):
        return box
    columns, rows = np.logical_or.reduce(visible, axis=0), np.logical_or.reduce(visible, axis=1)
    if not np.logical_or.reduce(rows):
        return None
    if min_area > 0 or min_visibility > 0:
        across, down = np.ones(visible.shape[1]), np.ones(visible.shape[0])
        across[0] -= left - first
        down[0] -= top - above
        across[-1] -= first + len(across) - right
        down[-1] -= above + len(down) - bottom
        area, whole = down @ visible @ across, (right - left) * (bottom - top)
        if area < min_area or area < min_visibility * whole * (1 - _ROUNDING):
            return None
    inner = columns.argmax(), rows.argmax(), len(columns) - columns[::-1].argmax(), len(rows) - rows[::-1].argmax()
    return np.array([
        max(left, first + inner[0]), max(top, above + inner[1]),
        min(right, first + inner[2]), min(bottom, above + inner[3]),
    ])  # fmt: skip
