"""Noise, holes and shadows as numbers of a native plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.compiler.kernels import noise_native, own_noise, own_numbers
from augrecipes.compiler.native_plan.colours import ranges
from augrecipes.compiler.native_plan.steps import NativeStep

# What is drawn, as native/colour_draws.h numbers it, and what that does, as native/points.h does.
_NOISE, _OWN_NOISE, _HOLES, _SHADOWS = 72, 73, 74, 81
_ADDS_NOISE, _FILLS_HOLES, _ADDS_OWN_NOISE, _CASTS_SHADOWS = 76, 77, 78, 81
_MOST_HOLES, _MOST_LEVEL, _MOST_CHANNELS = 64, 255, 4
_MOST_SHADOWS, _MOST_CORNERS = 7, 16


def gaussian(step: Any) -> NativeStep | None:
    """Normally distributed noise: our own numbers, or those that OpenCV draws."""
    limits = ranges(step.std_range, step.mean_range)
    if step.noise_scale_factor == 1 and own_noise.is_own(step):
        where = own_numbers.pieces("gaussian").ctypes.data
        does = (where, float(not step.per_channel), float(own_numbers.MOST))
        return NativeStep(_OWN_NOISE, _ADDS_OWN_NOISE, limits, _own, does, changes=True)
    if not step.per_channel or step.noise_scale_factor != 1 or (native := noise_native.here()) is None:
        return None
    return NativeStep(_NOISE, _ADDS_NOISE, limits, lambda _: (), native.addresses, changes=True)


def _own(params: Mapping[str, Any]) -> tuple[float, ...]:
    noise = params["noise_map"]
    return noise.deviation, noise.mean, float(noise.key >> 32), float(noise.key & 0xFFFFFFFF)


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


def shadows(step: Any) -> NativeStep | None:
    """Polygons that are darker than what is around them."""
    if step.num_shadows_limit[1] > _MOST_SHADOWS or step.shadow_dimension > _MOST_CORNERS:
        return None
    corners = float(step.shadow_dimension)
    arguments = (*ranges(step.shadow_roi, step.num_shadows_limit), corners, *step.shadow_intensity_range)
    return NativeStep(_SHADOWS, _CASTS_SHADOWS, arguments, _polygons, (corners,), changes=True)


def _polygons(params: Mapping[str, Any]) -> tuple[float, ...]:
    found = zip(params["intensities"].tolist(), params["vertices_list"], strict=True)
    each = [(intensity, *corners.ravel().astype(float).tolist()) for intensity, corners in found]
    return (float(len(each)), *(number for one in each for number in one))
