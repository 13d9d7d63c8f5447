"""Blurs, noise, holes, and what cameras and compression leave, as numbers of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from augrecipes.compiler.kernels import noise_native
from augrecipes.compiler.kernels.counter_noise import MOST, CounterGaussNoise, CounterISONoise
from augrecipes.compiler.lowering import opencv_variants
from augrecipes.compiler.lowering.colours import uniform
from augrecipes.native.kernels import library
from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS
from augrecipes.ops.constants import AREA, CUBIC, LINEAR, NEAREST
from augrecipes.ops.native_op import Draws, NativeOp, params_getter, ranges

_LEAST_SIDE, _MOST_LEVEL = 3, 255
_OF_A_CORNER = 1 << LIMITS.CORNER_BITS * np.arange(3, -1, -1)


# The pixels about each one.


def blurred(step: Any) -> NativeOp | None:
    """Means of squares."""
    sides = _sides(step)
    return (
        NativeOp(DRAWS.ODD_NUMBER, EFFECTS.BLURS, sides, params_getter("kernel"))
        if sides[1] <= LIMITS.WIDEST_BLUR
        else None
    )


def medians(step: Any) -> NativeOp:
    """Medians of squares."""
    return NativeOp(DRAWS.ODD_NUMBER, EFFECTS.MEDIANS, _sides(step), params_getter("kernel"))


def _sides(step: Any) -> tuple[int, int]:
    low, high = (max(_LEAST_SIDE, end + (end % 2 == 0)) for end in step.blur_limit)
    return low, max(low, high)


def smoothed(step: Any) -> NativeOp:
    """Sums by the weights of a Gaussian."""
    arguments = ranges(step.sigma_limit, step.blur_limit)
    return NativeOp(DRAWS.GAUSSIAN, EFFECTS.SMOOTHS, arguments, _weights, opencv_variants.gaussian())


def _weights(params: Mapping[str, Any]) -> tuple[float, ...]:
    weights = params["kernel"]
    shown = weights.astype(np.float32).tolist() if len(weights) <= LIMITS.MOST_WEIGHTS else ()
    return (float(len(weights)), *shown)


def sharpened(step: Any) -> NativeOp | None:
    """Nine weights about each pixel."""
    return _convolved(step, DRAWS.SHARPENING, step.lightness, "sharpening_matrix") if step.method == "kernel" else None


def embossed(step: Any) -> NativeOp | None:
    """The same, from one corner to the other."""
    return _convolved(step, DRAWS.EMBOSSING, step.strength, "emboss_matrix")


def sharper(step: Any) -> NativeOp:
    """The same by one factor, which leaves the outermost pixels."""
    limits, does = ranges(step.factor), (opencv_variants.sums(),)
    return NativeOp(DRAWS.SHARPNESS, EFFECTS.CONVOLVES_INSIDE, limits, _square("weights"), does)


def motion_blurred(step: Any) -> NativeOp | None:
    """Means of the pixels along a line."""
    sides, does = _sides(step), (opencv_variants.sums(),)
    limits = (*sides, *ranges(step.angle_range, step.direction_range), float(step.allow_shifted))
    seen = _square("kernel")
    return NativeOp(DRAWS.MOTION, EFFECTS.CONVOLVES, limits, seen, does) if sides[1] <= LIMITS.WIDEST_FILTER else None


def _square(name: str) -> Draws:
    return lambda params: (float(len(params[name])), *params_getter(name)(params))


def _convolved(step: Any, draw: int, amount: tuple[float, float], name: str) -> NativeOp | None:
    if max(map(abs, amount)) * LIMITS.WIDEST_BLUR > LIMITS.MOST_SATURATED:
        return None
    return NativeOp(draw, EFFECTS.CONVOLVES, ranges(step.alpha, amount), _square(name), (opencv_variants.sums(),))


def compressed(step: Any) -> NativeOp | None:
    """What a JPEG leaves of an image."""
    if step.compression_type != "jpeg":
        return None
    return uniform(step, EFFECTS.COMPRESSES, draw=DRAWS.WHOLE_NUMBERS, quality="quality_range")


# Noise.


def gaussian(step: Any) -> NativeOp | None:
    """Normally distributed noise: our own numbers, or those that OpenCV draws."""
    limits = ranges(step.std_range, step.mean_range)
    if isinstance(step, CounterGaussNoise):
        does = (float(not step.per_channel), float(MOST))
        return NativeOp(DRAWS.OWN_NOISE, EFFECTS.ADDS_OWN_NOISE, limits, _own, does)
    kernels, places = library(), noise_native.addresses()
    if not step.per_channel or step.noise_scale_factor != 1:
        return None
    if kernels is None or places is None or not noise_native.same_bits(kernels):
        return None
    return NativeOp(DRAWS.GAUSS_NOISE, EFFECTS.ADDS_NOISE, limits, effect_arguments=places)


def _own(params: Mapping[str, Any]) -> tuple[float, ...]:
    noise = params["noise_map"]
    return noise.deviation, noise.mean, float(noise.key >> 32), float(noise.key & 0xFFFFFFFF)


def photons_counted(step: Any) -> NativeOp | None:
    """Noise of a camera's sensor: of our own numbers, or of those that numpy draws."""
    kernels, own = library(), isinstance(step, CounterISONoise)
    if own:
        does: tuple[float, ...] = ()
    elif kernels is not None and (numbers := opencv_variants.numpy_normals(kernels)) is not None:
        does = (*opencv_variants.hls(), *numbers.addresses)
    else:
        return None
    effect = EFFECTS.ADDS_OWN_ISO_NOISE if own else EFFECTS.ADDS_ISO_NOISE
    limits = ranges(step.color_shift, step.intensity)
    return NativeOp(DRAWS.ISO_NOISE, effect, limits, params_getter("color_shift", "intensity", "random_seed"), does)


# Holes, shadows.


def holes(step: Any) -> NativeOp | None:
    """Rectangles of one colour."""
    fill = _fill(step)
    if fill is None or step.num_holes_range[1] > LIMITS.MOST_HOLES:
        return None
    parts = step.hole_height_range[1] < 1
    arguments = (*ranges(step.num_holes_range, step.hole_height_range, step.hole_width_range), float(parts))
    return NativeOp(DRAWS.HOLES, EFFECTS.FILLS_HOLES, arguments, _ends, fill)


def grid_of_holes(step: Any) -> NativeOp | None:
    """A rectangle of one colour in each cell of a grid."""
    if (fill := _fill(step)) is None:
        return None
    shape, units = step.holes_number_xy or (0, 0), step.unit_size_range or (0, 0)
    across, down = step.shift_xy
    arguments = (*ranges(shape, units), step.ratio, float(step.random_offset), float(down), float(across))
    return NativeOp(DRAWS.GRID_OF_HOLES, EFFECTS.FILLS_HOLES, arguments, _ends, fill)


def _fill(step: Any) -> tuple[float, ...] | None:
    """How many levels holes are filled with, or 0 for one of all channels, and these; None: with something else."""
    levels = step.fill if isinstance(step.fill, tuple | list) else (step.fill,)
    if any(isinstance(v, str) or not 0 <= v <= _MOST_LEVEL for v in levels) or len(levels) > LIMITS.MOST_CHANNELS:
        return None
    return (len(levels) if isinstance(step.fill, tuple | list) else 0, *map(int, levels))


def _ends(params: Mapping[str, Any]) -> tuple[float, ...]:
    """How many holes, and the corners of each in one number."""
    found = params["holes"].astype(np.int64).reshape(-1, 4) @ _OF_A_CORNER
    return (float(len(found)), *found.astype(float).tolist())


def shadows(step: Any) -> NativeOp | None:
    """Polygons that are darker than what is around them."""
    if step.num_shadows_limit[1] > LIMITS.MOST_SHADOWS or step.shadow_dimension > LIMITS.MOST_CORNERS:
        return None
    corners = float(step.shadow_dimension)
    arguments = (*ranges(step.shadow_roi, step.num_shadows_limit), corners, *step.shadow_intensity_range)
    return NativeOp(DRAWS.SHADOWS, EFFECTS.CASTS_SHADOWS, arguments, _polygons, (corners,))


def _polygons(params: Mapping[str, Any]) -> tuple[float, ...]:
    found = zip(params["intensities"].tolist(), params["vertices_list"], strict=True)
    each = [(intensity, *corners.ravel().astype(float).tolist()) for intensity, corners in found]
    return (float(len(each)), *(number for one in each for number in one))


def coarsened(step: Any) -> NativeOp | None:
    """Made smaller, and larger again."""
    pair = step.interpolation_pair
    if pair["downscale"] not in (NEAREST, LINEAR, AREA) or pair["upscale"] not in (NEAREST, LINEAR, CUBIC, AREA):
        return None
    does = tuple(float(pair[name]) for name in ("downscale", "upscale"))
    return uniform(step, EFFECTS.DOWNSCALES, does, scale="scale_range")
