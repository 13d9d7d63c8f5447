"""Steps that move pixels: flips and quarter turns, windows, warps, distortions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.ops import output_size, sizes
from augrecipes.ops.amplify import filled, sampled
from augrecipes.ops.record import EVERYTHING, NOTHING, OpRecord

_RESIZES = "`interpolation` nearest, linear, cubic or area"
_WARPS = "`interpolation` nearest or linear"
_COVERS = "`fill` of levels"
_SMOOTH = 4  # px that a field is blurred by; less leaves too few pixels to a cell of a coarse grid

_geometric = partial(OpRecord, targets=EVERYTHING, draws_from=NOTHING, gain=1.0)
_resampling = partial(_geometric, resamples=True, gain=sampled)
_flip = partial(_geometric, action="dihedral", random=False)
_turn = partial(_geometric, action="dihedral", size=sizes.turned)
_crop = partial(_geometric, crops="anywhere", size=sizes.to_sides)
_window = partial(_crop, action="window", pixels=("height", "width"))
_padding = partial(
    _geometric, action="padding", random=False, grids="never", makes=output_size.padded, effect="padding"
)
_resized_crop = partial(_resampling, resizes="window", crops="anywhere", native_when=_RESIZES)
_scaled_window = partial(_resized_crop, action="warp", size=sizes.to_size, makes=output_size.of_size)
_train_window = partial(_scaled_window, instead="SmallestMaxSize and CenterCrop")
_resize = partial(_resampling, action="warp", resizes="whole", native_when=_RESIZES)
_scaled = partial(_resize, makes=output_size.by_scale)
_warp = partial(_resampling, action="warp", native_when=_WARPS)
_affine = partial(
    _warp, native_when=f"{_WARPS}; `fit_output`, `balanced_scale` false", native="warps:affine",
    size=sizes.kept_if("fit_output", False), makes=output_size.fitting, turns=("rotate", "shear"),
)  # fmt: skip
_field = partial(_resampling, effect="field")
_covering = partial(_geometric, gain=filled, in_place=True, hides=True)


def _pads_in_place(arguments: Mapping[str, Any]) -> bool:
    """Whether padding, if there is any, goes to a fixed side."""
    return arguments.get("position") != "random" and arguments.get("pad_position") != "random"


def _one_size(arguments: Mapping[str, Any]) -> bool:
    """Whether the size is no list to pick from."""
    return not isinstance(arguments.get("max_size"), list | tuple)


def _plain_sides(arguments: Mapping[str, Any]) -> bool:
    """Whether every side has its own number, or all have one, and so has what fills them."""
    amount = arguments.get("percent") if arguments.get("px") is None else arguments.get("px")
    fills = (arguments.get("fill"), arguments.get("fill_mask"))
    if isinstance(amount, list | tuple) and (len(amount) != 4 or not all(isinstance(n, int | float) for n in amount)):
        return False
    return not any(isinstance(fill, list | tuple) for fill in fills)


_steady_crop = partial(_crop, action="window", random=False, steady_when=_pads_in_place, makes=output_size.padded_first)
_to_side = partial(
    _scaled,
    random=False,
    steady_when=_one_size,
    pixels=("max_size", "max_size_hw"),
    native_when=f"{_RESIZES}; `max_size` of up to 30 lengths",
)

RECORDS = (
    _geometric("NoOp", "identity", random=False, native="moves:nothing"),
    # Flips, quarter turns, transposition.
    _flip("HorizontalFlip", symmetry="h", native="moves:flip"),
    _flip("VerticalFlip", symmetry="v", native="moves:flip"),
    _flip("TimeReverse", symmetry="h", native="moves:flip"),
    _flip("Transpose", symmetry="t", size=sizes.transposed, native="moves:flip"),
    _turn("RandomRotate90", instead="no step at all", native="moves:quarter_turn"),
    _turn("D4", instead="no step at all", native="moves:any_turn"),
    _turn("SquareSymmetry", native="moves:any_turn"),
    # Windows. Where one pads first, the kernel sees the padding in the drawn parameters and runs the step itself.
    _steady_crop("Crop", pixels=("x_min", "y_min", "x_max", "y_max"), size=sizes.to_box, native="borders:fixed_window"),
    _steady_crop("CenterCrop", crops="centre", pixels=("height", "width"), native="borders:centre_window"),
    _window("RandomCrop", native="borders:random_window", makes=output_size.padded_first, instead="CenterCrop"),
    _crop("RandomCropFromBorders", "window", crops="placed", size=sizes.unpredictable, native="moves:inner_window"),
    _window("AtLeastOneBBoxRandomCrop", native="moves:window_about_boxes"),
    # These read the mask's pixels, a key of their own, or may resize: opaque.
    _crop("CropNonEmptyMaskIfExists", draws_from=frozenset({"mask"}), needs="mask", fast="mask_crop:FastMaskCrop"),
    _crop("RandomCropNearBBox", crops="placed", size=sizes.unpredictable),
    _crop("BBoxSafeRandomCrop", size=sizes.unpredictable, needs="boxes", native="moves:window_about_boxes"),
    _resized_crop(
        "RandomSizedBBoxSafeCrop",
        size=sizes.to_sides,
        makes=output_size.of_sides,
        needs="boxes",
        native="moves:resized_about_boxes",
    ),
    _resampling(
        "CropAndPad",
        random=False,
        steady_when=_plain_sides,
        size=sizes.kept_if("keep_size", True),
        makes=output_size.padded_or_cut,
        effect="padding",
        native="borders:cut_or_padded",
        native_when=f"`px` or `percent` all numbers or all pairs; `fill`, `fill_mask` one number; {_RESIZES}",
    ),
    _padding("Pad", size=sizes.pad, native="borders:padding"),
    _padding("PadIfNeeded", steady_when=_pads_in_place, size=sizes.pad_to, native="borders:padding_if_needed"),
    _geometric("RandomGridShuffle"),
    # One 3×3 matrix.
    _resize(
        "Resize",
        random=False,
        pixels=("height", "width"),
        size=sizes.to_sides,
        makes=output_size.of_sides,
        native="moves:resize",
    ),
    _to_side("SmallestMaxSize", size=sizes.shorter_side, native="moves:shorter_side"),
    _to_side("LongestMaxSize", size=sizes.longer_side, native="moves:longer_side"),
    _scaled("RandomScale", size=sizes.scaled, instead="Resize", native="moves:scaled"),
    _train_window("RandomResizedCrop", pixels=("size",), native="moves:resized_crop"),
    _train_window("RandomSizedCrop", pixels=("min_max_height", "size"), native="moves:sized_crop"),
    _warp(
        "Rotate",
        native="warps:rotate",
        native_when=f"{_WARPS}; `crop_border` false",
        size=sizes.kept_if("crop_border", False),
        turns=("limit",),
    ),
    _warp("SafeRotate", turns=("limit",), native="warps:safe_rotation"),
    _affine("Affine"),
    _affine("CornerAffine"),
    _warp("ShiftScaleRotate", turns=("rotate_limit",), native="warps:affine"),
    # Rescaled by whole sizes, without the half pixel: no exact counterpart on another grid.
    _warp(
        "Perspective",
        grids="never",
        native="warps:perspective",
        native_when=f"{_WARPS}; `fit_output` false",
        size=sizes.kept_if("keep_size", True),
        makes=output_size.seen,
        turns=("scale",),
    ),
    # Dense displacement fields.
    _field(
        "ElasticTransform",
        fast="elastic:FastElastic",
        own_noise="coarse_fields:CoarseElastic",
        own_noise_when=lambda a, _: (
            a["sigma"] >= _SMOOTH and not a["approximate"] and a["noise_distribution"] == "gaussian"
        ),
    ),
    _field("GridDistortion", native="warps:grid", native_when=f"{_WARPS}; `num_steps` up to 126"),
    _field("GridElasticDeform", channels=(1, 3)),
    _field("OpticalDistortion", native="warps:lens", native_when=f"{_WARPS}; `mode` camera"),
    _field("PiecewiseAffine", fast="piecewise_affine:FastPiecewiseAffine"),
    _field("ThinPlateSpline"),
    # Inside Degrade, on one target.
    OpRecord(
        "ResizeToTarget",
        random=False,
        resamples=True,
        draws_from=NOTHING,
        resizes="target",
        makes=output_size.of_size,
        native="moves:to_target",
        native_when="`method` area, linear or cubic",
    ),
    # Neighbourhoods and holes.
    _geometric("Morphological", grids="alike", in_place=True),
    _covering("CoarseDropout", native="pixels:holes", native_when=f"{_COVERS}; `num_holes_range` up to 256"),
    _covering("ConstrainedCoarseDropout", draws_from=frozenset({"mask"})),
    _covering("Erasing", forgets={"seed": 0}),  # where it finds no place for its hole
    _covering("GridDropout", native="pixels:grid_of_holes", native_when=_COVERS),
    _covering("MaskDropout", draws_from=frozenset({"mask"}), needs="mask"),
    _geometric("PixelDropout", in_place=True, hides=True, effect="noise"),
    _covering("XYMasking"),
    _covering("TimeMasking"),
    _covering("FrequencyMasking"),
)
