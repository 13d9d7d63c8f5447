"""Grids whose columns and rows are stretched, and lenses, as numbers of a native plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels import lens_native, warp_native
from augrecipes.compiler.native_plan.steps import NativeStep
from augrecipes.native.kernels import library
from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS
from augrecipes.ops.warps import LINEAR, NEAREST


def grid(step: Any) -> NativeStep | None:
    """A grid whose parts are longer or shorter."""
    if step.num_steps > LIMITS.MOST_PARTS:
        return None
    arguments = (step.num_steps, *step.distort_limit, step.normalized)
    return _bent(step, DRAWS.GRID, arguments, EFFECTS.BENDS_GRID, step.num_steps)


def lens(step: Any) -> NativeStep | None:
    """A lens: that of a camera."""
    kernels = library()
    if step.mode != "camera" or kernels is None or not lens_native.same_bits(kernels):
        return None
    return _bent(step, DRAWS.BEND, step.distort_limit, EFFECTS.BENDS_LENS, 0)


def _bent(step: Any, draw: int, arguments: tuple[float, ...], effect: int, more: int) -> NativeStep | None:
    constant = step.border_mode == cv2.BORDER_CONSTANT
    fill = warp_native.as_word(step.fill, np.dtype(np.uint8)) if constant else 0
    native = warp_native.here()
    if step.interpolation not in (NEAREST, LINEAR) or fill < 0 or native is None:
        return None
    if not native.has("maps", step.interpolation):
        return None
    does = (step.border_mode, fill, step.interpolation == NEAREST, more)
    return NativeStep(draw, effect, arguments, _nothing, does, changes=True)


def _nothing(_: Mapping[str, Any]) -> tuple[float, ...]:
    return ()
