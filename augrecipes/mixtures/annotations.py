"""Moves and clips the boxes and keypoints of a part of an image that is pasted elsewhere; drops hidden ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from augrecipes.ops.box_formats import corners_px, from_corners_px

if TYPE_CHECKING:
    from augrecipes.recipe.inputs import Boxes, Inputs

Array = npt.NDArray[Any]
_SLACK = 1e-3  # px, tolerance of corners for rounding in normalised formats


def seen(sample: Mapping[str, Any], region: Array, inputs: Inputs, shift: tuple[int, int] = (0, 0)) -> dict[str, Array]:
    """The visible boxes and keypoints of a sample, with their labels and object numbers.

    Args:
        sample: `boxes`, `keypoints` and their labels, where it has them.
        region: bool H×W, the pixels of the new image that show this sample.
        inputs: the recipe's inputs: formats, and limits below which boxes are dropped.
        shift: rows and columns by which the sample has moved.

    >>> from augrecipes.recipe.inputs import Boxes, Inputs
    >>> left = np.arange(8) < np.full((4, 1), 3)
    >>> boxes = np.array([[1.0, 0.0, 5.0, 4.0], [5.0, 1.0, 8.0, 2.0]])
    >>> visible = seen({"boxes": boxes, "box_labels": np.array([7, 9])}, left, Inputs(boxes=Boxes()))
    >>> visible["boxes"].tolist(), visible["box_labels"].tolist()
    ([[1.0, 0.0, 3.0, 4.0]], [7])
    """
    visible: dict[str, Array] = {}
    (dy, dx), size = shift, region.shape
    if inputs.boxes is not None and "boxes" in sample:
        corners = corners_px(sample["boxes"], inputs.boxes.format, *size) + np.array([dx, dy, dx, dy], np.float32)
        clipped = {k: box for k, box in enumerate(_clip(corners.tolist(), region, inputs.boxes)) if box is not None}
        visible["boxes"] = from_corners_px(np.array([*clipped.values()]).reshape(-1, 4), inputs.boxes.format, *size)
        _take(visible, sample, (inputs.boxes.labels, "object", "masks"), [*clipped])
        if "masks" in visible:  # pixels rolled over the edge are outside the region
            visible["masks"] = np.roll(visible["masks"], shift, (1, 2)) * region
    if inputs.keypoints is not None and "keypoints" in sample:
        points = np.array(sample["keypoints"], np.float32)
        x_column, y_column = (1, 0) if inputs.keypoints.format == "yx" else (0, 1)
        points[:, [x_column, y_column]] += np.array([dx, dy], np.float32)
        y, x = np.floor(points[:, y_column]).astype(int), np.floor(points[:, x_column]).astype(int)
        within = (y >= 0) & (y < size[0]) & (x >= 0) & (x < size[1])
        kept = within & region[np.clip(y, 0, size[0] - 1), np.clip(x, 0, size[1] - 1)]
        kept |= not inputs.keypoints.remove_invisible
        if inputs.keypoints.of and (owner := sample.get("keypoint_object")) is not None and "object" in visible:
            kept &= (owner < 0) | np.isin(owner, visible["object"])
        rows = np.flatnonzero(kept).tolist()
        visible["keypoints"] = points[rows]
        _take(visible, sample, (inputs.keypoints.labels, "keypoint_object"), rows)
    return visible


def rescale(sample: Mapping[str, Any], inputs: Inputs, size: tuple[int, int], place: Array) -> dict[str, Any]:
    """Move the boxes and keypoints of a sample from (x, y) px to ((x, y) - start) · factor + shift, without clipping.

    `place` is (start, factor, shift), 3×2; `size` is the image's (height, width).
    """
    result, (start, factor, shift) = dict(sample), place
    if inputs.boxes is not None and "boxes" in sample:
        corners = corners_px(sample["boxes"], inputs.boxes.format, *size).reshape(-1, 2, 2)
        moved = ((corners - start) * factor + shift).reshape(-1, 4)
        result["boxes"] = from_corners_px(moved, inputs.boxes.format, *size)
    if inputs.keypoints is not None and "keypoints" in sample:
        form, points = inputs.keypoints.format, np.array(sample["keypoints"], np.float32)
        xy = [form.index("x"), form.index("y")]
        points[:, xy] = (points[:, xy] - start + 0.5) * factor - 0.5 + shift  # whole numbers are pixel centres
        points[:, [k for k, column in enumerate(form) if column == "s"]] *= factor.max()
        result["keypoints"] = points
    return result


def _take(visible: dict[str, Array], sample: Mapping[str, Any], keys: Iterable[Any], rows: list[int]) -> None:
    visible |= {key: np.asarray(sample[key])[rows] for key in keys if key in sample}


def _clip(corners: Iterable[list[float]], region: Array, rule: Boxes) -> Iterable[list[float] | None]:
    """The visible part of each box; None where it is below the limits of `rule`."""
    for x0, y0, x1, y1 in corners:
        left, top, right, bottom = floor(x0 + _SLACK), floor(y0 + _SLACK), ceil(x1 - _SLACK), ceil(y1 - _SLACK)
        first, start = max(top, 0), max(left, 0)
        part = region[first : max(bottom, 0), start : max(right, 0)]
        rows, columns = np.flatnonzero(part.any(1)), np.flatnonzero(part.any(0))
        if not len(rows):
            yield None
            continue
        box = [max(x0, start + int(columns[0])), max(y0, first + int(rows[0])),
               min(x1, start + int(columns[-1]) + 1), min(y1, first + int(rows[-1]) + 1)]  # fmt: skip
        wide, high = box[2] - box[0], box[3] - box[1]
        share = int(part.sum()) / ((right - left) * (bottom - top))
        enough = wide * high >= rule.min_area and wide >= rule.min_width and high >= rule.min_height
        yield box if enough and share >= rule.min_visibility else None
