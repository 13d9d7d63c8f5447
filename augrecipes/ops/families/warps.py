"""Steps that resample an image from other places: by one 3×3 matrix, or by a field of displacements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from augrecipes.compat import normals
from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS, OPTIONS
from augrecipes.ops import sizes
from augrecipes.ops.checks import Arguments, Fault, scale_above_zero, spread
from augrecipes.ops.constants import BORDER, LINEAR, NEAREST, border_word
from augrecipes.ops.families.base import resampling
from augrecipes.ops.native_op import NO_DRAWS, Draws, NativeOp, flat, params_getter

_WARPS = "`interpolation` nearest or linear"
_SMOOTH = 4  # px that a field is blurred by; less leaves too few pixels to a cell of a coarse grid
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


def _rotation(step: Any, draw: int) -> NativeOp | None:
    return None if getattr(step, "crop_border", False) else _warp(step, draw, step.limit)


def _affine(step: Any, *, about_corner: bool = False) -> NativeOp | None:
    """An image turned, scaled, sheared and shifted, about its middle or its corner, in its own size."""
    each = (*step.scale.values(), *step.shear.values())
    if step.fit_output or step.balanced_scale or not all(isinstance(one, tuple) for one in each):
        return None
    shifts, unit = ((0, 0), (0, 0)), 0
    if step.translate_px is not None:
        shifts, unit = tuple(step.translate_px[axis] for axis in "xy"), OPTIONS.IN_PIXELS
    elif step.translate_percent is not None:
        if list(step.translate_percent) != ["x", "y"]:
            return None
        shifts, unit = tuple(step.translate_percent.values()), OPTIONS.IN_PARTS
    (scales, shears) = ([each[axis] for axis in "xy"] for each in (step.scale, step.shear))
    pairs = (step.rotate, *scales, *shifts, *shears)
    return _warp(step, DRAWS.AFFINE, (*flat(pairs), unit, step.keep_ratio, about_corner))


def _perspective(step: Any) -> NativeOp | None:
    if step.fit_output or not normals():
        return None
    drawn = params_getter("matrix", "max_height", "max_width")
    arguments = (*step.scale, normals())
    return _sampled(step, DRAWS.PERSPECTIVE, EFFECTS.WARPS_PERSPECTIVE, arguments, drawn)


def _warp(step: Any, draw: int, arguments: tuple[float, ...]) -> NativeOp | None:
    return _sampled(step, draw, EFFECTS.WARPS, arguments, lambda params: tuple(flat(params["matrix"][:2])))


def _grid(step: Any) -> NativeOp | None:
    if step.num_steps > LIMITS.MOST_PARTS:
        return None
    arguments = (step.num_steps, *step.distort_limit, step.normalized)
    return _sampled(step, DRAWS.GRID_DISTORTION, EFFECTS.DISTORTS_GRID, arguments, parts=step.num_steps)


def _lens(step: Any) -> NativeOp | None:
    if step.mode != "camera":
        return None
    return _sampled(step, DRAWS.LENS_DISTORTION, EFFECTS.DISTORTS_LENS, step.distort_limit)


def _sampled(
    step: Any, draw: int, effect: int, arguments: Iterable[float], drawn: Draws = NO_DRAWS, *, parts: int = 0
) -> NativeOp | None:
    """A warp, with how its pixels are taken, and what lies beyond them."""
    fill = border_word(step.fill) if step.border_mode == BORDER["constant"] else 0
    if step.interpolation not in (NEAREST, LINEAR) or fill < 0:
        return None
    sampling = (step.border_mode, fill, getattr(step, "keep_size", False), parts, step.interpolation == NEAREST)
    return NativeOp(draw, effect, tuple(arguments), drawn, sampling)


_by_matrix = partial(resampling, action="warp", native_when=_WARPS)
_by_affine = partial(
    _by_matrix, native_when=f"{_WARPS}; `fit_output`, `balanced_scale` false", native=_affine,
    size=sizes.kept_if("fit_output", False), turns=("rotate", "shear"),
    neutral=_AFFINE, only_draws=(*_AFFINE,), check=_check_affine,
)  # fmt: skip
_by_limit = partial(_by_matrix, turns=("limit",), neutral={"limit": 0}, only_draws=("limit",))
_by_field = partial(resampling, effect="field")
_SHIFTS = {"shift_limit": 0, "shift_limit_x": 0, "shift_limit_y": 0, "scale_limit": 0, "rotate_limit": 0}

RECORDS = (
    _by_limit(
        "Rotate",
        size=sizes.kept_if("crop_border", False),
        native=partial(_rotation, draw=DRAWS.ROTATION),
        native_when=f"{_WARPS}; `crop_border` false",
        fast="affine_draws:FastRotate",
    ),
    _by_limit("SafeRotate", check=_check_fill, native=partial(_rotation, draw=DRAWS.SAFE_ROTATION)),
    _by_affine("Affine", fast="affine_draws:FastAffine"),
    _by_affine("CornerAffine", module="augrecipes.ops.enhance", native=partial(_affine, about_corner=True)),
    _by_matrix(
        "ShiftScaleRotate",
        turns=("rotate_limit",),
        neutral=_SHIFTS,
        only_draws=(*_SHIFTS,),
        meanings=dict.fromkeys(("shift_limit_x", "shift_limit_y"), "symmetric"),
        check=_check_shifts,
        native=_affine,
        fast="affine_draws:FastAffine",
    ),
    # Rescaled by whole sizes, without the half pixel: no exact counterpart on another grid.
    _by_matrix(
        "Perspective",
        grids="never",
        size=sizes.kept_if("keep_size", True),
        turns=("scale",),
        neutral={"scale": 0},
        native=_perspective,
        native_when=f"{_WARPS}; `fit_output` false",
    ),
    _by_field(
        "ElasticTransform",
        neutral={"alpha": 0},
        limits={"sigma": (0, 250)},
        fast="elastic:FastElastic",
        own_noise="coarse_fields:CoarseElastic",
        own_noise_when=lambda a, _: (
            a["sigma"] >= _SMOOTH and not a["approximate"] and a["noise_distribution"] == "gaussian"
        ),
    ),
    _by_field(
        "GridDistortion",
        joins_warps="always",
        neutral={"distort_limit": 0},
        limits={"distort_limit": (-1, 1), "num_steps": (1, 100)},
        native=_grid,
        native_when=f"{_WARPS}; `num_steps` up to 126",
    ),
    _by_field("GridElasticDeform", channels=(1, 3), limits={"num_grid_xy": (1, 100)}),
    _by_field(
        "OpticalDistortion",
        joins_warps="where it leaves fewer pixels",
        when={"action": lambda a: a.get("mode", "camera") == "camera"},
        neutral={"distort_limit": 0},
        native=_lens,
        native_when=f"{_WARPS}; `mode` camera",
    ),
    _by_field(
        "PiecewiseAffine",
        fast="piecewise_affine:FastPiecewiseAffine",
        neutral={"scale": 0},
        limits={"nb_cols": (2, 100), "nb_rows": (2, 100)},
    ),
    _by_field("ThinPlateSpline", limits={"num_control_points": (2, 20)}),
)
