"""Twins: what does the work of a class's `apply` quicker, bit for bit.

A class's record in ops/ names its twin. Plans of `exact` and `fast` run by it, once it has shown, at first use in a
process, that its bits are those of albumentations on the OpenCV that is installed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from augrecipes.compat import moved_boxes
from augrecipes.compat.albumentations import wrap_apply
from augrecipes.compat.instead import with_functions
from augrecipes.compat.samplers import with_same_matrix
from augrecipes.compiler.kernels import noise_native, padded, painted, resize_native, warp_native
from augrecipes.compiler.kernels.maps import with_quick_maps
from augrecipes.compiler.kernels.places import with_quick_places
from augrecipes.compiler.kernels.streaks import with_quick_streak
from augrecipes.native.kernels import library
from augrecipes.ops.capabilities import claims

_log = logging.getLogger("augrecipes")
# (image, **what was drawn) → the result, in memory of its own or the image itself; None: that is albumentations' to do.
Apply = Callable[..., np.ndarray | None]
# A transform, and what it may have drawn.
Case = tuple[Any, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Twin:
    """What stands for the `apply` of a class.

    Attributes:
        make: from a transform to what does its work; None where its arguments, or this machine, do not allow it.
        cases: from the class to what it is probed with, on each of `pictures`.
        shown: more pictures.
    """

    make: Callable[[Any], Apply | None]
    cases: Callable[[type], Iterable[Case]]
    shown: Callable[[], tuple[np.ndarray, ...]] = tuple


def attach(steps: Iterable[Any]) -> None:
    """Let transforms, which no Compose has taken up yet, run by their twins, where there are any.

    What albumentations' transforms share, the functions that they call for geometry and pixels, has twins of its own.
    """
    shapes = {**warp_native.functions(), **resize_native.functions(), **padded.functions()}
    pixels = {**noise_native.functions(), **painted.functions()}
    for step in steps:
        for drawn_by in (with_quick_places, with_quick_streak, with_quick_maps, with_same_matrix):
            drawn_by(step)
        with_functions(step, ("apply", "apply_to_mask"), shapes)
        with_functions(step, ("apply_to_bboxes",), moved_boxes.functions())
        with_functions(step, ("apply", "get_params_dependent_on_data"), pixels, "fpixel")
        if (works := quicker(step)) is not None:
            wrap_apply(step, _first, works)


def quicker(step: Any) -> Apply | None:
    """What a transform's twin does its work by; None where there is none, or where its bits are others."""
    cls: Any = type(step)
    name = claims(cls.__name__).twin
    return twin(name).make(step) if name and same_bits(cls, name, library()) else None


def twin(name: str) -> Twin:
    """The twin of this name: a module of this folder, and what is called so in it."""
    module, _, attribute = name.partition(":")
    found: Twin = getattr(import_module(f"{__package__}.{module}"), attribute)
    return found


@cache
def same_bits(cls: Any, name: str, kernels: Any) -> bool:
    """Whether a twin makes of all `pictures` what its class does, on these native kernels: asked once a process."""
    del kernels  # those that `library` gives; an answer for others would be another
    try:
        return all(_agrees(twin(name), *case) for case in twin(name).cases(cls))
    except Exception as error:  # another release of albumentations, say, which draws something else
        _log.debug("%s runs as it is: %s: %s", cls, type(error).__name__, error)
        return False


def _agrees(one: Twin, step: Any, drawn: dict[str, Any]) -> bool:
    if (works := one.make(step)) is None:
        return True
    for picture in pictures() + one.shown():
        done = works(picture.copy(), **drawn)
        if done is not None and not np.array_equal(done, step.apply(picture.copy(), **drawn)):
            return False
    return True


@cache
def pictures() -> tuple[np.ndarray, ...]:
    """What twins are probed with, uint8 RGB: every corner of the cube, a grid and a scatter of it, greys, and tails."""
    levels = np.array([0, 1, 2, 127, 128, 253, 254, 255], np.uint8)
    edges = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(16, 32, 3)
    steps = np.arange(0, 256, 17, dtype=np.uint8)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(64, 64, 3)
    words = np.arange(3 * 61 * 67, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    scatter = (words >> np.uint64(56)).astype(np.uint8).reshape(61, 67, 3)
    greys = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(8, 32, 3)
    return edges, grid, scatter, greys, scatter[:5, :7].copy(), scatter[:1, :1].copy(), np.zeros((3, 5, 3), np.uint8)


def _first(works: Apply, apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """What the twin makes of an image or, where it makes nothing of it, what the class does."""
    done = None if args else works(img, **params)
    return apply(img, *args, **params) if done is None else done
