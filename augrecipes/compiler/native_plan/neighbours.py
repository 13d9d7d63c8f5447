"""Steps that look at the pixels about each one, as numbers of a native plan: blurs, sharpening, compression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from augrecipes.compiler.native_plan import opencv_variants
from augrecipes.compiler.native_plan.colours import ranges
from augrecipes.compiler.native_plan.steps import NativeStep
from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS

_LEAST = 3


def blurred(step: Any) -> NativeStep | None:
    """Means of squares."""
    sides = _sides(step)
    if sides[1] > LIMITS.WIDEST_BLUR:
        return None
    return NativeStep(DRAWS.ODD, EFFECTS.BLURS, sides, lambda params: (float(params["kernel"]),), changes=True)


def smoothed(step: Any) -> NativeStep:
    """Sums by the weights of a Gaussian."""
    arguments = ranges(step.sigma_limit, step.blur_limit)
    return NativeStep(
        DRAWS.GAUSSIAN, EFFECTS.SMOOTHS, arguments, _weights, opencv_variants.gaussian(), changes=True
    )  # fmt: skip


def _weights(params: Mapping[str, Any]) -> tuple[float, ...]:
    weights = params["kernel"]
    shown = weights.astype(np.float32).tolist() if len(weights) <= LIMITS.MOST_WEIGHTS else ()
    return (float(len(weights)), *shown)


def medians(step: Any) -> NativeStep:
    """Medians of squares."""
    return NativeStep(DRAWS.ODD, EFFECTS.MEDIANS, _sides(step), lambda params: (float(params["kernel"]),), changes=True)


def _sides(step: Any) -> tuple[int, int]:
    low, high = (max(_LEAST, end + (end % 2 == 0)) for end in step.blur_limit)
    return low, max(low, high)


def sharpened(step: Any) -> NativeStep | None:
    """Nine weights about each pixel."""
    return _convolved(step, DRAWS.SHARPENING, step.lightness, "sharpening_matrix") if step.method == "kernel" else None


def embossed(step: Any) -> NativeStep | None:
    """The same, from one corner to the other."""
    return _convolved(step, DRAWS.EMBOSSING, step.strength, "emboss_matrix")


def _convolved(step: Any, draw: int, amount: tuple[float, float], name: str) -> NativeStep | None:
    if max(map(abs, amount)) * LIMITS.WIDEST_BLUR > LIMITS.MOST_SATURATED:
        return None
    arguments = ranges(step.alpha, amount)
    return NativeStep(
        draw, EFFECTS.CONVOLVES, arguments, lambda params: tuple(params[name].ravel().tolist()),
        (opencv_variants.sums(),), changes=True,
    )  # fmt: skip


def compressed(step: Any) -> NativeStep | None:
    """What a JPEG leaves of a picture."""
    if step.compression_type != "jpeg":
        return None
    arguments = (1.0, *ranges(step.quality_range))
    return NativeStep(
        DRAWS.WHOLE_NUMBERS, EFFECTS.COMPRESSES, arguments, lambda params: (float(params["quality"]),), changes=True
    )  # fmt: skip
