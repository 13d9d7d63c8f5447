"""How like two results are whose pixels were resampled in other ways: measured on the images themselves.

Merged resampling is sharper than several passes, so levels differ at every edge. What must agree is where things are
(an affine motion between both images is fitted by least squares: Lucas and Kanade, 1981), what is seen (means of small
squares, held against how much the image varies around them), and which labels lie about each place of a mask.
Random numbers of two generators, of noise or of fields, are compared by their distribution over all samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

MOST_APART_PX = 0.03  # of an affine motion
_SIGMA = 1.5  # px; what is finer than that, resamplings blur in their own ways
_MOST_PIXELS = 1 << 16  # that a motion is fitted to
_ERRORS = 4.0  # standard errors that are allowed beside
_SQUARE, _AROUND = 8, 24  # px
_SLACK, _SPREAD = 5.0, 0.8  # levels, and parts of the standard deviation, that means of squares may differ by
_NEAR = 2  # px in which a label is looked for
MOST_LABELS_ELSEWHERE = 0.1  # of a mask

Levels = NDArray[np.float32]  # H×W×C, 0..255


def motion_between(plain: Levels, fast: Levels) -> tuple[float, float]:
    """How far an affine motion takes the first image's pixels to the second's, px, and the standard error of that.

    Where both are unlike, as at borders, pixels count little (weights of Geman and McClure).

    >>> y, x = np.mgrid[:64, :64].astype(np.float32)
    >>> waves = [np.dstack([np.cos((x + by) / 5) + np.sin((y + x / 3) / 6)]) * 60 + 127 for by in (0.0, 0.25)]
    >>> motion, error = motion_between(*waves)
    >>> 0.15 < motion < 0.35, error < 0.05
    (True, True)
    """
    a, b = (cv2.GaussianBlur(each, (0, 0), _SIGMA).reshape(each.shape) for each in (plain, fast))
    height, width, channels = plain.shape
    if min(height, width) < _SQUARE:
        return 0.0, 0.0
    step = 1 + int((height * width / _MOST_PIXELS) ** 0.5)
    rows, columns = slice(step // 2, None, step), slice(step // 2, None, step)
    down, right = ((np.gradient((a + b) / 2, axis=axis))[rows, columns] for axis in (0, 1))
    change = (b - a)[rows, columns].reshape(-1).astype(np.float64)
    v, u = (np.linspace(-1, 1, n)[part] for n, part in ((height, rows), (width, columns)))
    places = np.stack(np.broadcast_arrays(1.0, u[None, :, None], v[:, None, None]), -1)
    basis = np.concatenate([right[..., None] * places, down[..., None] * places], -1).reshape(-1, 6)
    weight = np.ones(len(basis))
    for _ in range(4):
        weighted = basis.T * weight
        inverse = np.linalg.inv(weighted @ basis + np.eye(6))  # gradients of no level tell nothing
        motion = inverse @ (weighted @ -change)
        rest = change + basis @ motion
        scale = 1.5 * float(np.median(np.abs(rest))) + 0.5
        weight = (1 + (rest / (2 * scale)) ** 2) ** -2
    # Blurred pixels are as good as one in the area of the blur, and channels as one another.
    variance = float(weight @ rest**2 / weight.sum()) * max(4 * np.pi * _SIGMA**2 / step**2, 1.0) * channels
    corners = np.array([[1, x, y] for x, y in product((-0.7, 0.0, 0.7), repeat=2)])
    far = np.hypot(corners @ motion[:3], corners @ motion[3:])
    errors = [np.einsum("ij,jk,ik->i", corners, part, corners) for part in (inverse[:3, :3], inverse[3:, 3:])]
    most = int(far.argmax())
    return float(far[most]), float(np.sqrt(variance * (errors[0] + errors[1])[most]))


def allowed_motion(error: float) -> float:
    """The largest motion that is no sign of a fault, px."""
    return MOST_APART_PX + _ERRORS * error


def content_apart(plain: Levels, fast: Levels) -> float:
    """The largest difference of the means of small squares, over what is allowed there: 1 is the limit.

    >>> flat = np.full((40, 40, 1), 100, np.float32)
    >>> content_apart(flat, flat + 5), content_apart(flat, flat + 40)
    (1.0, 8.0)
    """
    a, b = (cv2.blur(each, (_SQUARE, _SQUARE)) for each in (plain, fast))
    mean, square = (cv2.blur(each, (_AROUND, _AROUND)) for each in (plain, plain * plain))
    allowed = _SLACK + _SPREAD * np.sqrt(np.maximum(square - mean * mean, 0))
    return float((np.abs(a - b) / allowed).max())


def labels_elsewhere(plain: NDArray[Any], fast: NDArray[Any]) -> float:
    """The share of a mask whose label the other one has nowhere within some pixels, either way.

    >>> mask = np.repeat(np.arange(4), 10)[None].repeat(40, 0)
    >>> labels_elsewhere(mask, np.roll(mask, 1, axis=1)) < 0.03, labels_elsewhere(mask, mask[:, ::-1])
    (True, 0.9)
    """
    return max(_share_elsewhere(plain, fast), _share_elsewhere(fast, plain))


def _share_elsewhere(plain: NDArray[Any], fast: NDArray[Any]) -> float:
    sides = [(_NEAR, _NEAR)] * 2 + [(0, 0)] * (plain.ndim - 2)
    padded = np.pad(plain, sides, mode="edge")
    height, width = plain.shape[:2]
    nearby = np.zeros(plain.shape, np.bool_)
    for y, x in product(range(2 * _NEAR + 1), repeat=2):
        nearby |= padded[y : y + height, x : x + width] == fast
    return float(1 - nearby.mean())


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
