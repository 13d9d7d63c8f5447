"""Glass blur, whose pixels change places in a native pass instead of one by one in Python: the same bits."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.kernels.fast_apply import Apply
from augrecipes.native.kernels import Library


def glass_blur(step: Any, kernels: Library) -> Apply:
    """What GlassBlur does."""
    swap_all, swap_each = kernels.kernel("swap_all", "ppplllll"), kernels.kernel("swap_each", "ppllllli")

    def swap(img: NDArray[Any], dxy: NDArray[np.int64], **_: Any) -> NDArray[Any] | None:
        """An image of any dtype that OpenCV blurs; `dxy`: how far each pixel that moves goes, each time."""
        far, (height, width) = step.max_delta, img.shape[:2]
        inner = (height - 2 * far) * (width - 2 * far)
        plain = dxy.dtype == np.int64 and dxy.flags.c_contiguous and step.mode in ("fast", "exact")
        if min(height, width) <= 2 * far or dxy.shape != (inner, step.iterations, 2) or not plain or step.sigma <= 0:
            return None
        blurred = cv2.GaussianBlur(np.array(img), sigmaX=step.sigma, ksize=(0, 0))
        size = blurred.itemsize * (blurred.shape[2] if blurred.ndim == 3 else 1)
        where = (2 * step.iterations, height, width, size, far)
        for turn in range(step.iterations):
            steps = dxy[:, turn].ctypes.data
            if step.mode == "fast":
                before = blurred.copy()
                done = swap_all(blurred.ctypes.data, before.ctypes.data, steps, *where)
            else:
                # Where pixels have channels, albumentations swaps views of them: both become the other one.
                done = swap_each(blurred.ctypes.data, steps, *where, int(blurred.ndim == 2))
            if done != 0:
                return None
        made = cv2.GaussianBlur(blurred, sigmaX=step.sigma, ksize=(0, 0))
        return np.asarray(made).reshape(img.shape)

    return swap
