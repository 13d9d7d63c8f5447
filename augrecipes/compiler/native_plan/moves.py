"""Windows, turns and resizes as numbers of a native plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import cv2

from augrecipes.compiler.kernels.moves import D4, QUARTERS, Symmetry, symmetry_of
from augrecipes.compiler.native_plan.steps import (
    ANY_WINDOW,
    CENTRE,
    CUTS,
    CUTS_AND_RESIZES,
    NOTHING,
    ONE_OF_EIGHT,
    ONE_OF_FOUR,
    RESIZED_CROP,
    RESIZES,
    SIZED_CROP,
    TURNS,
    NativeStep,
)

_KERNELS = {
    cv2.INTER_NEAREST: ("nearest",),
    cv2.INTER_LINEAR: ("resize", "blocks"),
    cv2.INTER_AREA: ("shrink", "blocks"),
}


def flip(step: Any) -> NativeStep:
    """A flip or a transposition, which draws nothing."""
    name = type(step).__name__
    return NativeStep(NOTHING, TURNS, (_bits(symmetry_of(name, {})),), lambda _: (_bits(symmetry_of(name, {})),))


def quarter_turn(step: Any) -> NativeStep:
    """One of four turns."""
    return NativeStep(ONE_OF_FOUR, TURNS, tuple(map(_bits, QUARTERS)), _turned(type(step).__name__))


def any_turn(step: Any) -> NativeStep:
    """One of the eight symmetries of the square."""
    return NativeStep(ONE_OF_EIGHT, TURNS, tuple(map(_bits, D4.values())), _turned(type(step).__name__))


def _turned(name: str) -> Any:
    return lambda params: (_bits(symmetry_of(name, params)),)


def _bits(symmetry: Symmetry) -> float:
    return float(symmetry.transpose + 2 * symmetry.flip_y + 4 * symmetry.flip_x)


def random_window(step: Any) -> NativeStep | None:
    """A window of a size anywhere in the picture."""
    return None if step.pad_if_needed else NativeStep(ANY_WINDOW, CUTS, (step.height, step.width), _window)


def centre_window(step: Any) -> NativeStep | None:
    """A window of a size in the middle."""
    return None if step.pad_if_needed else NativeStep(CENTRE, CUTS, (step.height, step.width), _window)


def fixed_window(step: Any) -> NativeStep | None:
    """The same window of every picture."""
    box = (step.x_min, step.y_min, step.x_max, step.y_max)
    return None if step.pad_if_needed else NativeStep(NOTHING, CUTS, box, _window)


def resized_crop(step: Any) -> NativeStep | None:
    """A window of some part of the area and some proportions, resized."""
    (least, most), (low, high) = step.scale, step.ratio
    return _resized(step, RESIZED_CROP, (least, most, math.log(low), math.log(high), low, high))


def sized_crop(step: Any) -> NativeStep | None:
    """A window of some height and fixed proportions, resized."""
    return _resized(step, SIZED_CROP, (*step.min_max_height, step.w2h_ratio))


def _resized(step: Any, draw: int, arguments: tuple[float, ...]) -> NativeStep | None:
    smaller = cv2.INTER_AREA if step.area_for_downscale else step.interpolation
    if step.interpolation not in _KERNELS:
        return None
    kernels = _KERNELS[step.interpolation] + _KERNELS[smaller]
    return NativeStep(draw, CUTS_AND_RESIZES, arguments, _window, (*step.size, step.interpolation, smaller), kernels)


def resize(step: Any) -> NativeStep | None:
    """A picture of one size."""
    if step.interpolation not in _KERNELS or step.area_for_downscale:
        return None
    does = (step.height, step.width, step.interpolation)
    return NativeStep(NOTHING, RESIZES, (), lambda _: (), does, _KERNELS[step.interpolation])


def _window(params: Mapping[str, Any]) -> tuple[float, ...]:
    return () if params.get("pad_params") else tuple(float(v) for v in params["crop_coords"])
