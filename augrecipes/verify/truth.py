"""What a resampled picture should look like: the source integrated over each pixel's area, and pictures that are known
at every real position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.verify.maps import F32, Map

SUBSAMPLES = 8  # of a pixel's area, along each side
_WAVES = 8
_OF_NYQUIST = 0.5  # the highest frequency, of half a cycle per px of the output
_CV2_CHANNELS = frozenset({1, 3, 4})


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
    # Beyond the picture the map may say anything, and cv2 takes its time with positions that are far away.
    x, y, xu, xv, yu, yv = (np.where(wanted, part, np.float32(0)) for part in (where.x, where.y, *where.slopes()))
    total = np.zeros((*x.shape, source.shape[2]), np.float32)
    offsets = (np.arange(SUBSAMPLES, dtype=np.float32) + 0.5) / SUBSAMPLES - 0.5
    for v in offsets:
        for u in offsets:
            total += _sampled(picture, x + xu * u + xv * v, y + yu * u + yv * v)
    total /= SUBSAMPLES**2
    return total


def _sampled(picture: F32, x: F32, y: F32) -> F32:
    """Bilinear samples at (x, y)."""
    if picture.shape[2] in _CV2_CHANNELS:
        out = cv2.remap(picture, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return np.asarray(out, np.float32).reshape(*x.shape, picture.shape[2])
    return np.concatenate([_sampled(picture[..., c : c + 1], x, y) for c in range(picture.shape[2])], axis=2)


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
        total = np.zeros(x.shape, np.float64)
        for kx, ky, phase in zip(self.x, self.y, self.phase, strict=True):
            total += np.cos(kx * x + ky * y + phase)
        return (0.5 + 0.4 / _WAVES * total).astype(np.float32)

    def over(self, where: Map) -> F32:
        """The mean over the area of the coarsest grid's px that each output pixel lies in, h×w."""
        coarsest = max((*where.grids, where), key=lambda grid: grid.scales()[1])
        slopes = coarsest.slopes()
        if coarsest is not where:
            slopes = tuple(np.median(slope[coarsest.shown]) for slope in slopes)  # type: ignore[assignment]
        xu, xv, yu, yv = slopes
        total = np.zeros(where.x.shape, np.float64)
        for kx, ky, phase in zip(self.x, self.y, self.phase, strict=True):
            along, down = kx * xu + ky * yu, kx * xv + ky * yv
            # np.sinc(t) is sin(πt) / πt; a wave of a radians a px keeps sin(a/2) / (a/2) over one px.
            kept = np.sinc(along / (2 * np.pi)) * np.sinc(down / (2 * np.pi))
            total += kept * np.cos(kx * where.x + ky * where.y + phase)
        return (0.5 + 0.4 / _WAVES * total).astype(np.float32)

    def picture(self, height: int, width: int) -> F32:
        """The values at the centres of pixels, H×W."""
        x, y = np.arange(width), np.arange(height)
        total = np.zeros((height, width), np.complex128)
        for kx, ky, phase in zip(self.x, self.y, self.phase, strict=True):
            total += np.outer(np.exp(1j * (ky * y + phase)), np.exp(1j * kx * x))
        return (0.5 + 0.4 / _WAVES * total.real).astype(np.float32)


def rms(a: NDArray[Any], b: NDArray[Any], where: NDArray[np.bool_]) -> float:
    """Root mean square difference over `where`."""
    return float(np.sqrt(np.mean(np.square(a[where].astype(np.float64) - b[where]))))
