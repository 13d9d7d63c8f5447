"""Sun flares and fog painted where they are: albumentations blends the whole image for each circle and particle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import pixel
from augrecipes.compiler.kernels.fast_apply import takes
from augrecipes.native.kernels import Library

_LEVELS = np.arange(256, dtype=np.uint8)
_FAR = 1 << 15  # px from the first pixel, of the middle of a disc
_LARGEST = 512  # radius of a disc


def sun_flare(
    step: Any, kernels: Library, img: np.ndarray, flare_center: tuple[int, int], circles: list[Any], **_: Any
) -> np.ndarray | None:
    """RandomSunFlare: circles blended in where they are; the sun's rings, one above another, as tables of levels."""
    rings = step.src_radius // 10
    if step.method != "overlay" or not takes(img) or rings > _LEVELS[-1]:
        return None
    (height, width), out = img.shape[:2], img.copy()
    overlay, left, top, right, bottom = img.copy(), width, height, 0, 0
    for alpha, (x, y), radius, color in circles:
        cv2.circle(overlay, (x, y), radius, color, -1)
        left, right = max(min(left, x - radius), 0), min(max(right, x + radius + 1), width)
        top, bottom = max(min(top, y - radius), 0), min(max(bottom, y + radius + 1), height)
        if left < right and top < bottom:
            over, under = (layer[top:bottom, left:right] for layer in (overlay, out))
            under[:] = pixel.add_weighted(np.ascontiguousarray(over), alpha, np.ascontiguousarray(under), 1 - alpha)
    bright = sum(alpha * radius for alpha, _, radius, _ in circles) / sum(radius for _, _, radius, _ in circles) * 5
    alphas = np.linspace(0.0, min(bright, 1.0), num=rings).tolist()
    radii = np.linspace(1, step.src_radius, num=rings).astype(int).tolist()
    levels, sun = (np.full((1, 256, 3), level, np.uint8) for level in (_LEVELS[:, None], step.src_color))
    covering, tables = np.zeros((height, width), np.uint8), np.empty((rings + 1, 256, 3), np.uint8)
    after: Any = levels
    for ring, alpha, radius in zip(range(rings, 0, -1), alphas, radii[::-1], strict=True):
        after = cv2.LUT(pixel.add_weighted(sun, alpha * alpha * alpha, levels, 1 - alpha * alpha * alpha), after)
        tables[ring] = after[0]
        cv2.circle(covering, flare_center, radius, ring, -1)  # the smallest of a pixel is the first that covers it
    kernels.kernel("through_tables", "plpp")(covering.ctypes.data, covering.size, tables.ctypes.data, out.ctypes.data)
    return out


def random_fog(
    step: Any, kernels: Library, img: np.ndarray, particle_positions: Sequence[tuple[int, int]],
    radiuses: Sequence[int], intensity: float, **_: Any,
) -> np.ndarray | None:  # fmt: skip
    """RandomFog: discs of light blended in one after another, in one native pass, however many there are."""
    alpha, count = step.alpha_coef * intensity, min(len(particle_positions), len(radiuses))
    if not takes(img) or not 0 <= alpha <= 1 or not count:
        return None
    discs, out = np.empty((count, 3), np.int64), img.copy()
    discs[:, :2], discs[:, 2] = particle_positions[:count], radiuses[:count]
    least, most = int(discs[:, 2].min()), int(discs[:, 2].max())
    if np.abs(discs).max() >= _FAR or least < 0 or most > _LARGEST:
        return None
    discs = discs.astype(np.int32)
    spans, starts = _spans(least, most)
    table = cv2.addWeighted(np.full_like(_LEVELS, 255), alpha, _LEVELS, 1 - alpha, 0).reshape(-1)
    blends, ends = np.empty(1 << 16, np.uint8), np.empty(img.shape[0] * (img.shape[1] + 1), np.int32)
    answer = kernels.kernel("discs", "plllplppippp")(
        out.ctypes.data, *out.shape, discs.ctypes.data, count, spans.ctypes.data, starts.ctypes.data, least,
        table.ctypes.data, blends.ctypes.data, ends.ctypes.data,
    )  # fmt: skip
    if answer != 0:
        return None
    size = max(3, min(img.shape[:2]) // 30)
    size += size % 2 == 0
    return np.asarray(cv2.GaussianBlur(out, (size, size), 0))


@cache
def _spans(least: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the rows of discs begin and stop, from their middles; and where those of each radius stand."""
    spans = [_span(radius) for radius in range(least, most + 1)]
    starts = np.cumsum([0, *(span.size for span in spans)]).astype(np.int32)
    return np.concatenate(spans).astype(np.int32), starts


@cache
def _span(radius: int) -> np.ndarray:
    """2·radius + 1 pairs, as OpenCV draws them."""
    side = 2 * radius + 1
    disc = cv2.circle(np.zeros((side, side), np.uint8), (radius, radius), radius, (1,), -1)
    first = disc.argmax(axis=1)
    return np.stack([first, first + disc.sum(axis=1, dtype=np.int64)], axis=1) - radius
