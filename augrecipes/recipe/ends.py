"""What a recipe says of samples before its first step and behind its last one, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Presence = Literal["absent", "optional", "required"]


@dataclass(frozen=True, slots=True)
class Boxes:
    """How bounding boxes arrive. Fields are albumentations' BboxParams of the same names.

    Attributes:
        format: `pascal_voc`, `coco`, `yolo` or `albumentations`.
        labels: name of the key that holds one label a box, or None.
        min_area: boxes smaller than this after a step are dropped, px².
        min_visibility: boxes of which less than this fraction is left are dropped, 0..1.
        min_width: px.
        min_height: px.
        clip: clip boxes to the image before the first step.
        presence: whether a sample must have boxes.
    """

    format: str = "pascal_voc"
    labels: str | None = "box_labels"
    min_area: float = 0.0
    min_visibility: float = 0.0
    min_width: float = 0.0
    min_height: float = 0.0
    clip: bool = False
    presence: Presence = "optional"


@dataclass(frozen=True, slots=True)
class Keypoints:
    """How keypoints arrive.

    Attributes:
        format: `xy`, `yx`, `xya`, `xys`, `xyas`, `xysa` or `xyz`.
        labels: name of the key that holds one label a point, or None.
        remove_invisible: drop points that leave the image.
        presence: whether a sample must have keypoints.
    """

    format: str = "xy"
    labels: str | None = None
    remove_invisible: bool = True
    presence: Presence = "optional"


@dataclass(frozen=True, slots=True)
class Inputs:
    """What arrives at the first step.

    Attributes:
        channels: of the image; None: whatever is given (Datasets decode to 3).
        min_size: smallest (height, width) in px, or None; of a pair's coarsest target, whose grid ties the others.
        mask: whether a sample has a mask.
        boxes: None: a sample may not have boxes.
        keypoints: None: a sample may not have keypoints.
    """

    channels: int | None = None
    min_size: tuple[int, int] | None = None
    mask: Presence = "optional"
    boxes: Boxes | None = None
    keypoints: Keypoints | None = None


@dataclass(frozen=True, slots=True)
class Normalize:
    """Mean and standard deviation of values in 0..1, one number or one a channel each."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """What leaves the last step.

    Attributes:
        dtype: `float32`, `float16` or `uint8`.
        layout: `chw` or `hwc`.
        normalize: None: scaled to `range` instead.
        range: what 0 and full scale become without `normalize`.
        color: `rgb`, `bgr`, `y` (BT.601 luma, 16..235) or `gray`.
        where: `host`, or `device`: uint8 leaves the loader and a module on the device does the rest.
    """

    dtype: str = "float32"
    layout: str = "chw"
    normalize: Normalize | None = None
    range: tuple[float, float] = (0.0, 1.0)
    color: str = "rgb"
    where: str = "host"


@dataclass(frozen=True, slots=True)
class Bag:
    """How the tiles of a bag are picked: at most `max_tiles`, at least `min_tiles`, `random | first | stride`."""

    max_tiles: int | None = None
    min_tiles: int = 1
    pick: str = "random"
