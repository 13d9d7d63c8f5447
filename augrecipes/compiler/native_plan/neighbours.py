"""Steps that look at the pixels about each one, as numbers of a native plan: blurs, sharpening, compression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.colour_native import MOST, colours
from augrecipes.compiler.kernels.gaussian import gaussian
from augrecipes.compiler.kernels.twins import quicker
from augrecipes.compiler.native_plan.colours import ranges
from augrecipes.compiler.native_plan.steps import NativeStep

# What is drawn, as native/colour_draws.h numbers it, and what that does, as native/neighbours.h does.
_WHOLE_NUMBERS, _ODD, _SHARPENING, _EMBOSSING, _STREAK, _GAUSSIAN = 67, *range(76, 81)
_BLURS, _CONVOLVES, _STREAKS, _COMPRESSES, _SMOOTHS, _MEDIANS = range(96, 102)
_LEAST, _WIDEST, _LONGEST, _MOST_WEIGHTS = 3, 15, 9, 63


def blurred(step: Any) -> NativeStep | None:
    """Means of squares."""
    sides = _sides(step)
    if sides[1] > _WIDEST:
        return None
    return NativeStep(_ODD, _BLURS, sides, lambda params: (float(params["kernel"]),), changes=True)


def smoothed(step: Any) -> NativeStep | None:
    """Sums by the weights of a Gaussian."""
    if quicker(step) is None or (native := gaussian()) is None:
        return None
    arguments = ranges(step.sigma_limit, step.blur_limit)
    return NativeStep(_GAUSSIAN, _SMOOTHS, arguments, _weights, native.fused, changes=True)


def _weights(params: Mapping[str, Any]) -> tuple[float, ...]:
    weights = params["kernel"]
    shown = weights.astype(np.float32).tolist() if len(weights) <= _MOST_WEIGHTS else ()
    return (float(len(weights)), *shown)


def medians(step: Any) -> NativeStep | None:
    """Medians of squares."""
    if quicker(step) is None:
        return None
    return NativeStep(_ODD, _MEDIANS, _sides(step), lambda params: (float(params["kernel"]),), changes=True)


def _sides(step: Any) -> tuple[int, int]:
    low, high = (max(_LEAST, end + (end % 2 == 0)) for end in step.blur_limit)
    return low, max(low, high)


def streaked(step: Any) -> NativeStep | None:
    """Means along a line."""
    sides = _sides(step)
    if sides[1] > _LONGEST:
        return None
    arguments = (*sides, *step.angle_range, *step.direction_range, float(step.allow_shifted))
    return NativeStep(_STREAK, _STREAKS, arguments, _places, (sides[1] // 2,), changes=True)


def _places(params: Mapping[str, Any]) -> tuple[float, ...]:
    """How many pixels have a weight, and how many rows and columns each is away from the middle."""
    kernel = params["kernel"]
    places = np.argwhere(kernel) - len(kernel) // 2
    return (float(len(places)), *places.ravel().astype(float).tolist())


def sharpened(step: Any) -> NativeStep | None:
    """Nine weights about each pixel."""
    return _convolved(step, _SHARPENING, step.lightness, "sharpening_matrix") if step.method == "kernel" else None


def embossed(step: Any) -> NativeStep | None:
    """The same, from one corner to the other."""
    return _convolved(step, _EMBOSSING, step.strength, "emboss_matrix")


def _convolved(step: Any, draw: int, amount: tuple[float, float], name: str) -> NativeStep | None:
    native = colours()
    if quicker(step) is None or native is None or max(map(abs, amount)) * _WIDEST > MOST:
        return None
    arguments = ranges(step.alpha, amount)
    return NativeStep(
        draw, _CONVOLVES, arguments, lambda params: tuple(params[name].ravel().tolist()), (native.sums_fused,),
        changes=True,
    )  # fmt: skip


def compressed(step: Any) -> NativeStep | None:
    """What a JPEG leaves of a picture."""
    if quicker(step) is None:
        return None
    arguments = (1.0, *ranges(step.quality_range))
    return NativeStep(
        _WHOLE_NUMBERS, _COMPRESSES, arguments, lambda params: (float(params["quality"]),), changes=True
    )  # fmt: skip
