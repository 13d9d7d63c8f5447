"""Whether an image, and the boxes and keypoints on it, fit a recipe: by its header, and by the pipeline's own rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.images.format import Depth, Frames, ImageHeader, lost
from augrecipes.images.reading import MaybeHeader
from augrecipes.ops import registry
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Boxes, Inputs, Keypoints, Mode, Recipe, Step
from augrecipes.sources.files import MAX_PIXELS

Size = tuple[int, int]  # height, width
Least = Sequence[tuple[Size, str]]  # in common cells, and who asks for that
_SIDES = ("left", "top", "right", "bottom")
_TURNED = 5  # EXIF orientations from here on exchange height and width


def size_text(size: Size) -> str:
    """A size as people say it, width first.

    >>> size_text((300, 451))
    '451×300'
    """
    return f"{size[1]}×{size[0]}"


def upright(header: ImageHeader, exif: str) -> Size:
    """(height, width) as the image is read."""
    size = (header.height, header.width)
    return size[::-1] if exif == "apply" and header.orientation >= _TURNED else size


def why_unreadable(
    header: MaybeHeader,
    *,
    max_pixels: int = MAX_PIXELS,
    depth: Depth | None = None,
    frames: Frames | None = None,
    mask: bool = False,
) -> str:
    """Why a file of this header cannot be read; empty where it can."""
    if isinstance(header, str):
        return header
    pixels = header.width * header.height
    if pixels > max_pixels:
        return f"{pixels:,} pixels are more than the limit of {max_pixels:,}"
    return lost(header, depth, frames, mask=mask)


def least_sizes(recipe: Recipe, mode: Mode, units: Mapping[str, int]) -> Least:
    """What the recipe's inputs and its first crop need, in common cells of so many pixels a target, and who asks."""
    found: list[tuple[Size, str]] = []
    if least := recipe.inputs.min_size:  # of the coarsest target
        coarsest = min(units.values())
        found.append(((-(-least[0] // coarsest), -(-least[1] // coarsest)), "the recipe's inputs ask for"))
    if crop := _first_crop(recipe.section(mode) or (), units):
        found.append(crop)
    return found


def _first_crop(steps: Sequence[Step], units: Mapping[str, int]) -> tuple[Size, str] | None:
    """What the crop in front needs; None where something else comes first, or the crop pads."""
    for step in steps:
        if step.target and len(step.target) < len(units):
            continue  # the steps of one target leave its size alone
        if not claims(step.name).cuts_sides:
            return None
        values = registry.effective(step)
        if values.get("pad_if_needed") or values["p"] < 1:
            return None
        at = units[step.at or min(units, key=lambda name: units[name])]
        return (-(-values["height"] // at), -(-values["width"] // at)), f"{step.site or step.name} needs"
    return None


def too_small(cells: Size, least: Least, units: Mapping[str, int]) -> str:
    """Who needs more common cells than there are, and what; empty where nobody does.

    >>> too_small((30, 40), [((32, 32), "RandomCrop#1 needs")], {"lr": 1, "hr": 4})
    'RandomCrop#1 needs 32×32 of lr and 128×128 of hr'
    """
    for (rows, columns), who in least:
        if cells[0] < rows or cells[1] < columns:
            sizes = {name: size_text((rows * unit, columns * unit)) for name, unit in units.items()}
            return f"{who} {' and '.join(f'{size} of {name}' if name else size for name, size in sizes.items())}"
    return ""


def wrong_points(
    inputs: Inputs, size: Size, boxes: npt.NDArray[np.float32] | None, keypoints: npt.NDArray[np.float32] | None
) -> Iterator[tuple[str, str]]:
    """Boxes and keypoints that a recipe would refuse on a image of this size: their kind, and which and why."""
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
        height: of the image, px.
        width: of the image, px.

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
    """Left, top, right and bottom as shares of the image, or of the image of each."""
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
