"""What a resampled picture should look like: the source integrated over each pixel's area, and pictures that are known
at every real position."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.verify.maps import F32, Map

SUBSAMPLES = 8  # of a pixel's area, along each side
_WAVES = 8
_OF_NYQUIST = 0.5  # the highest frequency, of half a cycle per px of the output


def integrated(source: NDArray[Any], where: Map, wanted: NDArray[np.bool_]) -> F32:
    """Each output pixel as the mean of 8×8 samples of `source` over the area that the map gives it.

    Args:
        source: H×W×C.
        where: the output's map.
        wanted: bool h×w; elsewhere the result means nothing.

    Returns:
        float32 h×w×C in the values of `source`.
    """
    picture = source.astype(np.float32)
    parts = [np.ascontiguousarray(picture[..., c : c + 4]) for c in range(0, source.shape[2], 4)]  # as cv2 takes them
    # Beyond the picture the map may say anything, and cv2 takes its time with positions that are far away.
    x, y, xu, xv, yu, yv = (np.where(wanted, part, 0).astype(np.float32) for part in (where.x, where.y, *where.slopes))
    total = np.zeros((*x.shape, source.shape[2]), np.float32)
    for v, u in product((np.arange(SUBSAMPLES, dtype=np.float32) + 0.5) / SUBSAMPLES - 0.5, repeat=2):
        at = x + xu * u + xv * v, y + yu * u + yv * v
        total += np.dstack([cv2.remap(one, *at, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE) for one in parts])
    total /= SUBSAMPLES**2
    return total


@dataclass(frozen=True, slots=True)
class Waves:
    """A sum of cosines, 0.1..0.9, known everywhere.

    Attributes:
        x: of each wave, radians per px.
        y: the same.
        phase: radians.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    phase: NDArray[np.float64]

    @classmethod
    def for_scale(cls, scale: float, seed: tuple[int, ...]) -> Waves:
        """Waves that a grid with `scale` source px per px can show, and the source itself."""
        rng = np.random.default_rng(seed)
        highest = np.pi * _OF_NYQUIST / max(scale, 1.0)
        size = highest * rng.uniform(0.2, 1.0, _WAVES)
        angle = rng.uniform(0, 2 * np.pi, _WAVES)
        return cls(size * np.cos(angle), size * np.sin(angle), rng.uniform(0, 2 * np.pi, _WAVES))

    def at(self, x: NDArray[Any], y: NDArray[Any]) -> F32:
        """The values at positions, any shape."""
        return (0.5 + 0.4 * np.cos(self.phases(x, y)).mean(axis=0)).astype(np.float32)

    def phases(self, x: NDArray[Any], y: NDArray[Any]) -> F32:
        """Those of each wave at positions, radians."""
        waves = (part.reshape(-1, *[1] * y.ndim).astype(np.float32) for part in (self.x, self.y, self.phase))
        along, down, phase = waves
        return np.asarray(along * x + down * y + phase, np.float32)

    def over(self, where: Map) -> F32:
        """The mean over the area of the coarsest grid's px that each output pixel lies in, h×w."""
        coarsest = max((*where.grids, where), key=lambda grid: grid.scales[1])
        slopes = coarsest.slopes
        if coarsest is not where:
            slopes = np.median(slopes[:, coarsest.shown], axis=1)[:, None, None]
        xu, xv, yu, yv = slopes
        along = np.multiply.outer(self.x, xu) + np.multiply.outer(self.y, yu)
        down = np.multiply.outer(self.x, xv) + np.multiply.outer(self.y, yv)
        # np.sinc(t) is sin(πt) / πt; a wave of a radians a px keeps sin(a/2) / (a/2) over one px.
        kept = np.sinc(along / (2 * np.pi)) * np.sinc(down / (2 * np.pi))
        return (0.5 + 0.4 * (kept * np.cos(self.phases(where.x, where.y))).mean(axis=0)).astype(np.float32)

    def picture(self, height: int, width: int) -> F32:
        """The values at the centres of pixels, H×W."""
        return self.at(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)[:, None])


def rms(a: NDArray[Any], b: NDArray[Any], where: NDArray[np.bool_]) -> float:
    """Root mean square difference over `where`."""
    return float(np.sqrt(np.mean(np.square(a[where].astype(np.float64) - b[where]))))
