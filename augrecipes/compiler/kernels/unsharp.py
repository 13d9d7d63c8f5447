"""An unsharp mask with one native pass between its two blurs, and one behind them: the same bits."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.fast_apply import Apply, takes
from augrecipes.native.kernels import Library

_UNIT = np.arange(256, dtype=np.float32) / 255  # levels as parts of the full range


def unsharp_mask(step: Any, kernels: Library) -> Apply:
    """What UnsharpMask does."""
    sharpen, mix = kernels.kernel("sharpen_all", "pplffpp"), kernels.kernel("sharpen_some", "pplppp")

    def unsharp(img: np.ndarray, ksize: int, sigma: float, alpha: float, **_: Any) -> np.ndarray | None:
        if not takes(img):
            return None
        size, mask, out = (ksize, ksize), np.empty(img.shape, np.float32), np.empty_like(img)
        sharp, source = cv2.GaussianBlur(cv2.LUT(img, _UNIT), size, sigma), (img.ctypes.data, _UNIT.ctypes.data)
        sharpen(*source, img.size, alpha, step.threshold, sharp.ctypes.data, mask.ctypes.data)
        soft = cv2.GaussianBlur(mask, size, sigma)
        mix(*source, img.size, sharp.ctypes.data, soft.ctypes.data, out.ctypes.data)
        return out

    return unsharp
