"""How far a resampled picture is from the truth: each output pixel the mean of what it covers of the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import cv2
import numpy as np

import augrecipes as ar

_PARTS = 8  # of an output pixel, along each axis


class Loss(NamedTuple):
    """One sample: how much it shrinks, and the rms distance of both plans from the truth, in levels of 255."""

    shrink: float
    none: float
    fast: float


def losses(recipe: ar.Recipe, tiles: Sequence[np.ndarray], count: int, least: float = 2.0) -> Iterator[Loss]:
    """Of `count` samples that shrink by `least` or more.

    Args:
        recipe: geometry alone, an affine map; output H×W×C, 0..1.
        tiles: uint8, of equal size.
        count: of samples.
        least: source pixels along an output pixel.
    """
    none, fast = (recipe.compile(optimize=optimize) for optimize in ("none", "fast"))
    height, width = tiles[0].shape[:2]
    ramp = np.zeros((height, width, 3), np.float32)
    ramp[..., 0], ramp[..., 1] = np.arange(width) / width, np.arange(height)[:, None] / height
    found = 0
    for k in range(100 * count):
        tile = tiles[k % len(tiles)]
        matrix = _affine(none.at(k)(image=ramp)["image"][..., :2] * (width, height))
        shrink = float(np.sqrt(abs(np.linalg.det(matrix[:, :2]))))
        if shrink < least:
            continue
        outs = [pipeline.at(k)(image=tile)["image"] * 255 for pipeline in (none, fast)]
        truth = _supersampled(tile, matrix, outs[0].shape[:2])
        yield Loss(shrink, *(float(np.sqrt(np.square(out - truth).mean())) for out in outs))
        found += 1
        if found == count:
            return


def _affine(places: np.ndarray) -> np.ndarray:
    """The 2×3 matrix from output pixels to the source, from the place that each shows, reflected ones left out."""
    dy, dx = np.diff(places, axis=0)[:, :-1], np.diff(places, axis=1)[:-1]
    steps = np.concatenate([dy, dx], axis=-1)
    straight = (np.abs(steps - np.median(steps, axis=(0, 1))) < 1e-2).all(-1)
    y, x = np.nonzero(straight)
    at = np.column_stack([x, y, np.ones_like(x)]).astype(np.float64)
    solved, *_ = np.linalg.lstsq(at, places[:-1, :-1][straight].astype(np.float64), rcond=None)
    if np.abs(at @ solved - places[:-1, :-1][straight]).max() > 0.05:
        raise ValueError("the recipe's geometry is not affine")
    return solved.T


def _supersampled(tile: np.ndarray, matrix: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    fine_y, fine_x = ((np.arange(n * _PARTS) + 0.5) / _PARTS - 0.5 for n in size)
    u = (matrix[0, 0] * fine_x + matrix[0, 1] * fine_y[:, None] + matrix[0, 2]).astype(np.float32)
    v = (matrix[1, 0] * fine_x + matrix[1, 1] * fine_y[:, None] + matrix[1, 2]).astype(np.float32)
    fine = cv2.remap(tile.astype(np.float32), u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)
    return fine.reshape(size[0], _PARTS, size[1], _PARTS, -1).mean((1, 3))
