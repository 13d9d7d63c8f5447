"""Warps, grids whose columns and rows are stretched, and lenses, as numbers of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import cv2

from augrecipes.compat import normals
from augrecipes.compiler.kernels import lens_native, warp_native
from augrecipes.compiler.kernels.warp_native import Kind, border_bytes
from augrecipes.native.kernels import library
from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS, OPTIONS
from augrecipes.ops.constants import LINEAR, NEAREST
from augrecipes.ops.enhance import CornerAffine
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


def rotate(step: Any) -> NativeOp | None:
    """A rotation about the middle."""
    return None if step.crop_border else _warp(step, DRAWS.ROTATION, tuple(step.limit))


def safe_rotation(step: Any) -> NativeOp | None:
    """A rotation about the middle that keeps the size, and all that the image shows."""
    return _warp(step, DRAWS.SAFE_ROTATION, tuple(step.limit))


def affine(step: Any) -> NativeOp | None:
    """An image turned, scaled, sheared and shifted, about its middle or its corner, in its own size."""
    ranges = (*step.scale.values(), *step.shear.values())
    if step.fit_output or step.balanced_scale or not all(isinstance(one, tuple) for one in ranges):
        return None
    shifts, kind = ((0, 0), (0, 0)), 0
    if step.translate_px is not None:
        shifts, kind = tuple(step.translate_px[axis] for axis in "xy"), OPTIONS.IN_PIXELS
    elif step.translate_percent is not None:
        if list(step.translate_percent) != ["x", "y"]:
            return None
        shifts, kind = tuple(step.translate_percent.values()), OPTIONS.IN_PARTS
    (scales, shears) = ([each[axis] for axis in "xy"] for each in (step.scale, step.shear))
    pairs = (step.rotate, *scales, *shifts, *shears)
    how = kind, step.keep_ratio, isinstance(step, CornerAffine)
    return _warp(step, DRAWS.AFFINE, (*(value for pair in pairs for value in pair), *how))


def perspective(step: Any) -> NativeOp | None:
    """An image seen from the side."""
    if step.fit_output or not normals():
        return None
    seen = params_getter("matrix", "max_height", "max_width")
    found = NativeOp(DRAWS.PERSPECTIVE, EFFECTS.WARPS_PERSPECTIVE, (*step.scale, normals()), seen)
    return _sampled(step, found, (step.keep_size, 0))


def _warp(step: Any, draw: int, arguments: tuple[float, ...]) -> NativeOp | None:
    return _sampled(step, NativeOp(draw, EFFECTS.WARPS, arguments, _matrix))


def _sampled(step: Any, found: NativeOp, more: tuple[int, int] = (0, 0)) -> NativeOp | None:
    """The same with how pixels are taken, and what lies beyond them."""
    fill = border_bytes(step.fill) if step.border_mode == cv2.BORDER_CONSTANT else 0
    if step.interpolation not in (NEAREST, LINEAR) or fill < 0:
        return None
    return replace(found, effect_arguments=(step.border_mode, fill, *more, step.interpolation == NEAREST))


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
        return found if kernels is not None and lens_native.same_bits(kernels) else None
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


def _matrix(params: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(params["matrix"][:2].ravel().tolist())


def grid(step: Any) -> NativeOp | None:
    """A grid whose parts are longer or shorter."""
    if step.num_steps > LIMITS.MOST_PARTS:
        return None
    arguments = (step.num_steps, *step.distort_limit, step.normalized)
    found = NativeOp(DRAWS.GRID_DISTORTION, EFFECTS.DISTORTS_GRID, arguments)
    return _sampled(step, found, (0, step.num_steps))


def lens(step: Any) -> NativeOp | None:
    """A lens: that of a camera."""
    if step.mode != "camera":
        return None
    return _sampled(step, NativeOp(DRAWS.LENS_DISTORTION, EFFECTS.DISTORTS_LENS, step.distort_limit))
