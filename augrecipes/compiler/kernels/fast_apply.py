"""What does the work of a class faster, bit for bit, where no native op does: its record in ops/ names it, as `fast`.

Either a class, put in front of albumentations', or a function that makes of a transform and the kernels what does the
work of its `apply`. Plans of `exact` and `fast` run by this once it has shown, at first use in a process, that its bits
are those of albumentations on the OpenCV that is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pkgutil import resolve_name
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import change_class, wrap_apply
from augrecipes.compat.steps import sampler_of
from augrecipes.compiler.kernels.probes import images, probe
from augrecipes.native.kernels import library
from augrecipes.ops.places import right_class
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import get_class

# (image, **what was drawn) → the result, in memory of its own or the image itself; None: that is albumentations' to do.
Apply = Callable[..., np.ndarray | None]
_SEEDS = 2  # of what is drawn for each image


def attach(steps: Iterable[Any]) -> None:
    """Let transforms, which no Compose has taken up yet, run by what does their work faster, where there is any."""
    for step in steps:
        fast = _fast(step)
        if isinstance(fast, type):
            base = get_class(type(step).__name__)
            if type(step) is right_class(base):
                change_class(step, right_class(base, fast))
        elif (works := fast_function(step)) is not None:
            wrap_apply(step, _first, works)


def _fast(step: Any) -> Any:
    """What the record of a transform's class names; None where it names nothing, or there are no kernels."""
    name = op_record(type(step).__name__).fast
    return resolve_name(f"{__package__}.{name}") if name and library() is not None else None


def fast_function(step: Any) -> Apply | None:
    """What does the work of a transform's `apply`; None where there is nothing, or its bits are others."""
    make, kernels = _fast(step), library()
    if make is None or isinstance(make, type) or kernels is None:
        return None
    works: Apply = make(step, kernels)
    return works if same_bits(step, works) else None


def takes(img: np.ndarray) -> bool:
    """Whether an image is uint8 RGB, contiguous, and OpenCV's Python sees that."""
    if img.shape[:2] == (4, 1):
        return False  # a plane of it is a number with four parts to OpenCV's Python, and some classes fail on that
    return img.dtype == np.uint8 and img.ndim == 3 and img.shape[2] == 3 and img.size > 0 and img.flags.c_contiguous


def same_bits(step: Any, works: Apply) -> bool:
    """Whether it makes of images what the class does, of what the step draws: asked once a process."""
    cls = type(step)
    known = cls, "fast", cls.apply, repr(step.get_transform_init_args()), library()
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
    """What the faster way makes of an image or, where it makes nothing of it, what the class does."""
    done = None if args else works(img, **params)
    return apply(img, *args, **params) if done is None else done
