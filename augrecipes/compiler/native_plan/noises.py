"""Noise, holes and shadows as numbers of a native plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from augrecipes.compiler.kernels import noise_native, own_noise, own_numbers
from augrecipes.compiler.native_plan.colours import ranges
from augrecipes.compiler.native_plan.steps import NativeStep
from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS

_MOST_LEVEL = 255
_OF_A_CORNER = 1 << LIMITS.CORNER_BITS * np.arange(3, -1, -1)


def gaussian(step: Any) -> NativeStep | None:
    """Normally distributed noise: our own numbers, or those that OpenCV draws."""
    limits = ranges(step.std_range, step.mean_range)
    if step.noise_scale_factor == 1 and own_noise.is_own(step):
        where = own_numbers.pieces("gaussian").ctypes.data
        does = (where, float(not step.per_channel), float(own_numbers.MOST))
        return NativeStep(DRAWS.OWN_NOISE, EFFECTS.ADDS_OWN_NOISE, limits, _own, does, changes=True)
    if not step.per_channel or step.noise_scale_factor != 1 or (native := noise_native.here()) is None:
        return None
    return NativeStep(DRAWS.NOISE, EFFECTS.ADDS_NOISE, limits, lambda _: (), native.addresses, changes=True)


def _own(params: Mapping[str, Any]) -> tuple[float, ...]:
    noise = params["noise_map"]
    return noise.deviation, noise.mean, float(noise.key >> 32), float(noise.key & 0xFFFFFFFF)


def holes(step: Any) -> NativeStep | None:
    """Rectangles of one colour."""
    fill = _fill(step)
    if fill is None or step.num_holes_range[1] > LIMITS.MOST_HOLES:
        return None
    parts = step.hole_height_range[1] < 1
    arguments = (*ranges(step.num_holes_range, step.hole_height_range, step.hole_width_range), float(parts))
    return NativeStep(DRAWS.HOLES, EFFECTS.FILLS_HOLES, arguments, _ends, fill, changes=True)


def grid_of_holes(step: Any) -> NativeStep | None:
    """A rectangle of one colour in each cell of a grid."""
    if (fill := _fill(step)) is None:
        return None
    shape, units = step.holes_number_xy or (0, 0), step.unit_size_range or (0, 0)
    across, down = step.shift_xy
    arguments = (*ranges(shape, units), step.ratio, float(step.random_offset), float(down), float(across))
    return NativeStep(DRAWS.GRID_OF_HOLES, EFFECTS.FILLS_HOLES, arguments, _ends, fill, changes=True)


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


def shadows(step: Any) -> NativeStep | None:
    """Polygons that are darker than what is around them."""
    if step.num_shadows_limit[1] > LIMITS.MOST_SHADOWS or step.shadow_dimension > LIMITS.MOST_CORNERS:
        return None
    corners = float(step.shadow_dimension)
    arguments = (*ranges(step.shadow_roi, step.num_shadows_limit), corners, *step.shadow_intensity_range)
    return NativeStep(DRAWS.SHADOWS, EFFECTS.CASTS_SHADOWS, arguments, _polygons, (corners,), changes=True)


def _polygons(params: Mapping[str, Any]) -> tuple[float, ...]:
    found = zip(params["intensities"].tolist(), params["vertices_list"], strict=True)
    each = [(intensity, *corners.ravel().astype(float).tolist()) for intensity, corners in found]
    return (float(len(each)), *(number for one in each for number in one))
