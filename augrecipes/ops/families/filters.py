"""Steps that blur or sharpen: each output pixel depends on its neighbourhood."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS
from augrecipes.ops.checks import kernel_shapes, odd_kernel
from augrecipes.ops.families.base import geometric, of_values, opencv
from augrecipes.ops.native_op import Draws, Encoder, Origin, UpTo, encoder, flat

_LEAST_SIDE = 3


def _sides(step: Any) -> tuple[int, int]:
    low, high = (max(_LEAST_SIDE, end + (end % 2 == 0)) for end in step.blur_limit)
    return low, max(low, high)


def _filter_sides(step: Any) -> tuple[int, int] | None:
    """The sides of a kernel; None if OpenCV applies it by a Fourier transform, which rounds otherwise."""
    return _sides(step) if _sides(step)[1] <= opencv("widest_filter")(step) else None


def _weights(params: Mapping[str, Any]) -> tuple[float, ...]:
    weights = params["kernel"]
    values = flat(weights.astype("float32")) if len(weights) <= LIMITS.MOST_WEIGHTS else ()
    return (float(len(weights)), *values)


def _convolution(draw: int, arguments: Iterable[Origin], name: str, *, inside: bool = False) -> Encoder:
    """The encoder of a convolution by the square matrix in parameter `name`; `inside`: the outermost pixels stay."""
    effect = EFFECTS.CONVOLVES_INSIDE if inside else EFFECTS.CONVOLVES
    draws: Draws = lambda params: (float(len(params[name])), *flat(params[name]))  # noqa: E731
    return encoder(effect, draw, arguments, draws, [opencv("filters")])


_UNSATURATED = UpTo(LIMITS.MOST_SATURATED // LIMITS.WIDEST_BLUR)
_filter = partial(of_values, grids="alike")
_blur = partial(_filter, gain=1.0)
_odd = partial(_filter, limits={"blur_limit": (3, 1001)}, rising={"blur_limit": 0}, check=odd_kernel)
_odd_blur = partial(_odd, gain=1.0)
_only_side = partial(_odd_blur, only_draws=("blur_limit",), meanings={"blur_limit": "from_three"})

RECORDS = (
    _odd_blur("AdvancedBlur", above_zero=("noise_limit", "sigma_x_limit", "sigma_y_limit"), asks=True),
    _only_side(
        "Blur",
        native=encoder(EFFECTS.BLURS, DRAWS.ODD_NUMBER, [_sides], ["kernel"]),
        native_with={"blur_limit": UpTo(LIMITS.WIDEST_BLUR)},
    ),
    _blur("Defocus", limits={"radius": (0, 500)}),
    _blur(
        "GaussianBlur",
        only_draws=("sigma_limit", "blur_limit"),
        limits={"blur_limit": (0, 1001), "sigma_limit": (0, 250)},
        above_zero=("sigma_limit",),
        native=encoder(EFFECTS.SMOOTHS, DRAWS.GAUSSIAN, ["sigma_limit", "blur_limit"], _weights, [opencv("gaussian")]),
    ),
    of_values(
        "GlassBlur",
        gain=1.0,
        limits={"iterations": (1, 100), "max_delta": (1, 100), "sigma": (0.1, 100)},
        fast="fast_steps:glass_blur",
    ),
    _only_side(
        "MedianBlur",
        deep="GaussianBlur",
        in_levels=True,
        limits={"blur_limit": (3, 255)},
        native=encoder(EFFECTS.MEDIANS, DRAWS.ODD_NUMBER, [_sides], ["kernel"]),
    ),
    _odd_blur(
        "MotionBlur",
        native=_convolution(DRAWS.MOTION, [_filter_sides, "angle_range", "direction_range", "allow_shifted"], "kernel"),
        native_with={"blur_limit": UpTo(LIMITS.WIDEST_FILTER)},
    ),
    _blur("ZoomBlur", limits={"max_factor": (1, 10), "step_factor": (0.001, 1_000_000)}),
    _filter(
        "Emboss",
        neutral={"alpha": 0},
        native=_convolution(DRAWS.EMBOSSING, ["alpha", "strength"], "emboss_matrix"),
        native_with={"strength": _UNSATURATED},
    ),
    _filter(
        "Sharpen",
        mend="pixel_mends:GreySharpen",
        neutral={"alpha": 0},
        only_draws=("alpha", "lightness"),
        native=_convolution(DRAWS.SHARPENING, ["alpha", "lightness"], "sharpening_matrix"),
        native_with={"method": "kernel", "lightness": _UNSATURATED},
    ),
    _filter(
        "Sharpness",
        neutral={"factor": 1},
        module="augrecipes.ops.policy_steps",
        native=_convolution(DRAWS.SHARPNESS, ["factor"], "weights", inside=True),
    ),
    _odd("UnsharpMask", neutral={"alpha": 0}, fast="fast_steps:unsharp_mask"),
    _odd("RingingOvershoot", above_zero=("cutoff",)),
    _filter(
        "KernelBlur",
        rising={"blur_limit": 0},
        above_zero=("cutoff",),
        check=kernel_shapes,
        module="augrecipes.ops.degradations",
    ),
    geometric("Morphological", grids="alike", in_place=True, limits={"scale": (1, 1000)}),
    _filter("AugMix", channels=(1, 3), displaces=True, in_levels=True, module="augrecipes.ops.policy_steps"),
)
