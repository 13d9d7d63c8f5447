"""What does the work of a class's `apply` quicker, bit for bit, where no native op does.

A class's record in ops/ names it. Plans of `exact` and `fast` run by it, once it has shown, at first use in a process,
that its bits are those of albumentations on the OpenCV that is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import wrap_apply
from augrecipes.compat.replaced_functions import same_matrix, with_functions, with_matrix
from augrecipes.compat.steps import sampler_of
from augrecipes.compiler.kernels import warp_native
from augrecipes.compiler.kernels.maps import with_quick_maps
from augrecipes.compiler.kernels.places import with_quick_places
from augrecipes.compiler.kernels.probes import images, probe
from augrecipes.native.kernels import library
from augrecipes.ops.records import op_record

# (image, **what was drawn) → the result, in memory of its own or the image itself; None: that is albumentations' to do.
Apply = Callable[..., np.ndarray | None]
_SEEDS = 2  # of what is drawn for each image


def attach(steps: Iterable[Any]) -> None:
    """Let transforms, which no Compose has taken up yet, run by what does their work quicker, where there is any.

    What draws maps, matrices and places, and what samples by maps, have quicker functions, too.
    """
    warps = warp_native.here()
    for step in steps:
        with_matrix(with_quick_maps(with_quick_places(step)), same_matrix)
        if warps is not None:
            with_functions(step, ("apply", "apply_to_mask"), {"remap": warps.remap})
        if (works := quicker(step)) is not None:
            wrap_apply(step, _first, works)


def quicker(step: Any) -> Apply | None:
    """What does the work of a transform's `apply`; None where there is nothing, or its bits are others.

    A class's module of this folder makes it of a transform and the kernels by `quick`.
    """
    name, kernels = op_record(type(step).__name__).quick, library()
    if not name or kernels is None:
        return None
    works: Apply = import_module(f"{__package__}.{name}").quick(step, kernels)
    return works if same_bits(step, works) else None


def takes(img: np.ndarray) -> bool:
    """Whether an image is uint8 RGB, contiguous, and OpenCV's Python sees that."""
    if img.shape[:2] == (4, 1):
        return False  # a plane of it is a number with four parts to OpenCV's Python, and some classes fail on that
    return img.dtype == np.uint8 and img.ndim == 3 and img.shape[2] == 3 and img.size > 0 and img.flags.c_contiguous


def same_bits(step: Any, works: Apply) -> bool:
    """Whether it makes of images what the class does, of what the step draws: asked once a process."""
    cls = type(step)
    known = cls, "quick", cls.apply, repr(step.get_transform_init_args()), library()
    return probe(known, lambda: _agree(step, works))


def _agree(step: Any, works: Apply) -> Iterator[bool]:
    """Of each image that the class takes, and some draws, whether both make the same of it."""
    draw = sampler_of(step)
    for seed, image in product(range(_SEEDS), images()):
        step.set_random_seed(seed)
        try:
            drawn = draw({"image": image, "mask": image[..., 0] // 86})
        except Exception:  # it is too small
            continue
        done = works(image.copy(), **drawn)
        if done is not None:  # else the class need not be asked, which may warn of so small an image
            yield np.array_equal(done, type(step).apply(step, image.copy(), **drawn))


def _first(works: Apply, apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """What the quick way makes of an image or, where it makes nothing of it, what the class does."""
    done = None if args else works(img, **params)
    return apply(img, *args, **params) if done is None else done
