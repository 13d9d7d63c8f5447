"""A sun and its circles laid over an image where they are; albumentations mixes the whole image for each of them."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import pixel
from augrecipes.compiler.kernels.fast_apply import Apply, takes
from augrecipes.native.kernels import Library

_LEVELS = np.arange(256, dtype=np.uint8)


def sun_flare(step: Any, kernels: Library) -> Apply:
    """What RandomSunFlare does."""
    through_tables, rings = kernels.kernel("through_tables", "plpp"), step.src_radius // 10

    def flare(img: np.ndarray, flare_center: tuple[int, int], circles: list[Any], **_: Any) -> np.ndarray | None:
        if step.method != "overlay" or not takes(img) or rings > _LEVELS[-1]:
            return None
        (height, width), out = img.shape[:2], img.copy()
        overlay, left, top, right, bottom = img.copy(), width, height, 0, 0
        for alpha, (x, y), radius, color in circles:
            cv2.circle(overlay, (x, y), radius, color, -1)
            left, right = max(min(left, x - radius), 0), min(max(right, x + radius + 1), width)
            top, bottom = max(min(top, y - radius), 0), min(max(bottom, y + radius + 1), height)
            if left < right and top < bottom:
                over, under = (each[top:bottom, left:right] for each in (overlay, out))
                under[:] = pixel.add_weighted(np.ascontiguousarray(over), alpha, np.ascontiguousarray(under), 1 - alpha)
        bright = sum(alpha * radius for alpha, _, radius, _ in circles) / sum(radius for _, _, radius, _ in circles) * 5
        alphas = np.linspace(0.0, min(bright, 1.0), num=rings).tolist()
        radii = np.linspace(1, step.src_radius, num=rings).astype(int).tolist()
        levels, sun = (np.full((1, 256, 3), each, np.uint8) for each in (_LEVELS[:, None], step.src_color))
        which, tables = np.zeros((height, width), np.uint8), np.empty((rings + 1, 256, 3), np.uint8)
        after: Any = levels
        for ring, alpha, radius in zip(range(rings, 0, -1), alphas, radii[::-1], strict=True):
            after = cv2.LUT(pixel.add_weighted(sun, alpha * alpha * alpha, levels, 1 - alpha * alpha * alpha), after)
            tables[ring] = after[0]
            cv2.circle(which, flare_center, radius, ring, -1)  # the smallest of a pixel is the first that covers it
        through_tables(which.ctypes.data, which.size, tables.ctypes.data, out.ctypes.data)
        return out

    return flare
