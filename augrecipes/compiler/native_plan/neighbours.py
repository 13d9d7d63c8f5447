"""Blur, sharpening and embossing as numbers of a native plan."""

from __future__ import annotations

from typing import Any

from augrecipes.compiler.kernels.colour_native import MOST, colours
from augrecipes.compiler.kernels.twins import quicker
from augrecipes.compiler.native_plan.colours import ranges
from augrecipes.compiler.native_plan.steps import NativeStep

# What is drawn, as native/colour_draws.h numbers it, and what that does, as native/points.h does.
_ODD, _SHARPENING, _EMBOSSING = 76, 77, 78
_BLURS, _CONVOLVES = 81, 82
_LEAST, _WIDEST = 3, 15


def blurred(step: Any) -> NativeStep | None:
    """Means of squares."""
    low, high = (max(_LEAST, end + (end % 2 == 0)) for end in step.blur_limit)
    if max(low, high) > _WIDEST:
        return None
    return NativeStep(_ODD, _BLURS, (low, max(low, high)), lambda params: (float(params["kernel"]),), changes=True)


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
