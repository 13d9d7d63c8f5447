"""Steps as numbers: what a native plan holds of each, and how it is known that it draws what albumentations draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from augrecipes.ops.capabilities import claims

# What steps draw, as native/draws.h numbers it, and what that does, as native/plan.c does.
NOTHING, ONE_OF_FOUR, ONE_OF_EIGHT, ANY_WINDOW, CENTRE, RESIZED_CROP, SIZED_CROP, ROTATION, AFFINE, JITTER = range(10)
TO_SIDE, SCALE, PADDING, PADDED_BOX, BORDERS, SIDES, BY_WEIGHT, SOME, SAFE_ROTATION = range(10, 19)
CUTS, TURNS, RESIZES, CUTS_AND_RESIZES, WARPS, KEEPS, SCALES, PADS, PADS_AND_CUTS, CUTS_AND_PADS = range(10)
TILTS = 14
MERGES, MERGED_ENDS, JITTERS, GROUPS, ADJUSTS, MIXES, AMONG_HSV, MADE, EXITS = 16, *range(31, 39)
# From 64 on: what colour_draws.h, tables.h and points.h number; the others stand beside what encodes them.
NUMBERS, SCALES_LEVELS, SHIFTS_HSV, JITTERS_EXACTLY, STAINS = 64, 64, 72, 73, 80
IN_PYTHON = -1  # what no kernel draws


@dataclass(frozen=True, slots=True)
class NativeStep:
    """A step as numbers.

    Attributes:
        draw: what it draws.
        effect: what that does.
        arguments: of the draw, at most 16.
        does: arguments of the effect, at most 8.
        seen: from the parameters that albumentations' sampler draws to the numbers that are drawn instead.
        kernels: of resizes, whose bits have to be OpenCV's.
        changes: it changes values, and is held to the step on some pictures when a plan is made.
        given: what it draws goes by boxes: Python draws it, and it takes the place of `arguments` before each sample.
    """

    draw: int
    effect: int
    arguments: tuple[float, ...]
    seen: Callable[[Mapping[str, Any]], tuple[float, ...]]
    does: tuple[float, ...] = ()
    kernels: tuple[str, ...] = ()
    changes: bool = False
    given: bool = False


@dataclass(frozen=True, slots=True)
class KeyedStep:
    """A step of a native plan.

    Attributes:
        label: keys its draws.
        shared: whether the tiles of a bag draw as one.
        p: it acts where its first draw is below.
        numbers: what it draws and does.
        cell: pixels along each of the squares that it counts: of a pair's steps.
        alone: it is carried out by itself, so that albumentations may do it in the place of the kernels.
        forced: its group has chosen it, so that it acts whatever its first draw would be.
    """

    label: str
    shared: bool
    p: float
    numbers: NativeStep
    cell: int = 1
    alone: bool = False
    forced: bool = False


KEPT = NativeStep(NOTHING, KEEPS, (), lambda _: ())
LEFT = NativeStep(IN_PYTHON, KEEPS, (), lambda _: ())  # Python makes all of a sample in which it acts
OPAQUE = NativeStep(IN_PYTHON, EXITS, (), lambda _: ())  # albumentations carries it out, and nothing else


def encode(step: Any, *, joined: bool = False) -> NativeStep | None:
    """A transform as numbers, joined with others or alone; None where native plans do not know it, or not like this."""
    record = claims(type(step).__name__)
    module, _, name = (record.native_joined if joined else record.native).partition(":")
    if not module:
        return None
    encoder: Callable[[Any], NativeStep | None] = getattr(import_module(f"{__package__}.{module}"), name)
    return encoder(step)
