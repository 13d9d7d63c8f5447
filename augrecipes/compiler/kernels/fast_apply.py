"""What does the work of a class faster, bit for bit, where no native op does: its record in ops/ names it, as `fast`.

Either a class, put in front of albumentations', or a function that does the work of a transform's `apply`. Plans of
`exact` and `fast` run by such a function once it has shown, at first use in a process, that its bits are those of
albumentations on the OpenCV that is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
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

# (image, **draws) → the result, in memory of its own or the image itself; None: that is albumentations' to do.
Apply = Callable[..., np.ndarray | None]
_SEEDS = 2  # of the draws for each image


def attach(steps: Iterable[Any]) -> None:
    """Let transforms, which no Compose has taken up yet, run by what does their work faster, where there is any."""
    for step in steps:
        fast = _fast(step)
        if isinstance(fast, type):
            base = get_class(type(step).__name__)
            if type(step) is right_class(base):
                change_class(step, right_class(base, fast))
        elif (function := fast_function(step)) is not None:
            wrap_apply(step, _first, function)


def _fast(step: Any) -> Any:
    """What the record of a transform's class names; None where it names nothing, or there are no kernels."""
    name = op_record(type(step).__name__).fast
    return resolve_name(f"{__package__}.{name}") if name and library() is not None else None


def fast_function(step: Any) -> Apply | None:
    """What does the work of a transform's `apply`; None where there is nothing, or its bits are others."""
    fast = _fast(step)
    if fast is None or isinstance(fast, type):
        return None
    function = partial(fast, step, library())
    return function if same_bits(step, function) else None


def takes(img: np.ndarray) -> bool:
    """Whether an image is uint8 RGB, contiguous, and OpenCV's Python sees that."""
    if img.shape[:2] == (4, 1):
        return False  # a plane of it is a number with four parts to OpenCV's Python, and some classes fail on that
    return img.dtype == np.uint8 and img.ndim == 3 and img.shape[2] == 3 and img.size > 0 and img.flags.c_contiguous


def same_bits(step: Any, function: Apply) -> bool:
    """Whether it makes of images what the class does, of what the step draws: asked once a process."""
    cls = type(step)
    key = cls, "fast", cls.apply, repr(step.get_transform_init_args()), library()
    return probe(key, lambda: _agree(step, function))


def _agree(step: Any, function: Apply) -> Iterator[bool]:
    """Of each image that the class takes, and some draws, whether both make the same of it."""
    draw = sampler_of(step)
    for seed, image in product(range(_SEEDS), images()):
        step.set_random_seed(seed)
        try:
            draws = draw({"image": image, "mask": image[..., 0] // 86})
        except Exception:  # it is too small
            continue
        result = function(image.copy(), **draws)
        if result is not None:  # else the class need not be asked, which may warn of so small an image
            yield np.array_equal(result, type(step).apply(step, image.copy(), **draws))


def _first(function: Apply, apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """The result of the faster way or, where it has none, of the class."""
    result = None if args else function(img, **params)
    return apply(img, *args, **params) if result is None else result
