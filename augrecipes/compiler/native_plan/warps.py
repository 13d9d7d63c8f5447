"""Warps as numbers of a native plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.normals import normals
from augrecipes.compiler.kernels import warp_native
from augrecipes.compiler.kernels.warp_native import border_of
from augrecipes.compiler.native_plan.steps import NativeStep
from augrecipes.native.kernels import library
from augrecipes.native.op_numbers import DRAWS, EFFECTS, OPTIONS
from augrecipes.ops.warps import LINEAR, NEAREST

_TO_NEXT = 4  # where numbers say that the next pixel is taken


def rotate(step: Any) -> NativeStep | None:
    """A rotation about the middle."""
    return None if step.crop_border else _warp(step, DRAWS.ROTATION, tuple(step.limit))


def safe_rotation(step: Any) -> NativeStep | None:
    """A rotation about the middle that keeps the size, and all that the picture shows."""
    return _warp(step, DRAWS.SAFE_ROTATION, tuple(step.limit))


def affine(step: Any) -> NativeStep | None:
    """A picture turned, scaled, sheared and shifted, in its own size."""
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
    return _warp(step, DRAWS.AFFINE, (*(value for pair in pairs for value in pair), kind, step.keep_ratio))


def perspective(step: Any) -> NativeStep | None:
    """A picture seen from the side."""
    constant = step.border_mode == cv2.BORDER_CONSTANT
    fill = border_of(step.fill) if constant else 0
    one_by_one = not constant or fill == warp_native.as_word(step.fill, np.dtype(np.uint8))  # as OpenCV takes it
    if step.fit_output or step.interpolation not in (NEAREST, LINEAR) or fill < 0 or not one_by_one or not normals():
        return None
    does = (step.border_mode, fill, step.keep_size, 0, step.interpolation == NEAREST)
    return NativeStep(DRAWS.TILT, EFFECTS.TILTS, (*step.scale, normals()), _tilted, does)


def _tilted(params: Mapping[str, Any]) -> tuple[float, ...]:
    return (*params["matrix"].ravel().tolist(), float(params["max_height"]), float(params["max_width"]))


def _warp(step: Any, draw: int, arguments: tuple[float, ...]) -> NativeStep | None:
    constant = step.border_mode == cv2.BORDER_CONSTANT
    fill = border_of(step.fill) if constant else 0
    if step.interpolation not in (NEAREST, LINEAR) or fill < 0:
        return None
    return NativeStep(
        draw, EFFECTS.WARPS, arguments, _matrix, (step.border_mode, fill, 0, 0, step.interpolation == NEAREST)
    )


def interpolation_of(warp: NativeStep) -> int:
    """How what it warps is sampled, as OpenCV numbers that."""
    return NEAREST if warp.does[_TO_NEXT] else LINEAR


def exactly(step: Any, found: NativeStep) -> NativeStep | None:
    """The same by itself, with albumentations' bits; None where the kernel does not have them.

    Its matrix has other last bits than albumentations' own, which no picture shows: see native/warped.h.
    """
    isa, native = (kernels.isa, warp_native.here()) if (kernels := library()) is not None else ("", None)
    linear = interpolation_of(found) == LINEAR
    kind: warp_native.Kind = "perspective" if found.effect == EFFECTS.TILTS else "affine"
    body = 0 if native is None else warp_native.body_of(isa, kind, linear=linear, native=native)
    if not body:
        return None
    if found.effect == EFFECTS.TILTS:
        return replace(found, does=(*found.does[:3], body, not linear), changes=True)
    shears = found.draw == DRAWS.AFFINE and any(found.arguments[10:14])
    return replace(found, seen=lambda _: (), does=(*found.does[:2], body, shears, not linear), changes=True)


def _matrix(params: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(params["matrix"][:2].ravel().tolist())
