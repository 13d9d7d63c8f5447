"""Warps, grids whose columns and rows are stretched, and lenses, as numbers of a program."""

from __future__ import annotations

from dataclasses import replace

from augrecipes.compiler.kernels import warp_native
from augrecipes.compiler.kernels.opencv_bits import bends_as_opencv
from augrecipes.compiler.kernels.warp_native import Kind
from augrecipes.native.kernels import library
from augrecipes.native.op_numbers import DRAWS, EFFECTS
from augrecipes.ops.constants import LINEAR, NEAREST
from augrecipes.ops.native_op import NativeOp, params_getter

_TO_NEXT = 4  # where numbers say that the next pixel is taken
# What resamples, and how the kernel `warp` is told from where.
_KINDS: dict[int, Kind] = {
    EFFECTS.WARPS: "affine",
    EFFECTS.WARPS_PERSPECTIVE: "perspective",
    EFFECTS.DISTORTS_GRID: "maps",
    EFFECTS.DISTORTS_LENS: "maps",
}
RESAMPLES = frozenset(_KINDS)
_BENDS = {EFFECTS.DISTORTS_GRID: EFFECTS.BENDS_GRID, EFFECTS.DISTORTS_LENS: EFFECTS.BENDS_LENS}


def interpolation_of(warp: NativeOp) -> int:
    """How what it warps is sampled, as OpenCV numbers that."""
    return NEAREST if warp.effect_arguments[_TO_NEXT] else LINEAR


def exactly(found: NativeOp) -> NativeOp | None:
    """The same by itself, with albumentations' bits; None where the kernel does not have them.

    Its matrix has other last bits than albumentations' own, which no image shows: see native/warped.h.
    """
    native = warp_native.native_warp()
    how = interpolation_of(found)
    body = 0 if native is None else native.body(_KINDS[found.effect], how)
    if not body:
        return None
    if found.effect == EFFECTS.DISTORTS_LENS:
        kernels = library()
        return found if kernels is not None and bends_as_opencv(kernels) else None
    if found.effect == EFFECTS.DISTORTS_GRID:
        return found
    if found.effect == EFFECTS.WARPS_PERSPECTIVE:
        return replace(found, effect_arguments=(*found.effect_arguments[:3], body, how == NEAREST))
    shears = found.draw == DRAWS.AFFINE and any(found.arguments[10:14])
    return replace(
        found,
        expected_draws=params_getter(),
        effect_arguments=(*found.effect_arguments[:2], body, shears, how == NEAREST),
    )


def joined(found: NativeOp, interpolation: int) -> NativeOp | None:
    """The same sampled by a job; None where that takes other pixels. Labels keep the bits that they have alone."""
    if interpolation_of(found) != interpolation:
        return None
    if found.effect not in _BENDS:
        return replace(found, effect=EFFECTS.MERGES + found.effect)
    exact = found if interpolation == LINEAR else exactly(found)
    return exact and replace(exact, effect=_BENDS[found.effect])
