"""Fog painted where it is: albumentations blends, and compares, the whole image for each of its particles.

Discs of light are blended in one after another, in one native pass, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.fast_apply import Apply, takes
from augrecipes.native.kernels import Library

_LEVELS = np.arange(256, dtype=np.uint8)
_FAR = 1 << 15
_LARGEST = 512  # radius of a disc


def random_fog(step: Any, kernels: Library) -> Apply:
    """What RandomFog does."""
    kernel = kernels.kernel("discs", "plllplppippp")

    def add(
        img: np.ndarray, particle_positions: Sequence[tuple[int, int]], radiuses: Sequence[int], intensity: float,
        **_: Any,
    ) -> np.ndarray | None:  # fmt: skip
        alpha, count = step.alpha_coef * intensity, min(len(particle_positions), len(radiuses))
        if not takes(img) or not 0 <= alpha <= 1 or not count:
            return None
        places, out = np.empty((count, 3), np.int64), img.copy()
        places[:, :2], places[:, 2] = particle_positions[:count], radiuses[:count]
        least, most = int(places[:, 2].min()), int(places[:, 2].max())
        if np.abs(places).max() >= _FAR or least < 0 or most > _LARGEST:
            return None
        spans, starts = _spans(least, most)
        table = cv2.addWeighted(np.full_like(_LEVELS, 255), alpha, _LEVELS, 1 - alpha, 0).reshape(-1)
        discs, turns = places.astype(np.int32), np.empty(1 << 16, np.uint8)
        ends = np.empty(img.shape[0] * (img.shape[1] + 1), np.int32)
        arrays = discs.ctypes.data, count, spans.ctypes.data, starts.ctypes.data, least
        memory = table.ctypes.data, turns.ctypes.data, ends.ctypes.data
        if kernel(out.ctypes.data, *out.shape, *arrays, *memory) != 0:
            return None
        size = max(3, min(img.shape[:2]) // 30)
        size += size % 2 == 0
        return np.asarray(cv2.GaussianBlur(out, (size, size), 0))

    return add


@cache
def _spans(least: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the rows of discs begin and stop, from their middles; and where those of each radius stand."""
    each = [_span(radius) for radius in range(least, most + 1)]
    starts = np.cumsum([0, *(span.size for span in each)]).astype(np.int32)
    return np.concatenate(each).astype(np.int32), starts


@cache
def _span(radius: int) -> np.ndarray:
    """2·radius + 1 pairs, as OpenCV draws them."""
    side = 2 * radius + 1
    drawn = cv2.circle(np.zeros((side, side), np.uint8), (radius, radius), radius, (1,), -1)
    first = drawn.argmax(axis=1)
    return np.stack([first, first + drawn.sum(axis=1, dtype=np.int64)], axis=1) - radius
