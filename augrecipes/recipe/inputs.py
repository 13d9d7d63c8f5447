"""The inputs that a recipe declares: the image, and masks, boxes and keypoints on it."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from augrecipes.flow import Dtype
from augrecipes.ops.step import OMIT_EMPTY, Arguments

Presence = Literal["absent", "optional", "required"]
# The dtype for each value of `depth:`.
DEPTHS: dict[Any, Dtype] = {8: "uint8", 16: "uint16", "float32": "float32"}
# The largest value of images, by dtype.
RANGES: dict[str, float] = {"uint8": 255.0, "uint16": 65535.0, "float32": 1.0}
OF_IMAGES = ("channels", "depth", "range", "nodata", "icc")  # keys of `image:` that may stand in `inputs:`


@dataclass(frozen=True, slots=True)
class Boxes:
    """The format of bounding boxes; fields as in albumentations' BboxParams.

    Attributes:
        format: `pascal_voc`, `coco`, `yolo` or `albumentations`.
        labels: the sample's key with one label per box; None: boxes have no labels.
        min_area: boxes smaller than this after a step are dropped, px².
        min_visibility: boxes of which less than this fraction is left are dropped, 0..1.
        min_width: narrower boxes are dropped, px.
        min_height: lower boxes are dropped, px.
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
    """The format of keypoints.

    Attributes:
        format: `xy`, `yx`, `xya`, `xys`, `xyas`, `xysa` or `xyz`.
        labels: the sample's key with one label per point; None: points have no labels.
        remove_invisible: drop points that leave the image.
        presence: whether a sample must have keypoints.
        of: `boxes`: points belong to boxes, and are dropped with their box; None: they do not.
        flip_pairs: pairs that a mirror exchanges, as positions of points in their object or as labels; None: no pairs.
    """

    format: str = "xy"
    labels: str | None = None
    remove_invisible: bool = True
    presence: Presence = "optional"
    of: str | None = field(default=None, metadata=OMIT_EMPTY)
    flip_pairs: tuple[tuple[Any, Any], ...] | None = field(default=None, metadata=OMIT_EMPTY)


@dataclass(frozen=True, slots=True)
class MaskLabels:
    """The labels of a mask's stored values, by a table or by a threshold.

    Attributes:
        values: pairs of stored value and label; other values are labels already.
        threshold: values from this on are label 1, smaller ones 0; None: use `values`.
    """

    values: tuple[tuple[int, int], ...] = ()
    threshold: float | None = None

    def written(self) -> dict[str, Any]:
        """The recipe's keys and values for it."""
        return {"values": dict(self.values)} if self.threshold is None else {"threshold": self.threshold}


@dataclass(frozen=True, slots=True)
class Bands:
    """The channels of images as they arrive, and those that steps see.

    Attributes:
        count: number of channels of an image as it arrives.
        names: their names in order; empty: they have only numbers.
        take: numbers of the channels that steps see, in this order; empty: all.
        show: which of the channels that steps see pictures show: one as grey, three as RGB; empty: not set.
    """

    count: int
    names: tuple[str, ...] = ()
    take: tuple[int, ...] = ()
    show: tuple[int, ...] = field(default=(), compare=False)

    @property
    def seen(self) -> "Bands":
        """The channels behind `take`, of images that have only these.

        >>> Bands(4, ("r", "g", "b", "nir"), (3, 0)).seen.names
        ('nir', 'r')
        """
        names = tuple(self.names[number] for number in self.take) if self.names else ()
        return Bands(len(self.take), names, show=self.show) if self.take else self

    def written(self) -> dict[str, Any]:
        """The recipe's keys and values for it."""
        take: tuple[Any, ...] = self.seen.names or self.take
        channels = {"names": list(self.names)} if self.names else {"count": self.count}
        return channels | ({"take": list(take)} if self.take else {})


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a recipe declares of its samples, and checks before the first step.

    Attributes:
        channels: channels of the image as steps see it; None: any number (Datasets decode to 3).
        dtype: dtype of the image, by `depth`; None: uint8 or float32, files are uint8.
        range: the values of black and white of a deep image; None: the whole range of its dtype.
        nodata: the number, or `nan`, that all channels of a pixel without data hold; None: every pixel has data.
        min_size: smallest (height, width) in px, for pairs of the coarsest target; None: any.
        stack: `frames`: a sample is a stack of frames of one scene under `images`; None: it is one image.
        mask: whether a sample has a mask.
        boxes: format of the boxes; None: a sample may not have boxes.
        keypoints: format of the keypoints; None: a sample may not have keypoints.
        mask_labels: labels of the stored values of masks; None: stored values are labels.
        targets: further images of the scene by name; see `augrecipes.recipe.targets`.
        bands: names of the channels, and which of them steps see; None: not declared.
        icc: `srgb`: convert files from their colour profiles to sRGB; None: keep their values.
        real: by target of a pair that a Degrade makes, the share of samples that use the target's own file, if any.
    """

    channels: int | None = None
    dtype: Dtype | None = field(default=None, metadata=OMIT_EMPTY)
    range: tuple[float, float] | None = field(default=None, metadata=OMIT_EMPTY)
    nodata: float | Literal["nan"] | None = field(default=None, metadata=OMIT_EMPTY)
    min_size: tuple[int, int] | None = None
    stack: str | None = field(default=None, metadata=OMIT_EMPTY)
    mask: Presence = "optional"
    boxes: Boxes | None = None
    keypoints: Keypoints | None = None
    mask_labels: MaskLabels | None = field(default=None, metadata=OMIT_EMPTY)
    targets: Arguments = field(default_factory=Arguments, metadata=OMIT_EMPTY)
    bands: Bands | None = field(default=None, metadata=OMIT_EMPTY)
    icc: Literal["srgb"] | None = field(default=None, metadata=OMIT_EMPTY)
    real: Arguments = field(default_factory=Arguments, metadata=OMIT_EMPTY)

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the channels that steps see; empty where they have only numbers."""
        return self.bands.seen.names if self.bands else ()

    @property
    def stored_channels(self) -> int | None:
        """Number of channels of images as they arrive; None: any."""
        return self.bands.count if self.bands else self.channels

    @property
    def takes_channels(self) -> bool:
        """Whether steps see other channels than images arrive with, or in another order."""
        return self.bands is not None and bool(self.bands.take)

    @property
    def behind_take(self) -> "Inputs":
        """The same for images that have only the channels that steps see."""
        return replace(self, bands=self.bands and self.bands.seen)

    @property
    def is_deep(self) -> bool:
        """Whether images have 16 bits, a range of their own or missing data, so that uint8 kernels cannot take them."""
        return self.dtype == "uint16" or self.range is not None or self.nodata is not None

    @property
    def why_not_native(self) -> str:
        """Why no kernel takes the images, in words; empty where kernels may.

        >>> Inputs(dtype="uint16").why_not_native, Inputs().why_not_native
        ('16 bits: no kernel takes them', '')
        """
        nodata = "" if self.nodata is None else "pixels without data"
        what = {"uint16": "16 bits", "float32": "floats"}.get(self.dtype or "", nodata)
        return f"{what}: no kernel takes them" if what else ""

    @property
    def deep_dtype(self) -> Dtype | None:
        """The dtype of deep images; None: images are uint8."""
        return None if self.dtype == "uint8" else self.dtype

    @property
    def full_range(self) -> tuple[float, float]:
        """The values that become 0 and 1 in the output.

        >>> Inputs(dtype="uint16").full_range
        (0.0, 65535.0)
        """
        return self.range or (0.0, RANGES[self.dtype or "uint8"])

    @property
    def presence(self) -> dict[str, Presence]:
        """Whether a sample has a mask, boxes and keypoints."""
        points = {"boxes": self.boxes, "keypoints": self.keypoints}
        return {"mask": self.mask} | {name: point.presence if point else "absent" for name, point in points.items()}

    @property
    def taken(self) -> frozenset[str]:
        """Which of mask, boxes and keypoints a sample may have."""
        return frozenset(name for name, presence in self.presence.items() if presence != "absent")

    @property
    def row_keys(self) -> frozenset[str]:
        """The sample's keys with a row per box or keypoint."""
        masks = set() if self.stack else {"masks"}  # in a stack they belong to the frames
        boxes = {"boxes", "object", self.boxes.labels, *masks} if self.boxes else set()
        points = {"keypoints", "keypoint_object", "keypoint_number", self.keypoints.labels} if self.keypoints else set()
        return frozenset(key for key in boxes | points if key is not None)
