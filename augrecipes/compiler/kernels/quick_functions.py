"""Functions of albumentations' that loop in Python, or pass over the whole image for each of its parts, done quicker.

They have the names, arguments and bits of its own. A class that calls one of them calls ours, once both have been held
to each other in this process: what it draws, and what it makes of images.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import geometric, pixel
from augrecipes.compat.replaced_functions import with_functions
from augrecipes.compat.steps import sampler_of
from augrecipes.compiler.kernels import quick_light, quick_parts, quick_shapes
from augrecipes.compiler.kernels.probes import holds, images
from augrecipes.native.kernels import Library, library

_F32 = np.float32
_METHODS = ("apply", "apply_to_mask", "get_params_dependent_on_data")
_RGB = 3
_SEEDS = 2
_COMPACT, _TURNS = 10.0, 10  # how near to its centre a segment keeps, and how often centres move


def with_quick_functions(step: Any) -> Any:
    """The transform, which no Compose has taken up yet, with what it calls done quicker, where there is a way."""
    for home, functions in FUNCTIONS.items():
        if not _calls(type(step), functions):
            continue
        known = type(step), home, repr(step.get_transform_init_args()), library()
        if holds(known, partial(_agree, step, home)):
            with_functions(step, _METHODS, functions, home)
    return step


def calls_quick(cls: type) -> bool:
    """Whether a class calls some function that is done quicker here.

    >>> from augrecipes.compat.albumentations import A
    >>> calls_quick(A.Superpixels), calls_quick(A.HorizontalFlip)
    (True, False)
    """
    return any(_calls(cls, functions) for functions in FUNCTIONS.values())


def _calls(cls: type, functions: dict[str, Callable[..., Any]]) -> bool:
    names = (getattr(getattr(cls, method, None), "__code__", None) for method in _METHODS)
    return any(not functions.keys().isdisjoint(code.co_names) for code in names if code is not None)


def _agree(step: Any, home: str) -> Iterator[bool]:
    """Of each image that the class takes, and some draws, whether both ways draw and make the same."""
    quick = with_functions(copy.copy(step), _METHODS, FUNCTIONS[home], home)
    for seed in range(_SEEDS):
        for image in images()[-3 + seed :: -1 if seed else 1]:
            found = []
            for one in (step, quick):
                one.set_random_seed(seed)
                try:
                    drawn = sampler_of(one)({"image": image, "mask": image[..., 0] // 86})
                    found.append((drawn, one.apply(image.copy(), **drawn)))
                except Exception:  # it is too small
                    found.append(({}, np.zeros(0)))
            (drawn, made), (ours, done) = found
            same = drawn.keys() == ours.keys() and all(_equal(drawn[key], ours[key]) for key in drawn)
            yield same and done.dtype == made.dtype and np.array_equal(done, made)


def _equal(one: Any, other: Any) -> bool:
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else bool(one == other)


def get_drop_mask(
    shape: tuple[int, ...], per_channel: bool, dropout_prob: float, random_generator: np.random.Generator
) -> np.ndarray:
    """Which pixels, or values, are dropped: what `Generator.choice` says of two, without looking each of them up."""
    flat = per_channel or len(shape) == 2
    ends = np.cumsum([dropout_prob, 1 - dropout_prob])
    mask = random_generator.random(shape if flat else shape[:2]) < ends[0] / ends[1]
    return mask if flat else np.broadcast_to(mask[..., None], shape)


def superpixels(
    image: np.ndarray, n_segments: int, replace_samples: Sequence[bool], max_size: int | None, interpolation: int
) -> np.ndarray:
    """Segments of alike pixels of a uint8 image, some of which take their mean level, of each channel."""
    kernels = library()
    if not np.any(replace_samples):
        return image
    if image.dtype != np.uint8 or kernels is None:
        own: np.ndarray = pixel.superpixels(image, n_segments, replace_samples, max_size, interpolation)
        return own
    shape = image.shape
    if max_size is not None and max(shape[:2]) > max_size:
        scale = max_size / max(shape[:2])
        image = geometric.resize(image, (int(shape[0] * scale), int(shape[1] * scale)), interpolation)
    labels = _segments(kernels, image, n_segments).reshape(-1) + 1  # 0: of none
    counts, planes = np.bincount(labels), image.reshape(labels.size, -1).copy()
    known = np.flatnonzero(counts)
    known = known[1:] if known[0] == 1 else known  # its first segment is taken for the background
    chosen = np.zeros(counts.size, bool)
    chosen[known] = np.asarray(replace_samples)[np.arange(known.size) % len(replace_samples)]
    where = chosen[labels]
    for channel in planes.T:
        means = np.bincount(labels, channel, counts.size) / np.maximum(counts, 1)
        np.copyto(channel, np.round(means).astype(np.uint8)[labels], where=where)
    made = planes.reshape(image.shape)
    return geometric.resize(made, shape[:2], interpolation) if made.shape != shape else made


def _segments(kernels: Library, image: np.ndarray, count: int) -> np.ndarray:
    """The number of the segment of each pixel of an image, H×W int32."""
    (height, width), channels = image.shape[:2], image.shape[2] if image.ndim > 2 else 1
    values = np.ascontiguousarray(image.astype(_F32) / np.max(image + 1e-6), np.float64)
    step = int((height * width / count) ** 0.5)
    first = np.meshgrid(np.arange(step // 2, width, step), np.arange(step // 2, height, step))
    centres = np.stack(first, axis=-1).reshape(-1, 2).astype(np.int64)
    labels, distances = np.empty((height, width), np.int32), np.empty((height, width))
    sums, arrays = np.empty((len(centres), 3), np.int64), (values, centres, distances, labels)
    at_values, at_centres, at_distances, at_labels = (array.ctypes.data for array in arrays)
    kernels.kernel("segments", "plllplldlppp")(
        at_values, height, width, channels, at_centres, len(centres), step, _COMPACT, _TURNS, sums.ctypes.data,
        at_distances, at_labels,
    )  # fmt: skip
    return labels


def unsharp_mask(image: np.ndarray, ksize: int, sigma: float, alpha: float, threshold: int) -> np.ndarray:
    """A uint8 image sharpened where it differs from its blur."""
    kernels = library()
    if kernels is None or image.dtype != np.uint8 or image.ndim != _RGB or image.shape[2] != _RGB:
        own: np.ndarray = pixel.unsharp_mask(image, ksize, sigma=sigma, alpha=alpha, threshold=threshold)
        return own
    image, size = np.ascontiguousarray(image), (ksize, ksize)
    sharp = cv2.GaussianBlur(cv2.LUT(image, quick_light.UNIT), size, sigma)
    mask, out = np.empty(image.shape, _F32), image.copy()
    given = image.ctypes.data, quick_light.UNIT.ctypes.data, image.size
    kernels.kernel("sharpen_all", "pplffpp")(*given, alpha, threshold, sharp.ctypes.data, mask.ctypes.data)
    soft = cv2.GaussianBlur(mask, size, sigma)
    kernels.kernel("sharpen_some", "pplppp")(*given, sharp.ctypes.data, soft.ctypes.data, out.ctypes.data)
    return out


FUNCTIONS: dict[str, dict[str, Callable[..., Any]]] = {
    "fdropout": quick_parts.FUNCTIONS,
    "fgeometric": quick_shapes.FUNCTIONS["fgeometric"],
    "fpixel": {
        "get_drop_mask": get_drop_mask,
        "superpixels": superpixels,
        "unsharp_mask": unsharp_mask,
        **quick_light.FUNCTIONS,
        **quick_shapes.FUNCTIONS["fpixel"],
    },
}
