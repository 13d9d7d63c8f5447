"""What lies over a picture, for the page to draw: boxes and points as numbers, masks as see-through pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.overlay import colour_of, corners_px, label_colour, render_mask
from augrecipes.recipe.model import Recipe
from augrecipes.studio.pictures import Pictures

_MOST = 2_000  # boxes and points of one picture


def overlay_of(
    targets: Mapping[str, Any],
    recipe: Recipe,
    size: tuple[int, int],
    pictures: Pictures,
    *,
    shown: int,
    classes: Sequence[str] = (),
) -> dict[str, Any]:
    """Boxes [x0, y0, x1, y1] and points [x, y] in px of the picture, with names and colours; a mask as its address.

    Args:
        targets: of a sample, as it was read or as it came out.
        recipe: says how they are written.
        size: height and width of the picture, px.
        pictures: where the mask goes.
        shown: the longer side of what is shown, px; 0: as large as it is.
        classes: names of the boxes' labels.
    """
    inputs = recipe.inputs
    found: dict[str, Any] = {}
    boxes, points, mask = targets.get("boxes"), targets.get("keypoints"), targets.get("mask")
    if boxes is not None and inputs.boxes is not None:
        corners = corners_px(np.asarray(boxes)[:_MOST], inputs.boxes.format, *size)
        labels = list(targets.get(inputs.boxes.labels or "", ()))[: len(corners)]
        labels += [""] * (len(corners) - len(labels))
        found["boxes"] = _numbers(corners)
        found["labels"] = [_named(label, classes) for label in labels]
        found["colours"] = [list(label_colour(label)) for label in labels]
    if points is not None and inputs.keypoints is not None:
        xy = np.asarray(points, np.float32).reshape(len(points), -1)[:_MOST, :2]
        xy = xy[:, ::-1] if inputs.keypoints.format == "yx" else xy
        found["keypoints"] = _numbers(xy)
        found["point_colours"] = [list(colour_of(number)) for number in range(1, len(xy) + 1)]
    if mask is not None and np.asarray(mask).ndim >= 2:
        found["mask"] = pictures.put(_coloured(np.asarray(mask), size), shown)["url"]
    return found


def _coloured(mask: NDArray[Any], size: tuple[int, int]) -> NDArray[np.uint8]:
    """The mask's ids in their colours, clear where they say nothing: RGBA.

    What is drawn over black and over white tells how see-through it is.
    """
    over = [np.full((*size, 3), level, np.uint8) for level in (0, 255)]
    for picture in over:
        render_mask(picture, mask if mask.ndim == 2 else mask[..., 0])
    black, white = (picture.astype(np.float32) for picture in over)
    alpha = np.clip(255 - (white - black).mean(axis=2, keepdims=True), 0, 255)
    colour = np.divide(black * 255, alpha, out=np.zeros_like(black), where=alpha > 0)
    return np.rint(np.clip(np.concatenate([colour, alpha], axis=2), 0, 255)).astype(np.uint8)


def _numbers(values: NDArray[Any]) -> list[list[float]]:
    return [[round(float(value), 2) for value in row] for row in np.nan_to_num(values)]


def _named(label: Any, classes: Sequence[str]) -> str:
    if isinstance(label, int | np.integer | float | np.floating):
        number = int(label)
        return str(classes[number]) if 0 <= number < len(classes) else str(number)
    return str(label)
