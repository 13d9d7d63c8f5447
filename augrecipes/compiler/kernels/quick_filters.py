"""Filters of many weights, which OpenCV makes by Fourier transforms, in a few quick passes: near its levels.

A disc is a sum of runs along rows; what has few rows that are not sums of others is a sum of few separable filters.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import blur, pixel
from augrecipes.compat.replaced_functions import with_functions, with_names
from augrecipes.compiler.kernels.quick_apply import takes
from augrecipes.native.kernels import library

_F32 = np.float32
_NEAR = {"disc": 3.0, "rows": 0.5}  # levels by which other weights may change a pixel, before it is rounded
_FURTHEST = 128  # radius of a disc
_weights_of = with_names(blur.defocus, convolve=lambda img, kernel: kernel)


def attach(step: Any) -> None:
    """Let a transform, which no Compose has taken up yet, filter images of levels by fewer passes."""
    for home, functions in (("fblur", {"defocus": defocus}), ("fpixel", {"convolve": convolve})):
        with_functions(step, ("apply",), functions, home)


def _off(weights: np.ndarray) -> float:
    """By how many levels so much more weight may change a pixel: the levels that it counts are all 0, or 255."""
    return 127.5 * float(np.abs(weights).sum() + abs(weights.sum()))


def defocus(img: np.ndarray, radius: int, alias_blur: float) -> np.ndarray:
    """An image blurred by a disc with soft edges: blurred a little, and then by a disc with hard ones."""
    kernels, weights, radius = library(), _weights_of(img, radius, alias_blur), int(radius)
    size, rows = (3, 3) if radius <= blur.EIGHT else (5, 5), np.arange(-radius, radius + 1)
    margin = len(weights) // 2 - radius + 2
    disc = np.pad((rows * rows + (rows * rows)[:, None] <= radius * radius).astype(_F32), margin)
    share, sums = float(weights.sum() / disc.sum()), np.empty((len(rows), img.shape[1] + len(rows), 3), np.uint16)
    off = _off(np.pad(weights, 2) - cv2.GaussianBlur(disc * share, size, sigmaX=alias_blur))
    if kernels is None or not takes(img) or radius >= _FURTHEST or off > _NEAR["disc"]:
        own: np.ndarray = blur.defocus(img, radius, alias_blur)
        return own
    soft, out = cv2.GaussianBlur(img, size, sigmaX=alias_blur), np.empty_like(img)
    reach = np.sqrt(radius * radius - rows * rows).astype(np.int32)
    given = soft.ctypes.data, *img.shape[:2], reach.ctypes.data, radius, share, sums.ctypes.data, out.ctypes.data
    kernels.kernel("defocus", "pllplfpp")(*given)
    return out


def convolve(img: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """An image filtered by weights: by the columns and rows of the first few parts of their singular values."""
    sizes, columns, rows = cv2.SVDecomp(kernel.astype(np.float64))
    # Weights that are symmetric to the bit take OpenCV half the time.
    rows, columns = (rows + rows[:, ::-1]).astype(_F32), ((columns + columns[::-1]) * sizes.T / 4).astype(_F32)
    near = np.zeros(kernel.shape)
    for count in range(1, (len(kernel) + 2) // 3 + 1 if library() and takes(img) else 1):
        near += np.outer(columns[:, count - 1], rows[count - 1])
        if _off(kernel - near) <= _NEAR["rows"]:
            total, part = np.empty((2, *img.shape), _F32)
            for k in range(count):
                cv2.sepFilter2D(img, cv2.CV_32F, rows[k], columns[:, k], part if k else total)
                if 0 < k < count - 1:
                    cv2.add(total, part, total)
            last: Any = part if count > 1 else 0
            return cv2.add(total, last, dtype=cv2.CV_8U)
    own: np.ndarray = pixel.convolve(img, kernel)
    return own
