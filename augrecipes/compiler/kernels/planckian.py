"""PlanckianJitter of uint8 RGB pictures, channel by channel: each through its table in one quick call."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import in_place_through_table
from augrecipes.compiler.kernels.quick_apply import Apply, takes

_SMALL = 32 * 32 * 3  # below that the step is as quick
_LINE = 64  # bytes of memory that are read together


class Planes:
    """Room for the channels of a picture, of which each begins elsewhere in a line of memory: see `sink.py`."""

    def __init__(self) -> None:
        self._room: list[np.ndarray] = []

    def of(self, img: np.ndarray) -> list[np.ndarray]:
        """The channels, H×W each, until the next picture comes."""
        height, width, channels = img.shape
        if not self._room or self._room[0].shape != (height, width):
            size = -(-height * width // _LINE) * _LINE + _LINE // 3
            whole = np.empty(channels * size, np.uint8)
            self._room = [whole[k * size :][: height * width].reshape(height, width) for k in range(channels)]
        return list(cv2.split(img, self._room))


def quick(step: Any) -> Apply:
    """What PlanckianJitter does: it makes its tables itself, of a ramp."""
    planes, true = Planes(), type(step).apply
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[:, None, None], 3, axis=2)

    def tables(img: np.ndarray, **drawn: Any) -> np.ndarray | None:
        if not takes(img) or img.size < _SMALL:
            return None
        made = true(step, ramp.copy(), **drawn)
        channels = planes.of(img)
        for c, plane in enumerate(channels):
            in_place_through_table(plane, np.ascontiguousarray(made[:, 0, c]))
        return cv2.merge(channels)

    return tables
