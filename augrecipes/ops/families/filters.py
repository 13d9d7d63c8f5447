"""Steps that blur or sharpen: each pixel is made of those around it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS
from augrecipes.ops.checks import Arguments, Fault, odd_kernel, spread
from augrecipes.ops.families.base import geometric, of_values
from augrecipes.ops.native_op import Draws, NativeOp, flat, params_getter, ranges

_LEAST_SIDE = 3


def _check_advanced(a: Arguments) -> Fault:
    if fault := odd_kernel(a):
        return fault
    if spread(a["sigma_x_limit"], 0)[0] == 0 and spread(a["sigma_y_limit"], 0)[0] == 0:
        return "sigma_x_limit", "sigma_x_limit and sigma_y_limit may not both start at 0"
    low, high = spread(a["beta_limit"], 0)
    return None if low < 1 < high else ("beta_limit", f"the range must include 1, got {a['beta_limit']}")


def _sides(step: Any) -> tuple[int, int]:
    low, high = (max(_LEAST_SIDE, end + (end % 2 == 0)) for end in step.blur_limit)
    return low, max(low, high)


def _box_blur(step: Any) -> NativeOp | None:
    sides, drawn = _sides(step), params_getter("kernel")
    return NativeOp(DRAWS.ODD_NUMBER, EFFECTS.BLURS, sides, drawn) if sides[1] <= LIMITS.WIDEST_BLUR else None


def _median_blur(step: Any) -> NativeOp:
    return NativeOp(DRAWS.ODD_NUMBER, EFFECTS.MEDIANS, _sides(step), params_getter("kernel"))


def _gaussian_blur(step: Any) -> NativeOp:
    from augrecipes.ops import opencv_variants

    arguments = ranges(step.sigma_limit, step.blur_limit)
    return NativeOp(DRAWS.GAUSSIAN, EFFECTS.SMOOTHS, arguments, _weights, opencv_variants.gaussian())


def _weights(params: Mapping[str, Any]) -> tuple[float, ...]:
    weights = params["kernel"]
    shown = flat(weights.astype("float32")) if len(weights) <= LIMITS.MOST_WEIGHTS else ()
    return (float(len(weights)), *shown)


def _convolution(step: Any, draw: int, arguments: tuple[float, ...], name: str, *, inside: bool = False) -> NativeOp:
    """Weights about each pixel: a square matrix among the parameters; `inside`: the outermost pixels stay."""
    from augrecipes.ops import opencv_variants

    drawn: Draws = lambda params: (float(len(params[name])), *flat(params[name]))  # noqa: E731
    effect = EFFECTS.CONVOLVES_INSIDE if inside else EFFECTS.CONVOLVES
    return NativeOp(draw, effect, arguments, drawn, (opencv_variants.sums(),))


def _saturates(amount: tuple[float, float]) -> bool:
    return max(map(abs, amount)) * LIMITS.WIDEST_BLUR > LIMITS.MOST_SATURATED


def _sharpen(step: Any) -> NativeOp | None:
    if step.method != "kernel" or _saturates(step.lightness):
        return None
    return _convolution(step, DRAWS.SHARPENING, ranges(step.alpha, step.lightness), "sharpening_matrix")


def _emboss(step: Any) -> NativeOp | None:
    if _saturates(step.strength):
        return None
    return _convolution(step, DRAWS.EMBOSSING, ranges(step.alpha, step.strength), "emboss_matrix")


def _sharpness(step: Any) -> NativeOp:
    return _convolution(step, DRAWS.SHARPNESS, ranges(step.factor), "weights", inside=True)


def _motion_blur(step: Any) -> NativeOp | None:
    sides = _sides(step)
    if sides[1] > LIMITS.WIDEST_FILTER:
        return None
    limits = (*sides, *ranges(step.angle_range, step.direction_range), float(step.allow_shifted))
    return _convolution(step, DRAWS.MOTION, limits, "kernel")


_filter = partial(of_values, grids="alike")
_blur = partial(_filter, gain=1.0)
_odd = partial(_filter, limits={"blur_limit": (3, 1001)}, rising={"blur_limit": 0}, check=odd_kernel)
_odd_blur = partial(_odd, gain=1.0)
_only_side = partial(_odd_blur, only_draws=("blur_limit",), meanings={"blur_limit": "from_three"})

RECORDS = (
    _odd_blur("AdvancedBlur", above_zero=("noise_limit", "sigma_x_limit", "sigma_y_limit"), check=_check_advanced),
    _only_side("Blur", native=_box_blur, native_when="`blur_limit` up to 15"),
    _blur("Defocus", limits={"radius": (0, 500)}),
    _blur(
        "GaussianBlur",
        only_draws=("sigma_limit", "blur_limit"),
        limits={"blur_limit": (0, 1001), "sigma_limit": (0, 250)},
        above_zero=("sigma_limit",),
        native=_gaussian_blur,
    ),
    of_values(
        "GlassBlur",
        gain=1.0,
        limits={"iterations": (1, 100), "max_delta": (1, 100), "sigma": (0.1, 100)},
        fast="glass:glass_blur",
    ),
    _only_side("MedianBlur", in_levels=True, limits={"blur_limit": (3, 255)}, native=_median_blur),
    _odd_blur("MotionBlur", native=_motion_blur, native_when="`blur_limit` up to 11"),
    _blur("ZoomBlur", limits={"max_factor": (1, 10), "step_factor": (0.001, 1_000_000)}),
    _filter("Emboss", neutral={"alpha": 0}, native=_emboss, native_when="`strength` up to 266"),
    _filter(
        "Sharpen",
        mend="pixel_mends:GreySharpen",
        neutral={"alpha": 0},
        only_draws=("alpha", "lightness"),
        native=_sharpen,
        native_when="`method` kernel; `lightness` up to 266",
    ),
    _filter("Sharpness", neutral={"factor": 1}, module="augrecipes.ops.enhance", native=_sharpness),
    _odd("UnsharpMask", neutral={"alpha": 0}, fast="unsharp:unsharp_mask"),
    _odd("RingingOvershoot", above_zero=("cutoff",)),
    geometric("Morphological", grids="alike", in_place=True, limits={"scale": (1, 1000)}),
    _filter("AugMix", channels=(1, 3), displaces=True, in_levels=True, module="augrecipes.ops.augmix"),
)
