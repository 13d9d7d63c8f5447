"""Steps that show pictures as cameras take them as numbers of a native plan."""

from __future__ import annotations

from typing import Any

from augrecipes.compiler.kernels import own_numbers
from augrecipes.compiler.kernels.hls import ways
from augrecipes.compiler.kernels.photons import is_own
from augrecipes.compiler.kernels.sensor import sensor
from augrecipes.compiler.kernels.twins import quicker
from augrecipes.compiler.native_plan.colours import ranges
from augrecipes.compiler.native_plan.steps import NativeStep
from augrecipes.native.op_numbers import DRAWS, EFFECTS


def photons(step: Any) -> NativeStep | None:
    """Noise of a camera's sensor: of our own numbers, or of those that numpy draws."""
    if is_own(step):
        does: tuple[float, ...] = (own_numbers.pieces("gaussian").ctypes.data,)
    elif quicker(step) is not None and (native := sensor()) is not None:
        does = (native.ways.lanes, native.ways.fused, *native.numbers)
    else:
        return None
    effect = EFFECTS.ADDS_OWN_PHOTONS if is_own(step) else EFFECTS.ADDS_PHOTONS
    names = ("color_shift", "intensity", "random_seed")
    return NativeStep(
        DRAWS.PHOTONS, effect, ranges(step.color_shift, step.intensity),
        lambda params: tuple(float(params[name]) for name in names), does, changes=True,
    )  # fmt: skip


def snowed(step: Any) -> NativeStep | None:
    """What is dark made lighter."""
    way = ways() if quicker(step) is not None else None
    if way is None:
        return None
    does = (way.lanes, way.fused, float(step.brightness_coeff))
    arguments = (1.0, *ranges(step.snow_point_range))
    return NativeStep(
        DRAWS.NUMBERS, EFFECTS.SNOWS, arguments, lambda params: (params["snow_point"],), does, changes=True
    )


def coarsened(step: Any) -> NativeStep:
    """Made smaller, and larger again."""
    does = tuple(float(step.interpolation_pair[name]) for name in ("downscale", "upscale"))
    arguments = (1.0, *ranges(step.scale_range))
    return NativeStep(DRAWS.NUMBERS, EFFECTS.COARSENS, arguments, lambda params: (params["scale"],), does, changes=True)
