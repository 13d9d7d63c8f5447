"""What a recipe says of samples before its first step: the image, and what lies on it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from augrecipes.flow import Dtype
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.step import UNSAID

Presence = Literal["absent", "optional", "required"]
# What `depth:` says of the dtype.
DEPTHS: dict[Any, Dtype] = {8: "uint8", 16: "uint16", "float32": "float32"}
# The largest value of images, by dtype.
RANGES: dict[str, float] = {"uint8": 255.0, "uint16": 65535.0, "float32": 1.0}
OF_IMAGES = ("channels", "depth", "range", "nodata", "icc")  # keys of `image:` that may stand in `inputs:`


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
        of: `boxes`: points belong to boxes, and those of a box that is dropped are dropped, too.
        flip_pairs: places of points in their object, or labels, that a mirror exchanges; None: nobody says.
    """

    format: str = "xy"
    labels: str | None = None
    remove_invisible: bool = True
    presence: Presence = "optional"
    of: str | None = field(default=None, metadata=UNSAID)
    flip_pairs: tuple[tuple[Any, Any], ...] | None = field(default=None, metadata=UNSAID)


@dataclass(frozen=True, slots=True)
class MaskLabels:
    """Which label each stored value of a mask stands for: by a table, or on which side of a threshold it lies.

    Attributes:
        values: stored values and their labels; other values are labels already.
        threshold: stored values from here on are label 1, those below are label 0; None: `values` says it.
    """

    values: tuple[tuple[int, int], ...] = ()
    threshold: float | None = None

    def written(self) -> dict[str, Any]:
        """The keys of a recipe that say it."""
        return {"values": dict(self.values)} if self.threshold is None else {"threshold": self.threshold}


@dataclass(frozen=True, slots=True)
class Bands:
    """The channels that images arrive with, and those of them that steps see.

    Attributes:
        count: of all.
        names: of all, in order; empty: they have numbers alone.
        take: numbers of those that steps see, in their order; empty: all, as they are.
        show: of those that steps see, numbers of one that is shown as grey, or of three as colours; empty: nobody says.
    """

    count: int
    names: tuple[str, ...] = ()
    take: tuple[int, ...] = ()
    show: tuple[int, ...] = field(default=(), compare=False)

    @property
    def seen(self) -> Bands:
        """Those that steps see, of images of which they have been taken.

        >>> Bands(4, ("r", "g", "b", "nir"), (3, 0)).seen.names
        ('nir', 'r')
        """
        names = tuple(self.names[number] for number in self.take) if self.names else ()
        return Bands(len(self.take), names, show=self.show) if self.take else self

    def written(self) -> dict[str, Any]:
        """The keys of a recipe that say it."""
        take: tuple[Any, ...] = self.seen.names or self.take
        said = {"names": list(self.names)} if self.names else {"count": self.count}
        return said | ({"take": list(take)} if self.take else {})


@dataclass(frozen=True, slots=True)
class Inputs:
    """What arrives at the first step.

    Attributes:
        channels: of the image, as steps see it; None: whatever is given (Datasets decode to 3).
        dtype: of the image, which `depth` says; None: whatever is given. Files are uint8.
        range: the values that are full black and full white of a deep image; None: the whole range of its dtype.
        nodata: what all channels of a pixel hold of which nothing is known; `nan`; None: every pixel counts.
        min_size: smallest (height, width) in px, or None; of a pair's coarsest target, whose grid ties the others.
        stack: `frames`: a sample is a stack of frames under `images`, of one scene; None: it is one image.
        mask: whether a sample has a mask.
        boxes: None: a sample may not have boxes.
        keypoints: None: a sample may not have keypoints.
        mask_labels: what the stored values of masks stand for; None: they are labels.
        targets: further images of the scene, by name; see `augrecipes.recipe.targets`.
        bands: what the channels of images are called, and which of them steps see; None: nothing is said.
        icc: `srgb`: values of files are converted from their colour profiles; None: they are taken as they are.
        real: by target of a pair that a Degrade makes, the share of samples that take its file where there is one.
    """

    channels: int | None = None
    dtype: Dtype | None = field(default=None, metadata=UNSAID)
    range: tuple[float, float] | None = field(default=None, metadata=UNSAID)
    nodata: float | Literal["nan"] | None = field(default=None, metadata=UNSAID)
    min_size: tuple[int, int] | None = None
    stack: str | None = field(default=None, metadata=UNSAID)
    mask: Presence = "optional"
    boxes: Boxes | None = None
    keypoints: Keypoints | None = None
    mask_labels: MaskLabels | None = field(default=None, metadata=UNSAID)
    targets: Arguments = field(default_factory=Arguments, metadata=UNSAID)
    bands: Bands | None = field(default=None, metadata=UNSAID)
    icc: Literal["srgb"] | None = field(default=None, metadata=UNSAID)
    real: Arguments = field(default_factory=Arguments, metadata=UNSAID)

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Of the image, as steps see it; empty where channels have numbers alone."""
        return self.bands.seen.names if self.bands else ()

    @property
    def stored_channels(self) -> int | None:
        """Of images as they arrive; None: whatever is given."""
        return self.bands.count if self.bands else self.channels

    @property
    def takes_channels(self) -> bool:
        """Whether steps see other channels than images arrive with, or in another order."""
        return self.bands is not None and bool(self.bands.take)

    @property
    def behind_take(self) -> Inputs:
        """Of images of which the channels that steps see have been taken."""
        return replace(self, bands=self.bands and self.bands.seen)

    @property
    def is_deep(self) -> bool:
        """Whether kernels of uint8 cannot take the image: 16 bits, a range of its own, pixels of no data."""
        return self.dtype == "uint16" or self.range is not None or self.nodata is not None

    @property
    def why_not_native(self) -> str:
        """Why steps run one by one in albumentations' way, in words; empty where kernels may take the image.

        >>> Inputs(dtype="uint16").why_not_native, Inputs().why_not_native
        ('16 bits: no kernel takes them', '')
        """
        nodata = "" if self.nodata is None else "pixels of no data"
        what = {"uint16": "16 bits", "float32": "floats"}.get(self.dtype or "", nodata)
        return f"{what}: no kernel takes them" if what else ""

    @property
    def deep_dtype(self) -> Dtype | None:
        """The dtype of images whose values are their own until the output; None: they are levels of uint8."""
        return None if self.dtype == "uint8" else self.dtype

    @property
    def full_range(self) -> tuple[float, float]:
        """The values that leave as 0 and 1.

        >>> Inputs(dtype="uint16").full_range
        (0.0, 65535.0)
        """
        return self.range or (0.0, RANGES[self.dtype or "uint8"])

    @property
    def presence(self) -> dict[str, Presence]:
        """Whether a sample has a mask, boxes and keypoints."""
        points = {"boxes": self.boxes, "keypoints": self.keypoints}
        return {"mask": self.mask} | {name: said.presence if said else "absent" for name, said in points.items()}

    @property
    def taken(self) -> frozenset[str]:
        """Which of mask, boxes and keypoints a sample may have."""
        return frozenset(name for name, presence in self.presence.items() if presence != "absent")

    @property
    def row_keys(self) -> frozenset[str]:
        """Keys of a sample that have a row for each box or keypoint."""
        masks = set() if self.stack else {"masks"}  # those of a stack are the frames'
        boxes = {"boxes", "object", self.boxes.labels, *masks} if self.boxes else set()
        points = {"keypoints", "keypoint_object", "keypoint_number", self.keypoints.labels} if self.keypoints else set()
        return frozenset(key for key in boxes | points if key is not None)
