"""What does the work of a class's `apply` quicker, bit for bit, where no native op does.

A class's record in ops/ names it. Plans of `exact` and `fast` run by it, once it has shown, at first use in a process,
that its bits are those of albumentations on the OpenCV that is installed.
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
from augrecipes.compiler.kernels import noise_native, painted, resize_native, warp_native
from augrecipes.compiler.kernels.maps import with_quick_maps
from augrecipes.compiler.kernels.places import with_quick_places
from augrecipes.compiler.kernels.probes import pictures
from augrecipes.native.kernels import library
from augrecipes.ops.capabilities import claims

_log = logging.getLogger("augrecipes")
# (image, **what was drawn) → the result, in memory of its own or the image itself; None: that is albumentations' to do.
Apply = Callable[..., np.ndarray | None]
# A transform, and what it may have drawn.
Case = tuple[Any, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class QuickApply:
    """What stands for the `apply` of a class.

    Attributes:
        make: from a transform to what does its work; None where its arguments, or this machine, do not allow it.
        cases: from the class to what it is probed with, on each of the pictures of `probes.py`.
    """

    make: Callable[[Any], Apply | None]
    cases: Callable[[type], Iterable[Case]] = lambda _: ()


def attach(steps: Iterable[Any]) -> None:
    """Let transforms, which no Compose has taken up yet, run by what does their work quicker, where there is any.

    The functions that they share, which they call for geometry and pixels, have quicker ones, too.
    """
    shapes = {**warp_native.functions(), **resize_native.functions()}
    pixels = {**noise_native.functions(), **painted.functions()}
    for step in steps:
        for drawn_by in (with_quick_places, with_quick_maps, with_same_matrix):
            drawn_by(step)
        with_functions(step, ("apply", "apply_to_mask"), shapes)
        with_functions(step, ("apply_to_bboxes",), moved_boxes.functions())
        with_functions(step, ("apply", "get_params_dependent_on_data"), pixels, "fpixel")
        if (works := quicker(step)) is not None:
            wrap_apply(step, _first, works)


def quicker(step: Any) -> Apply | None:
    """What does the work of a transform's `apply`; None where there is nothing, or its bits are others."""
    cls: Any = type(step)
    name = claims(cls.__name__).quick
    return found(name).make(step) if name and same_bits(cls, name, library()) else None


def found(name: str) -> QuickApply:
    """What a module of this folder has for a class."""
    made: QuickApply = import_module(f"{__package__}.{name}").QUICK
    return made


def takes(img: np.ndarray) -> bool:
    """Whether a picture is uint8 RGB, contiguous, and OpenCV's Python sees that."""
    if img.shape[:2] == (4, 1):
        return False  # a plane of it is a number with four parts to OpenCV's Python, and some classes fail on that
    return img.dtype == np.uint8 and img.ndim == 3 and img.shape[2] == 3 and img.size > 0 and img.flags.c_contiguous


@cache
def same_bits(cls: Any, name: str, kernels: Any) -> bool:
    """Whether it makes of all pictures what the class does, on these native kernels: asked once a process."""
    del kernels  # those that `library` gives; an answer for others would be another
    try:
        return all(_agrees(found(name), *case) for case in found(name).cases(cls))
    except Exception as error:  # another release of albumentations, say, which draws something else
        _log.debug("%s runs as it is: %s: %s", cls, type(error).__name__, error)
        return False


def _agrees(one: QuickApply, step: Any, drawn: dict[str, Any]) -> bool:
    if (works := one.make(step)) is None:
        return True
    for picture in pictures():
        done = works(picture.copy(), **drawn)
        if done is not None and not np.array_equal(done, step.apply(picture.copy(), **drawn)):
            return False
    return True


def _first(works: Apply, apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """What the quick way makes of an image or, where it makes nothing of it, what the class does."""
    done = None if args else works(img, **params)
    return apply(img, *args, **params) if done is None else done
