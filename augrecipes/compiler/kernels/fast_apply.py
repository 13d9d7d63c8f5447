"""Faster implementations of transforms, used where they reproduce the class's bits on probe images."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import product
from pkgutil import resolve_name
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import change_class, sampler_of, wrap_apply
from augrecipes.errors import logger
from augrecipes.native.kernels import library
from augrecipes.ops.places import right_class
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import get_class

_ANSWERS: dict[tuple[Any, ...], bool] = {}


def probe(key: tuple[Any, ...], trials: Callable[[], Iterable[bool]]) -> bool:
    """Run trials once per process and key; return whether there are any and all succeed. An exception is a failure.

    Args:
        key: the key of the cached answer; its first part names what is tried.
        trials: yields whether each trial succeeds.
    """
    if key not in _ANSWERS:
        try:
            results = [*trials()]
            _ANSWERS[key] = bool(results) and all(results)
        except Exception as error:  # another release of albumentations, say, whose `apply` takes something else
            logger.debug("%s runs as it is: %s: %s", key[0], type(error).__name__, error)
            _ANSWERS[key] = False
    return _ANSWERS[key]


@cache
def images() -> tuple[np.ndarray, ...]:
    """Probe images, uint8 RGB: corners of the colour cube, a grid and a scatter in it, greys, and small images."""
    levels = np.array([0, 1, 2, 127, 128, 253, 254, 255], np.uint8)
    edges = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(16, 32, 3)
    steps = np.arange(0, 256, 17, dtype=np.uint8)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(64, 64, 3)
    words = np.arange(3 * 61 * 67, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    scatter = (words >> np.uint64(56)).astype(np.uint8).reshape(61, 67, 3)
    greys = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(8, 32, 3)
    return edges, grid, scatter, greys, scatter[:5, :7].copy(), scatter[:1, :1].copy(), np.zeros((3, 5, 3), np.uint8)


@cache
def squares() -> tuple[np.ndarray, ...]:
    """Probe images for JPEG, one of them grey. A block decodes at quality 1 to values below -400, where decoders that
    clamp by a table of 1024 entries wrap round.
    """
    bits = np.array([0xA442FF4D55E3B68F], ">u8").view(np.uint8)
    block = np.unpackbits(bits).reshape(8, 8, 1) * np.uint8(255)
    ramp = np.arange(23 * 45, dtype=np.uint32).reshape(23, 45, 1)
    return block, np.repeat(block, 3, axis=2), (ramp * ramp * 977 >> 13).astype(np.uint8)


@cache
def many_colours() -> tuple[np.ndarray, ...]:
    """So many colours that every entry of the Lab tables decides some of them; and a grey image."""
    words = np.arange(1 << 18, dtype=np.uint32) * np.uint32(0x9E3779B1)
    colours = words.view(np.uint8).reshape(512, 512, 4)[..., 1:].copy()
    return colours, colours[:61, :67, :1].copy()


# (image, **draws) → the result, in new memory or the image itself; None: albumentations must do it.
Apply = Callable[..., np.ndarray | None]
_SEEDS = 2  # draws tried per image


def attach(steps: Iterable[Any]) -> None:
    """Give transforms their faster implementations; before a Compose takes them up."""
    for step in steps:
        fast = _fast(step)
        if isinstance(fast, type):
            base = get_class(type(step).__name__)
            if type(step) is right_class(base):
                change_class(step, right_class(base, fast))
        elif (function := fast_function(step)) is not None:
            wrap_apply(step, _fast_or_plain, function)


def _fast(step: Any) -> Any:
    """The faster implementation that the class's record names; None without one, or without kernels."""
    name = op_record(type(step).__name__).fast
    return resolve_name(f"{__package__}.{name}") if name and library() is not None else None


def fast_function(step: Any) -> Apply | None:
    """The faster `apply` of a transform; None where there is none, or its bits differ."""
    fast = _fast(step)
    if fast is None or isinstance(fast, type):
        return None
    function = partial(fast, step, library())
    return function if same_bits(step, function) else None


def takes(img: np.ndarray) -> bool:
    """Whether an image is uint8 RGB, contiguous, and OpenCV's Python sees that."""
    if img.shape[:2] == (4, 1):
        return False  # OpenCV's Python takes a 4×1 plane for a scalar, and some classes fail on that
    return img.dtype == np.uint8 and img.ndim == 3 and img.shape[2] == 3 and img.size > 0 and img.flags.c_contiguous


def same_bits(step: Any, function: Apply) -> bool:
    """Whether `function` reproduces the class's bits under the step's draws; probed once per process."""
    cls = type(step)
    key = cls, "fast", cls.apply, repr(step.get_transform_init_args()), library()
    return probe(key, lambda: _agree(step, function))


def _agree(step: Any, function: Apply) -> Iterator[bool]:
    """Compare the results of both on each probe image that the class takes, under some draws."""
    draw = sampler_of(step)
    for seed, image in product(range(_SEEDS), images()):
        step.set_random_seed(seed)
        try:
            draws = draw({"image": image, "mask": image[..., 0] // 86})
        except Exception:  # it is too small
            continue
        result = function(image.copy(), **draws)
        if result is not None:  # otherwise the class is not called: it may warn of so small an image
            yield np.array_equal(result, type(step).apply(step, image.copy(), **draws))


def _fast_or_plain(function: Apply, apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """The result of the faster function or, where it declines, of the class."""
    result = None if args else function(img, **params)
    return apply(img, *args, **params) if result is None else result
