"""Random numbers of two generators, of noise or of fields, compared by their distribution over all samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MARKS = 8  # parts of the histogram, equally full
_SIDES = 4  # parts of an image along each side
_ENOUGH = 24  # samples that are a number each

Means = NDArray[np.float64]


@dataclass
class NoiseComparison:
    """The noise of one target by two generators: compared not pixel by pixel, but by what it is like over all samples.

    Both pipelines draw the same parameters for a sample, so what they add to its image has the same distribution, pixel
    by pixel. Each sample, or each part of one where there are few, gives means of what is looked at in either: powers
    of the noise, how often it lies between marks, products of neighbours. Their differences are 0 but for chance, which
    is seen from how they vary: neither the image nor the kind of noise need be known.
    """

    powers: list[Means] = field(default_factory=list)
    products: list[Means] = field(default_factory=list)
    _last: tuple[NDArray[Any], NDArray[Any]] | None = None

    def add(self, bare: NDArray[Any], plain: NDArray[Any], fast: NDArray[Any]) -> None:
        """One sample, levels H×W×C: without noise, and with that of either generator."""
        noise = plain.astype(np.float64) - bare, fast.astype(np.float64) - bare
        scale = math.sqrt(float(np.mean(noise[0] ** 2 + noise[1] ** 2)) / 2)
        if not 0 < scale < math.inf:
            return
        plain_noise, fast_noise = (part / scale for part in noise)
        marks = np.unique(
            np.quantile(np.concatenate([plain_noise.ravel(), fast_noise.ravel()]), np.arange(1, _MARKS) / _MARKS)
        )
        self.powers.append(_parts(_powers(fast_noise, marks)) - _parts(_powers(plain_noise, marks)))
        before = self._last if self._last is not None and self._last[0].shape == plain_noise.shape else (None, None)
        self.products.append(_parts(_products(fast_noise, before[1])) - _parts(_products(plain_noise, before[0])))
        self._last = plain_noise, fast_noise

    def errors(self, *, smooth: bool) -> dict[str, float]:
        """By law the largest difference in standard errors; nothing where there was no noise.

        Args:
            smooth: no part of a sample is independent of those beside it.
        """
        laws = {"noise": self.powers, "independence": self.products}
        return {law: _largest(differences, smooth) for law, differences in laws.items() if differences}


def _powers(noise: NDArray[Any], marks: NDArray[Any]) -> list[NDArray[Any]]:
    """What is averaged over pixels: two powers, and the places in the histogram (as many as there are at most)."""
    below = [(noise <= mark).mean(axis=-1) for mark in marks]
    spare = [np.zeros(noise.shape[:2])] * (_MARKS - 1 - len(below))
    return [noise.mean(axis=-1), (noise**2).mean(axis=-1), *below, *spare]


def _products(noise: NDArray[Any], before: NDArray[Any] | None) -> list[NDArray[Any]]:
    """Products with the pixels to the right and below, near and further, with the next channel, and with the sample
    before."""
    right, below, far, channel = (
        (noise * np.roll(noise, by, axis=axis)).mean(axis=-1) for by, axis in ((1, 1), (1, 0), (16, 1), (1, 2))
    )
    earlier = np.zeros(noise.shape[:2]) if before is None else (noise * before).mean(axis=-1)
    return [right, below, far, channel, earlier]


def _parts(measured: list[NDArray[Any]]) -> Means:
    """Means over the parts of an image, parts × measures."""
    rows = np.array_split(np.stack(measured, axis=-1), _SIDES)
    parts = [part for row in rows for part in np.array_split(row, _SIDES, axis=1)]
    return np.array([part.mean(axis=(0, 1)) for part in parts if part.size])


def _largest(differences: list[Means], smooth: bool) -> float:
    """Of each measure the mean difference in standard errors, as a normal distribution has them; the largest."""
    whole = smooth or len(differences) >= _ENOUGH  # samples are sure to be independent, parts of one nearly so
    rows = np.array([parts.mean(axis=0) for parts in differences]) if whole else np.concatenate(differences)
    free = len(rows) - 1
    if free < 1:
        return 0.0
    mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / math.sqrt(len(rows))
    student = np.divide(np.abs(mean), error, out=np.zeros_like(mean), where=error > 0)
    student[(error == 0) & (mean != 0)] = math.inf
    # As a quantile of the normal distribution (Wallace 1959).
    normal = np.sqrt(free * np.log1p(student**2 / free)) * (8 * free + 1) / (8 * free + 3)
    return float(normal.max())
