"""Flips, turns, resizes, and windows that are resized, as numbers of a program. What pads stands in borders.py."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from augrecipes.compiler.kernels.resize_native import KERNELS
from augrecipes.native.op_numbers import DRAWS, EFFECTS, LIMITS, OPTIONS
from augrecipes.ops.constants import AREA
from augrecipes.ops.dihedral import D4, QUARTERS, Symmetry, symmetry_of
from augrecipes.ops.native_op import Draws, NativeOp, params_getter

_MOST_LENGTHS = LIMITS.DRAW_ARGUMENTS - 2
_ANY_WINDOW = (0.0, 0.0, 1.0, 1.0)  # until one is drawn


def nothing(step: Any) -> NativeOp:
    """A step that leaves everything as it is."""
    return NativeOp(DRAWS.NOTHING, EFFECTS.KEEPS)


def flip(step: Any) -> NativeOp:
    """A flip or a transposition, which draws nothing."""
    return _turned(step, DRAWS.NOTHING, (symmetry_of(type(step).__name__, {}),))


def quarter_turn(step: Any) -> NativeOp:
    """One of four turns."""
    return _turned(step, DRAWS.ONE_OF_FOUR, QUARTERS)


def any_turn(step: Any) -> NativeOp:
    """One of the eight symmetries of the square."""
    return _turned(step, DRAWS.ONE_OF_EIGHT, D4.values())


def _turned(step: Any, draw: int, symmetries: Iterable[Symmetry]) -> NativeOp:
    name = type(step).__name__
    draws: Draws = lambda params: (_bits(symmetry_of(name, params)),)  # noqa: E731
    return NativeOp(draw, EFFECTS.FLIPS, tuple(map(_bits, symmetries)), draws)


def _bits(symmetry: Symmetry) -> float:
    return float(symmetry.transpose + 2 * symmetry.flip_y + 4 * symmetry.flip_x)


def inner_window(step: Any) -> NativeOp:
    """A window that leaves out some of each border."""
    parts = (step.crop_left, step.crop_right, step.crop_top, step.crop_bottom)
    return NativeOp(DRAWS.BORDERS, EFFECTS.CROPS, parts, _window)


def resized_crop(step: Any) -> NativeOp | None:
    """A window of some part of the area and some proportions, resized."""
    (least, most), (low, high) = step.scale, step.ratio
    return _resized(step, DRAWS.RESIZED_CROP, (least, most, math.log(low), math.log(high), low, high))


def sized_crop(step: Any) -> NativeOp | None:
    """A window of some height and fixed proportions, resized."""
    return _resized(step, DRAWS.SIZED_CROP, (*step.min_max_height, step.w2h_ratio))


def window_about_boxes(step: Any) -> NativeOp:
    """A window that boxes have a say in."""
    return NativeOp(DRAWS.NOTHING, EFFECTS.CROPS, _ANY_WINDOW, _window, drawn_in_python=True)


def resized_about_boxes(step: Any) -> NativeOp | None:
    """The same, resized."""
    found = resize(step)
    return found and replace(
        found, effect=EFFECTS.CROPS_AND_RESIZES, arguments=_ANY_WINDOW, expected_draws=_window, drawn_in_python=True
    )


_window = params_getter("crop_coords")


def _resized(step: Any, draw: int, arguments: tuple[float, ...]) -> NativeOp | None:
    both = _interpolations(step)
    return both and NativeOp(draw, EFFECTS.CROPS_AND_RESIZES, arguments, _window, (*step.size, *both))


def resize(step: Any) -> NativeOp | None:
    """An image of one size."""
    both = _interpolations(step)
    return both and NativeOp(DRAWS.NOTHING, EFFECTS.RESIZES, effect_arguments=(step.height, step.width, *both))


def to_target(step: Any) -> NativeOp | None:
    """An image of the size of a target that is being made: see `ProgramMemory.resize_to`."""
    how = step.interpolation
    return None if how is None else NativeOp(DRAWS.NOTHING, EFFECTS.RESIZES, effect_arguments=(0, 0, how, how))


def shorter_side(step: Any) -> NativeOp | None:
    """An image whose shorter side is of one length, or of one of several; or that covers a size."""
    return _to_side(step, OPTIONS.SHORTER_SIDE, OPTIONS.COVERS)


def longer_side(step: Any) -> NativeOp | None:
    """An image whose longer side is of one length, or of one of several; or that fits into a size."""
    return _to_side(step, OPTIONS.LONGER_SIDE, OPTIONS.FITS)


def _to_side(step: Any, side: int, of_both: int) -> NativeOp | None:
    lengths = step.max_size
    if lengths is None:
        height, width = step.max_size_hw
        if height is None or width is None:
            side, lengths = (OPTIONS.WIDTH, width) if height is None else (OPTIONS.HEIGHT, height)
        else:
            return _scaled(step, DRAWS.SIDE_LENGTH, (of_both, 0, height, width), rounds=True)
    several = isinstance(lengths, list | tuple)
    if several and not 0 < len(lengths) <= _MOST_LENGTHS:
        return None
    arguments = (side, len(lengths), *lengths) if several else (side, 0, lengths)
    return _scaled(step, DRAWS.SIDE_LENGTH, arguments, rounds=True)


def scaled(step: Any) -> NativeOp | None:
    """An image larger or smaller by a factor."""
    return _scaled(step, DRAWS.SCALE, step.scale_limit, rounds=False)


def _scaled(step: Any, draw: int, arguments: tuple[float, ...], *, rounds: bool) -> NativeOp | None:
    both = _interpolations(step)
    return both and NativeOp(draw, EFFECTS.SCALES, arguments, params_getter("scale"), (*both, rounds))


def _interpolations(step: Any) -> tuple[int, int] | None:
    """How a step resizes, and where it makes smaller; None: no kernel does that."""
    by_areas = getattr(step, "area_for_downscale", None)
    return (step.interpolation, AREA if by_areas else step.interpolation) if step.interpolation in KERNELS else None
