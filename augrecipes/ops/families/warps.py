"""Steps that warp an image, by a 3×3 matrix or by a field of displacements."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS, OPTIONS
from augrecipes.ops import sizes
from augrecipes.ops.checks import Arguments, Fault, scale_above_zero, spread
from augrecipes.ops.constants import BORDER, LINEAR, NEAREST, border_word
from augrecipes.ops.families.base import numpy_normals, resampling
from augrecipes.ops.native_op import Encoder, Origin, UpTo, encoder, flat

_WARPS = "`interpolation` nearest or linear"
_SMOOTH = 4  # px: the least blur of a field that a coarse grid can represent
_AFFINE: dict[str, float] = {"scale": 1, "translate_percent": 0, "translate_px": 0, "rotate": 0, "shear": 0}


def _check_affine(a: Arguments) -> Fault:
    if a["translate_percent"] is not None and a["translate_px"] is not None:
        return "translate_px", "give translate_percent or translate_px, not both"
    for name in ("scale", "shear", "translate_percent", "translate_px"):
        value = a[name]
        if isinstance(value, Mapping) and (not value or set(value) - {"x", "y"}):
            return name, f"a mapping has the keys x and y, got {', '.join(value) or 'none'}"
    scale = a["scale"]
    axes = [scale.get(axis, 1.0) for axis in "xy"] if isinstance(scale, Mapping) else [scale, scale]
    x, y = (spread(axis) if isinstance(axis, list) else (axis, axis) for axis in axes)
    if a["keep_ratio"] and x != y:
        return "scale", "keep_ratio: true needs one scale for x and y"
    if min(x) <= 0 <= max(x) or min(y) <= 0 <= max(y):
        return "scale", f"an image of scale 0 has no size: it must stay above 0, got {scale}"
    return None


def _check_fill(a: Arguments) -> Fault:
    return ("fill_mask", "must be a number or a list of numbers, got nothing") if a["fill_mask"] is None else None


def _check_shifts(a: Arguments) -> Fault:
    for name in ("shift_limit_x", "shift_limit_y"):
        key = name if a[name] is not None else "shift_limit"
        low, high = spread(a[key])
        if not -1 <= low <= high <= 1:
            allowed = "a positive number up to 1, or a pair" if isinstance(a[key], int | float) else "a pair"
            return key, f"must be {allowed} between -1 and 1 (fractions of the image), got {a[key]}"
    return scale_above_zero(a)


def _affine(step: Any) -> tuple[Any, ...] | None:
    """The arguments of an affine draw; None: no kernel takes them."""
    ranges = (*step.scale.values(), *step.shear.values())
    if not all(isinstance(limits, tuple) for limits in ranges):
        return None
    shifts, unit = ((0, 0), (0, 0)), 0
    if step.translate_px is not None:
        shifts, unit = tuple(step.translate_px[axis] for axis in "xy"), OPTIONS.IN_PIXELS
    elif step.translate_percent is not None:
        if list(step.translate_percent) != ["x", "y"]:
            return None
        shifts, unit = tuple(step.translate_percent.values()), OPTIONS.IN_PARTS
    scales, shears = ([limits[axis] for axis in "xy"] for limits in (step.scale, step.shear))
    return step.rotate, scales, shifts, shears, unit, step.keep_ratio


def _sampling(step: Any) -> tuple[float, ...] | None:
    """The interpolation and border of a warp; None: no kernel has them."""
    fill = border_word(step.fill) if step.border_mode == BORDER["constant"] else 0
    if step.interpolation not in (NEAREST, LINEAR) or fill < 0:
        return None
    keeps_size, parts = getattr(step, "keep_size", False), getattr(step, "num_steps", 0)
    return step.border_mode, fill, keeps_size, parts, step.interpolation == NEAREST


def _is_smooth(elastic: Arguments) -> bool:
    plain = not elastic["approximate"] and elastic["noise_distribution"] == "gaussian"
    return plain and bool(elastic["sigma"] >= _SMOOTH)


def _rows(params: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(flat(params["matrix"][:2]))


def _warp(draw: int, *arguments: Origin) -> Encoder:
    return encoder(EFFECTS.WARPS, draw, arguments, _rows, [_sampling])


_by_matrix = partial(resampling, action="warp", native_note=_WARPS)
_IN_ITS_SIZE = {"fit_output": False, "balanced_scale": False}
_by_affine = partial(
    _by_matrix, native_with=_IN_ITS_SIZE, native=_warp(DRAWS.AFFINE, _affine, False),
    size=sizes.unchanged_if("fit_output", False), turns=("rotate", "shear"),
    neutral=_AFFINE, only_draws=(*_AFFINE,), check=_check_affine,
)  # fmt: skip
_by_limit = partial(_by_matrix, turns=("limit",), neutral={"limit": 0}, only_draws=("limit",))
_by_field = partial(resampling, effect="field")
_SHIFTS = {"shift_limit": 0, "shift_limit_x": 0, "shift_limit_y": 0, "scale_limit": 0, "rotate_limit": 0}

RECORDS = (
    _by_limit(
        "Rotate",
        size=sizes.unchanged_if("crop_border", False),
        native=_warp(DRAWS.ROTATION, "limit"),
        native_with={"crop_border": False},
    ),
    _by_limit("SafeRotate", check=_check_fill, native=_warp(DRAWS.SAFE_ROTATION, "limit")),
    _by_affine("Affine"),
    _by_affine("CornerAffine", module="augrecipes.ops.policy_steps", native=_warp(DRAWS.AFFINE, _affine, True)),
    _by_matrix(
        "ShiftScaleRotate",
        turns=("rotate_limit",),
        neutral=_SHIFTS,
        only_draws=(*_SHIFTS,),
        meanings=dict.fromkeys(("shift_limit_x", "shift_limit_y"), "symmetric"),
        check=_check_shifts,
        native=_warp(DRAWS.AFFINE, _affine, False),
    ),
    # Rescaled without half-pixel shifts, so that it has no exact counterpart on another grid.
    _by_matrix(
        "Perspective",
        grids="never",
        size=sizes.unchanged_if("keep_size", True),
        turns=("scale",),
        neutral={"scale": 0},
        native=encoder(
            EFFECTS.WARPS_PERSPECTIVE,
            DRAWS.PERSPECTIVE,
            ["scale", numpy_normals],
            ["matrix", "max_height", "max_width"],
            [_sampling],
        ),
        native_with={"fit_output": False},
    ),
    _by_field(
        "ElasticTransform",
        neutral={"alpha": 0},
        limits={"sigma": (0, 250)},
        fast="fields:FastElastic",
        own_noise="coarse_fields:CoarseElastic",
        when={"own_noise": _is_smooth},
    ),
    _by_field(
        "GridDistortion",
        joins_warps="always",
        neutral={"distort_limit": 0},
        limits={"distort_limit": (-1, 1), "num_steps": (1, 100)},
        native=encoder(
            EFFECTS.DISTORTS_GRID,
            DRAWS.GRID_DISTORTION,
            ["num_steps", "distort_limit", "normalized"],
            effect_arguments=[_sampling],
        ),
        native_with={"num_steps": UpTo(LIMITS.MOST_PARTS)},
        native_note=_WARPS,
    ),
    _by_field("GridElasticDeform", channels=(1, 3), limits={"num_grid_xy": (1, 100)}),
    _by_field(
        "OpticalDistortion",
        joins_warps="where it leaves fewer pixels",
        when={"action": lambda a: a.get("mode", "camera") == "camera"},
        neutral={"distort_limit": 0},
        native=encoder(EFFECTS.DISTORTS_LENS, DRAWS.LENS_DISTORTION, ["distort_limit"], effect_arguments=[_sampling]),
        native_with={"mode": "camera"},
        native_note=_WARPS,
    ),
    _by_field(
        "PiecewiseAffine",
        fast="fields:FastPiecewiseAffine",
        neutral={"scale": 0},
        limits={"nb_cols": (2, 100), "nb_rows": (2, 100)},
    ),
    _by_field("ThinPlateSpline", limits={"num_control_points": (2, 20)}),
)
