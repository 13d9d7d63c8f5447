"""Steps that move pixels: flips and quarter turns, windows, warps, distortions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.ops import warps
from augrecipes.ops.amplify import filled, sampled
from augrecipes.ops.capability import EVERYTHING, NOTHING, Capability

_geometric = partial(Capability, targets=EVERYTHING, draws_from=NOTHING, gain=1.0)
_resampling = partial(_geometric, resamples=True, gain=sampled)
_scaled_window = partial(_resampling, kind="warp", windowed=True, warp=warps.resized_crop)
_covering = partial(_geometric, gain=filled)


def _pads_in_place(arguments: Mapping[str, Any]) -> bool:
    """Whether padding, if there is any, goes to a fixed side."""
    return arguments.get("position") != "random" and arguments.get("pad_position") != "random"


def _one_size(arguments: Mapping[str, Any]) -> bool:
    """Whether the size is no list to pick from."""
    return not isinstance(arguments.get("max_size"), list | tuple)


def _told_sides(arguments: Mapping[str, Any]) -> bool:
    """Whether every side has its own number, or all have one, and so has what fills them."""
    amount = arguments.get("percent") if arguments.get("px") is None else arguments.get("px")
    fills = (arguments.get("fill"), arguments.get("fill_mask"))
    if isinstance(amount, list | tuple) and (len(amount) != 4 or not all(isinstance(n, int | float) for n in amount)):
        return False
    return not any(isinstance(fill, list | tuple) for fill in fills)


CAPABILITIES = (
    _geometric("NoOp", "identity", random=False),
    # Flips, quarter turns, transposition.
    _geometric("HorizontalFlip", "dihedral", random=False),
    _geometric("VerticalFlip", "dihedral", random=False),
    _geometric("TimeReverse", "dihedral", random=False),
    _geometric("Transpose", "dihedral", random=False),
    _geometric("RandomRotate90", "dihedral"),
    _geometric("D4", "dihedral"),
    _geometric("SquareSymmetry", "dihedral"),
    # Windows. Where one pads first, the kernel sees the padding in the drawn parameters and runs the step itself.
    _geometric(
        "Crop",
        "window",
        random=False,
        steady_when=_pads_in_place,
        pixels=("x_min", "y_min", "x_max", "y_max"),
    ),
    _geometric("CenterCrop", "window", random=False, steady_when=_pads_in_place, pixels=("height", "width")),
    _geometric("RandomCrop", "window", pixels=("height", "width")),
    _geometric("RandomCropFromBorders", "window"),
    _geometric("AtLeastOneBBoxRandomCrop", "window", pixels=("height", "width")),
    # These read the mask's pixels, a key of their own, or may resize: opaque.
    _geometric("CropNonEmptyMaskIfExists", draws_from=frozenset({"mask"})),
    _geometric("RandomCropNearBBox"),
    _geometric("BBoxSafeRandomCrop"),
    _resampling("RandomSizedBBoxSafeCrop"),
    _resampling("CropAndPad", random=False, steady_when=_told_sides),
    _geometric("Pad", random=False),
    _geometric("PadIfNeeded", random=False, steady_when=_pads_in_place),
    _geometric("RandomGridShuffle"),
    # One 3×3 matrix.
    _resampling("Resize", "warp", random=False, pixels=("height", "width"), warp=warps.resize),
    _resampling(
        "SmallestMaxSize",
        "warp",
        random=False,
        steady_when=_one_size,
        pixels=("max_size", "max_size_hw"),
        warp=warps.by_scale,
    ),
    _resampling(
        "LongestMaxSize",
        "warp",
        random=False,
        steady_when=_one_size,
        pixels=("max_size", "max_size_hw"),
        warp=warps.by_scale,
    ),
    _resampling("RandomScale", "warp", warp=warps.by_scale),
    _scaled_window("RandomResizedCrop", pixels=("size",)),
    _scaled_window("RandomSizedCrop", pixels=("min_max_height", "size")),
    _resampling("Rotate", "warp", warp=warps.rotate),
    _resampling("SafeRotate", "warp", warp=warps.affine),
    _resampling("Affine", "warp", warp=warps.affine),
    _resampling("ShiftScaleRotate", "warp", warp=warps.affine),
    # Rescaled by whole sizes, without the half pixel: no exact counterpart on another grid.
    _resampling("Perspective", "warp", grids="never", warp=warps.perspective),
    # Dense displacement fields.
    _resampling("ElasticTransform"),
    _resampling("GridDistortion"),
    _resampling("GridElasticDeform", channels=(1, 3)),
    _resampling("OpticalDistortion"),
    _resampling("PiecewiseAffine"),
    _resampling("ThinPlateSpline"),
    # Inside Degrade, on one target.
    Capability("ResizeToTarget", random=False, resamples=True, draws_from=NOTHING),
    # Neighbourhoods and holes.
    _geometric("Morphological", grids="alike"),
    _covering("CoarseDropout"),
    _covering("ConstrainedCoarseDropout", draws_from=frozenset({"mask"})),
    _covering("Erasing"),
    _covering("GridDropout"),
    _covering("MaskDropout", draws_from=frozenset({"mask"})),
    _geometric("PixelDropout"),
    _covering("XYMasking"),
    _covering("TimeMasking"),
    _covering("FrequencyMasking"),
)
