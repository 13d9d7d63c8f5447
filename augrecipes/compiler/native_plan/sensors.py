"""Steps that show pictures as cameras take them as numbers of a native plan."""

from __future__ import annotations

from typing import Any

from augrecipes.compiler.kernels import own_numbers
from augrecipes.compiler.kernels.photons import is_own
from augrecipes.compiler.native_plan import opencv_variants
from augrecipes.compiler.native_plan.colours import ranges
from augrecipes.compiler.native_plan.steps import NativeStep
from augrecipes.native.kernels import library
from augrecipes.native.op_numbers import DRAWS, EFFECTS


def photons(step: Any) -> NativeStep | None:
    """Noise of a camera's sensor: of our own numbers, or of those that numpy draws."""
    kernels = library()
    if is_own(step):
        does: tuple[float, ...] = (own_numbers.pieces("gaussian").ctypes.data,)
    elif kernels is not None and (numbers := opencv_variants.numpy_normals(kernels)) is not None:
        does = (*opencv_variants.hls(), *numbers.addresses)
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
    if step.method != "bleach":
        return None
    does = (*opencv_variants.hls(), float(step.brightness_coeff))
    arguments = (1.0, *ranges(step.snow_point_range))
    return NativeStep(
        DRAWS.NUMBERS, EFFECTS.SNOWS, arguments, lambda params: (params["snow_point"],), does, changes=True
    )


def coarsened(step: Any) -> NativeStep:
    """Made smaller, and larger again."""
    does = tuple(float(step.interpolation_pair[name]) for name in ("downscale", "upscale"))
    arguments = (1.0, *ranges(step.scale_range))
    return NativeStep(DRAWS.NUMBERS, EFFECTS.COARSENS, arguments, lambda params: (params["scale"],), does, changes=True)
