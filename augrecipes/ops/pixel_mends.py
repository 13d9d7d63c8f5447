"""Corrections of pixels that albumentations gets wrong: mixins that records name as `mend`.

`right_class` puts them in front of albumentations' classes.
"""

import math
from typing import Any

import cv2
import numpy as np

from augrecipes.compat import Mixin
from augrecipes.compat.albumentations import pixel
from augrecipes.ops.fills import setting


class NarrowWarp(Mixin):  # type: ignore[misc]
    """Warps of images of one row or column, where OpenCV's cubic interpolation with `reflect_101` never ends.

    >>> from augrecipes.ops.registry import get_class
    >>> from augrecipes.ops.places import right_class
    >>> step = right_class(get_class("Rotate"))((30, 30), interpolation=2, border_mode=4, p=1)
    >>> step(image=np.full((1, 3, 3), 7, np.uint8))["image"].ravel().tolist()
    [7, 7, 7, 7, 7, 7, 7, 7, 7]
    """

    def apply(self, img: np.ndarray, *args: Any, **params: Any) -> np.ndarray:
        """Run the step on an image H×W×C."""
        return self._warped("apply", "interpolation", img, args, params)

    def apply_to_mask(self, mask: np.ndarray, *args: Any, **params: Any) -> np.ndarray:
        """Run the step on a mask H×W or H×W×C."""
        return self._warped("apply_to_mask", "mask_interpolation", mask, args, params)

    def _warped(self, method: str, sampling: str, image: np.ndarray, args: Any, params: dict[str, Any]) -> np.ndarray:
        apply: Any = getattr(super(), method)
        asked = getattr(self, sampling), self.border_mode
        if min(image.shape[:2]) > 1 or asked != (cv2.INTER_CUBIC, cv2.BORDER_REFLECT_101):
            return np.asarray(apply(image, *args, **params))
        with setting(self, "border_mode", cv2.BORDER_REFLECT):
            return np.asarray(apply(image, *args, **params))


class NarrowGrey(Mixin):  # type: ignore[misc]
    """ToGray and ToRGB of images of one row or column, whose axis they drop before they write out of bounds.

    >>> from augrecipes.ops.registry import get_class
    >>> from augrecipes.ops.places import right_class
    >>> right_class(get_class("ToGray"))(p=1.0)(image=np.zeros((9, 1, 3), np.uint8))["image"].shape
    (9, 1, 3)
    """

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        """Run the step on an image H×W×C."""
        if min(img.shape[:2]) > 1:
            return np.asarray(super().apply(img, **params))
        twice = img.repeat(2, axis=0).repeat(2, axis=1)
        return np.ascontiguousarray(super().apply(twice, **params)[::2, ::2])


class GreySharpen(Mixin):  # type: ignore[misc]
    """Sharpen of images of one channel, whose channel axis OpenCV's blur drops, so that numpy would broadcast."""

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        """Run the step on an image H×W×C."""
        if img.shape[2:] != (1,):
            return np.asarray(super().apply(img, **params))
        return np.asarray(super().apply(img[..., 0], **params))[..., None]


class SteadyCorner(Mixin):  # type: ignore[misc]
    """Illumination from a corner, with the bits of albumentations on an OpenCV without IPP.

    With Intel's IPP distances are rounded by the alignment of memory and the number of OpenCV's threads. Grey images
    with a channel axis, which albumentations refuses, work too.

    >>> from augrecipes.ops.registry import get_class
    >>> from augrecipes.ops.places import right_class
    >>> step = right_class(get_class("Illumination"))(mode="corner", p=1.0)
    >>> step.apply(np.full((4, 3), 100, np.uint8), intensity=0.5, corner=0).tolist()
    [[100, 90, 80], [90, 85, 77], [80, 77, 71], [70, 68, 63]]
    """

    def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
        """Run the step on an image H×W×C or H×W, uint8 or float32; `corner`: 0 to 3, clockwise from the upper left."""
        if self.mode != "corner":
            return np.asarray(super().apply(img, **params))
        (height, width), corner = img.shape[:2], params["corner"]
        rows, columns = np.arange(height, dtype=np.float32), np.arange(width, dtype=np.float32)
        rows, columns = rows[:: -1 if corner in (2, 3) else 1], columns[:: -1 if corner in (1, 2) else 1]
        distance = np.sqrt((rows * rows)[:, None] + columns * columns)
        slope: Any = -params["intensity"] / math.sqrt(height * height + width * width)
        full: Any = 1
        light = cv2.add(cv2.multiply(distance, slope), full)  # numpy rounds the product otherwise
        if img.ndim > light.ndim:
            light = np.repeat(light[..., None], img.shape[2], axis=2)
        return np.asarray(pixel.clipped(pixel.multiply_by_array)(img, light))
