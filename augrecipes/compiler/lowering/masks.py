"""Masks in programs: images of one channel. Those whose pixels are only moved may have pixels of several bytes."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from augrecipes.compiler.kernels import cost, warp_native
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.lowering import warps
from augrecipes.native.op_numbers import EFFECTS, LIMITS
from augrecipes.ops.constants import LINEAR, NEAREST, NEAREST_MIDDLE
from augrecipes.ops.native_op import NO_OP, NativeOp
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import UINT8_HWC

_BY_MATRIX = (EFFECTS.WARPS, EFFECTS.WARPS_PERSPECTIVE)
_LIKE_MASK = {"image_mask": "image"}  # where a step resizes by means of areas


class MaskSink(Sink):
    """What writes masks, H×W×1.

    Args:
        wide: as int64, not as uint8.
    """

    def __init__(self, *, wide: bool) -> None:
        super().__init__(UINT8_HWC)
        if wide:
            self.dtype = np.dtype(np.int64)


def numbers_of(step: Any, as_numbers: Callable[[Any, int], NativeOp | None]) -> NativeOp | None:
    """What a step does to a mask, as numbers; None: Python does that, or what it does to the image.

    Args:
        step: the transform.
        as_numbers: gives its numbers, or those of what happens to the image.
    """
    found, record = as_numbers(step, LINEAR), op_record(type(step).__name__)
    if found is None:
        return None
    if "mask" not in record.targets or (record.in_place and getattr(step, "fill_mask", None) is None):
        return NO_OP
    other = as_numbers(_seen_by_mask(step), NEAREST)
    same = other is not None and (other.draw, other.arguments) == (found.draw, found.arguments)
    return other if same else None


def refuses(step: Any, numbers: NativeOp, dtype: np.dtype[Any], *, exactly: bool) -> str | None:
    """Why the bytes of masks of such a dtype, which is not uint8, are not natively moved by a step; None: they are."""
    if np.any(getattr(step, "fill_mask", None) or 0):
        return f"fills masks of {dtype} with more than zeros"
    warped = numbers.effect in warps.RESAMPLES and warps.interpolation_of(numbers) != NEAREST
    if warped or {*numbers.resizes} - {NEAREST_MIDDLE}:
        return f"blends masks of {dtype}"
    if dtype.itemsize > LIMITS.MOST_CHANNELS:
        return f"takes no masks of {dtype}"
    if exactly and dtype == np.int16 and numbers.effect in _BY_MATRIX:
        return "takes other pixels of masks of int16, as OpenCV does"  # it warps these by an older way
    return None


def _seen_by_mask(step: Any) -> Any:
    """A step that does to images what this one does to masks."""
    seen = copy(step)
    for name, like in (("interpolation", "mask_interpolation"), ("fill", "fill_mask")):
        if hasattr(step, like):
            setattr(seen, name, getattr(step, like))
    if op_record(type(step).__name__).scales and seen.interpolation == NEAREST:
        seen.interpolation = NEAREST_MIDDLE
    if hasattr(step, "area_for_downscale"):
        seen.area_for_downscale = _LIKE_MASK.get(step.area_for_downscale)
    return seen


def ends() -> tuple[float, ...]:
    """What ends a run of warps: what things cost, and how many columns OpenCV takes together."""
    native = warp_native.native_warp()
    bodies = (0, 0) if native is None else (native.body("affine", NEAREST), native.body("perspective", NEAREST))
    return (*cost.OF_LABELS, *bodies)
