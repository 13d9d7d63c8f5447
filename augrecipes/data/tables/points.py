"""Whether boxes and keypoints lie where the pipeline takes them: on their picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.data.tables.sizes import Size
from augrecipes.recipe.model import Boxes, Inputs, Keypoints

_SIDES = ("left", "top", "right", "bottom")


def wrong_points(
    inputs: Inputs, size: Size, boxes: npt.NDArray[np.float32] | None, keypoints: npt.NDArray[np.float32] | None
) -> Iterator[tuple[str, str]]:
    """Boxes and keypoints that a recipe would refuse on a picture of this size: their kind, and which and why."""
    looks: list[tuple[str, Any, Any, Callable[..., Iterator[tuple[int, str]]]]] = [
        ("box", boxes, inputs.boxes, wrong_boxes), ("keypoint", keypoints, inputs.keypoints, wrong_keypoints),
    ]  # fmt: skip
    for kind, rows, declared, look in looks:
        for k, why in look(rows, declared, *size) if rows is not None and declared is not None else ():
            yield kind, f"{kind} {k + 1}, [{', '.join(f'{value:g}' for value in rows[k])}]: {why}"


def wrong_boxes(
    boxes: npt.NDArray[np.float32], declared: Boxes, height: int, width: int
) -> Iterator[tuple[int, str]]:  # fmt: skip
    """Positions of the boxes that a recipe would refuse, and why; its own rules, sample by sample.

    Args:
        boxes: (n, 4) in the declared format.
        declared: the recipe's `inputs.boxes`.
        height: of the picture, px.
        width: of the picture, px.

    >>> list(wrong_boxes(np.array([[0, 0, 9, 9], [5, 5, 30, 8]], np.float32), Boxes(), 10, 20))
    [(1, 'its right side lies outside')]
    """
    with np.errstate(all="ignore"):
        corners = corners_of(boxes, declared.format, height, width)
        if declared.clip:
            corners = np.clip(corners, 0, 1)
        outside = ~((corners >= 0) & (corners <= 1) | np.isclose(corners, 0) | np.isclose(corners, 1))
        empty = corners[:, 2:] <= corners[:, :2]
    for k in range(len(boxes)):
        if not np.isfinite(boxes[k]).all():
            yield k, "it holds a number that is not finite"
        elif empty[k].any():
            yield k, f"it has no {'width' if empty[k][0] else 'height'}"
        elif outside[k].any():
            sides = [side for side, out in zip(_SIDES, outside[k], strict=True) if out]
            yield k, f"its {' and '.join(sides)} side{'s lie' if len(sides) > 1 else ' lies'} outside"


def corners_of(boxes: npt.NDArray[np.float32], format: str, height: Any, width: Any) -> npt.NDArray[Any]:
    """Left, top, right and bottom as shares of the picture, or of the picture of each."""
    if format == "yolo":
        centre, size = boxes[:, :2], boxes[:, 2:]
        return np.hstack([centre - size / 2, centre + size / 2])
    corners = np.hstack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]]) if format == "coco" else boxes
    if format == "albumentations":
        return corners
    return np.asarray(corners / np.array([width, height, width, height], np.float32).T)


def wrong_keypoints(
    points: npt.NDArray[np.float32], declared: Keypoints, height: int, width: int
) -> Iterator[tuple[int, str]]:  # fmt: skip
    """Positions of the keypoints (n, 2 or more) that a recipe would refuse, and why.

    >>> list(wrong_keypoints(np.array([[5, 5], [5, 12]], np.float32), Keypoints(), 10, 20))
    [(1, 'it lies outside')]
    """
    if not declared.remove_invisible:
        return
    first, second = points[:, :2].T
    x, y = (second, first) if declared.format == "yx" else (first, second)
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    yield from ((k, "it lies outside") for k in np.flatnonzero(~inside).tolist())
