"""Steps that move pixels: flips and quarter turns, windows, warps, distortions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.ops import warps
from augrecipes.ops.capability import EVERYTHING, Capability

_geometric = partial(Capability, targets=EVERYTHING)
_scaled_window = partial(_geometric, kind="warp", resamples=True, windowed=True, warp=warps.resized_crop)


def _pads_in_place(arguments: Mapping[str, Any]) -> bool:
    """Whether padding, if there is any, goes to a fixed side."""
    return arguments.get("position") != "random" and arguments.get("pad_position") != "random"


def _one_size(arguments: Mapping[str, Any]) -> bool:
    """Whether the size is no list to pick from."""
    return not isinstance(arguments.get("max_size"), list | tuple)


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
    _geometric("CropNonEmptyMaskIfExists"),
    _geometric("RandomCropNearBBox"),
    _geometric("BBoxSafeRandomCrop"),
    _geometric("RandomSizedBBoxSafeCrop", resamples=True),
    _geometric("CropAndPad", resamples=True),
    _geometric("Pad", random=False),
    _geometric("PadIfNeeded", random=False, steady_when=_pads_in_place),
    _geometric("RandomGridShuffle"),
    # One 3×3 matrix.
    _geometric("Resize", "warp", random=False, resamples=True, pixels=("height", "width"), warp=warps.resize),
    _geometric(
        "SmallestMaxSize",
        "warp",
        random=False,
        steady_when=_one_size,
        resamples=True,
        pixels=("max_size", "max_size_hw"),
        warp=warps.by_scale,
    ),
    _geometric(
        "LongestMaxSize",
        "warp",
        random=False,
        steady_when=_one_size,
        resamples=True,
        pixels=("max_size", "max_size_hw"),
        warp=warps.by_scale,
    ),
    _geometric("RandomScale", "warp", resamples=True, warp=warps.by_scale),
    _scaled_window("RandomResizedCrop", pixels=("size",)),
    _scaled_window("RandomSizedCrop", pixels=("min_max_height", "size")),
    _geometric("Rotate", "warp", resamples=True, warp=warps.rotate),
    _geometric("SafeRotate", "warp", resamples=True, warp=warps.affine),
    _geometric("Affine", "warp", resamples=True, warp=warps.affine),
    _geometric("ShiftScaleRotate", "warp", resamples=True, warp=warps.affine),
    # Rescaled by whole sizes, without the half pixel: no exact counterpart on another grid.
    _geometric("Perspective", "warp", resamples=True, grids="never", warp=warps.perspective),
    # Dense displacement fields.
    _geometric("ElasticTransform", resamples=True),
    _geometric("GridDistortion", resamples=True),
    _geometric("GridElasticDeform", resamples=True, channels=(1, 3)),
    _geometric("OpticalDistortion", resamples=True),
    _geometric("PiecewiseAffine", resamples=True),
    _geometric("ThinPlateSpline", resamples=True),
    # Inside Degrade, on one target.
    Capability("ResizeToTarget", random=False, resamples=True),
    # Neighbourhoods and holes.
    _geometric("Morphological", grids="alike"),
    _geometric("CoarseDropout"),
    _geometric("ConstrainedCoarseDropout"),
    _geometric("Erasing"),
    _geometric("GridDropout"),
    _geometric("MaskDropout"),
    _geometric("PixelDropout"),
    _geometric("XYMasking"),
    _geometric("TimeMasking"),
    _geometric("FrequencyMasking"),
)
