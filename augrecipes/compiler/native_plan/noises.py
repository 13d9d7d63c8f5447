"""Noise and holes as numbers of a native plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.compiler.kernels import noise_native, own_noise
from augrecipes.compiler.native_plan.colours import ranges
from augrecipes.compiler.native_plan.steps import NativeStep

# What is drawn, as native/colour_draws.h numbers it, and what that does, as native/points.h does.
_NOISE, _HOLES = 72, 73
_ADDS_NOISE, _FILLS_HOLES = 76, 77
_MOST_HOLES, _MOST_LEVEL, _MOST_CHANNELS = 64, 255, 4


def gaussian(step: Any) -> NativeStep | None:
    """Normally distributed noise, the numbers that OpenCV draws."""
    if not step.per_channel or step.noise_scale_factor != 1 or own_noise.is_own(step):
        return None
    if (native := noise_native.here()) is None:
        return None
    limits = ranges(step.std_range, step.mean_range)
    return NativeStep(_NOISE, _ADDS_NOISE, limits, lambda _: (), native.addresses, changes=True)


def holes(step: Any) -> NativeStep | None:
    """Rectangles of one colour."""
    fill = step.fill if isinstance(step.fill, tuple | list) else (step.fill,)
    if any(isinstance(v, str) or not 0 <= v <= _MOST_LEVEL for v in fill) or len(fill) > _MOST_CHANNELS:
        return None
    if step.num_holes_range[1] > _MOST_HOLES:
        return None
    parts = step.hole_height_range[1] < 1
    arguments = (*ranges(step.num_holes_range, step.hole_height_range, step.hole_width_range), float(parts))
    each = len(fill) if isinstance(step.fill, tuple | list) else 0
    return NativeStep(_HOLES, _FILLS_HOLES, arguments, _corners, (each, *map(int, fill)), changes=True)


def _corners(params: Mapping[str, Any]) -> tuple[float, ...]:
    found = params["holes"]
    return (float(len(found)), *found.ravel().astype(float).tolist())
