"""Steps on uint16 and float32 images, which no program takes, with fewer copies and the same bits."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import product
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import wrap_apply
from augrecipes.compiler.kernels import fast_apply
from augrecipes.compiler.kernels.opencv_bits import asked_once
from augrecipes.native.kernels import address_of, library
from augrecipes.ops.constants import LINEAR
from augrecipes.ops.fills import setting
from augrecipes.ops.matrices import symmetry_of
from augrecipes.ops.records import op_record

_IMAGE, _RGB = 3, 3  # axes; channels
_FEW = 1 << 12  # values: smaller images are not worth a fourth channel


def attach(steps: Iterable[Any], targets: frozenset[str]) -> None:
    """Let transforms return views where they only turn or cut, and warp faster; before a Compose takes them up.

    Args:
        steps: the transforms.
        targets: names of the targets that may be views.
    """
    for step in steps:
        name = type(step).__name__
        record = op_record(name)
        if record.fast.startswith("samplers:"):  # faster samplers serve all dtypes
            fast_apply.attach([step])
        if record.action == "dihedral":
            wrap_apply(step, _symmetric_view, name)
            step.takes_views = step.leaves_views = targets
        elif record.action == "window" and not getattr(step, "pad_if_needed", False):
            step.takes_views = step.leaves_views = targets
        elif record.turns and getattr(step, "interpolation", None) == LINEAR and warps_channels_alike():
            wrap_apply(step, _by_four_channels, step)
            step.leaves_views = targets


def in_order(array: np.ndarray) -> np.ndarray:
    """The array as a contiguous one; the same object where it is."""
    if array.flags.c_contiguous:
        return array
    if array.ndim == _IMAGE and array.strides[2] == array.itemsize and (kernels := library()) is not None:
        (row, pixel, _), size, copy = array.strides, array[0, 0].nbytes, kernels.kernel("copy_pixels", "plllllp")
        out = np.empty(array.shape, array.dtype)
        # Contiguous rows numpy copies just as fast.
        if pixel != size and copy(address_of(array), row, pixel, *array.shape[:2], size, address_of(out)) == 0:
            return out
    return np.ascontiguousarray(array)


def _symmetric_view(name: str, apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """Flip or turn an image as a view."""
    return apply(img, *args, **params) if args else symmetry_of(name, params).view(img)


def _by_four_channels(step: Any, apply: Callable[..., Any], img: Any, *args: Any, **params: Any) -> Any:
    """Warp three 16-bit or float channels with a fourth added, which takes OpenCV half the time."""
    if img.dtype not in (np.uint16, np.float32) or img.ndim != _IMAGE or img.shape[2] != _RGB or img.size < _FEW:
        return apply(img, *args, **params)
    fill: Any = getattr(step, "fill", 0)
    if np.ndim(fill) and len(fill) != _RGB:
        return apply(img, *args, **params)  # raises the class's own error
    with setting(step, "fill", (*fill, 0)) if np.ndim(fill) else nullcontext():
        return apply(cv2.cvtColor(img, cv2.COLOR_RGB2RGBA), *args, **params)[..., :_RGB]


@asked_once
def warps_channels_alike() -> Iterator[bool]:
    """Whether the installed OpenCV warps a channel to the same bits in images of three and of four channels."""
    random, fill = np.random.default_rng(0), (250.5, 3.0, 0.25, 9.0)
    for dtype, border, size in product((np.uint16, np.float32), range(5), ((61, 47), (150, 133), (33, 9))):
        image = (random.random((*size, 4)) * 65535).astype(dtype)
        matrix = np.array([[0.8, 0.3, -9.0], [-0.3, 0.9, 11.0], [1e-4, -2e-4, 1.0]])
        for warp, rows in ((cv2.warpAffine, 2), (cv2.warpPerspective, 3)):
            three, four = (
                warp(source, matrix[:rows], (77, 53), flags=LINEAR, borderMode=border, borderValue=fill)
                for source in (image[..., :_RGB].copy(), image)
            )
            yield np.array_equal(three, four[..., :_RGB])
