"""RandomSnow of uint8 pictures, where it makes lightness greater, in one native pass with OpenCV's bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.colour_native import colours, takes
from augrecipes.compiler.kernels.hls import ways
from augrecipes.compiler.kernels.twins import Apply, Case, Twin
from augrecipes.native.kernels import library

_LEVELS = np.arange(256, dtype=np.float32)


def _make(step: Any) -> Apply | None:
    kernels, way = library(), ways()
    if kernels is None or way is None or colours() is None or step.method != "bleach":
        return None
    kernel, factor = kernels.kernel("snow", "pllplip"), np.float32(step.brightness_coeff)

    def lighten(img: np.ndarray, snow_point: float, **_: Any) -> np.ndarray | None:
        if not takes(img):
            return None
        out, table = np.empty_like(img), lighter(snow_point, factor)
        kernel(
            img.ctypes.data, *img.shape[:2], table.ctypes.data, way.lanes, int(way.fused), out.ctypes.data
        )  # fmt: skip
        return out

    return lighten


def lighter(snow_point: float, factor: np.float32) -> np.ndarray:
    """What becomes of each lightness: 256 levels.

    >>> lighter(0.2, np.float32(2))[[10, 100, 200]].tolist()
    [20, 200, 200]
    """
    light = np.where(np.float32(snow_point * 255 / 2 + 255 / 3) > _LEVELS, _LEVELS * factor, _LEVELS)
    return np.clip(light, 0, 255).astype(np.uint8)


def _cases(cls: type) -> Iterator[Case]:
    for factor in (2.5, 1.3, 0.5):
        for point in (0.1, 0.3, 1.0):
            yield cls(brightness_coeff=factor), {"snow_point": point, "snow_texture": None, "sparkle_mask": None}


TWIN = Twin(_make, _cases)
