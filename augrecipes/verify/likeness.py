"""Measures how alike two images are that were resampled in different ways.

Merged resampling is sharper than several passes, so levels differ at every edge. What must agree is the place of things
(an affine motion between both images is fitted by least squares: Lucas and Kanade, 1981), the content (means of small
squares, relative to the image's local variation), and the labels near each place of a mask. Random numbers of two
generators, of noise or of fields, are compared by their distributions over all samples.
"""

import math
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

MOST_APART_PX = 0.03  # px, the largest affine motion allowed
_SIGMA = 1.5  # px, deviation of a blur that removes detail on which resamplings differ
_MOST_PIXELS = 1 << 16  # the most pixels to which a motion is fitted
_ERRORS = 4.0  # standard errors of the fit that are allowed in addition
_SQUARE, _AROUND = 8, 24  # px, sides of the squares whose means are compared, and of their surroundings
_SLACK, _SPREAD = 5.0, 0.8  # allowed difference of means: levels, plus this share of the local standard deviation
_NEAR = 2  # px, radius in which a label is searched
MOST_LABELS_ELSEWHERE = 0.1  # the largest share of a mask allowed

Levels = NDArray[np.float32]  # H×W×C, 0..255


def motion_between(plain: Levels, fast: Levels) -> tuple[float, float]:
    """Fit an affine motion from one image to the other; its largest displacement, px, and the standard error of that.

    Pixels where the images differ, as at borders, get small weights (Geman and McClure, 1987).

    >>> y, x = np.mgrid[:64, :64].astype(np.float32)
    >>> waves = [np.dstack([np.cos((x + by) / 5) + np.sin((y + x / 3) / 6)]) * 60 + 127 for by in (0.0, 0.25)]
    >>> motion, error = motion_between(*waves)
    >>> 0.15 < motion < 0.35, error < 0.05
    (True, True)
    """
    a, b = (cv2.GaussianBlur(image, (0, 0), _SIGMA).reshape(image.shape) for image in (plain, fast))
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
        inverse = np.linalg.inv(weighted @ basis + np.eye(6))  # regularised, for images without gradients
        motion = inverse @ (weighted @ -change)
        residual = change + basis @ motion
        scale = 1.5 * float(np.median(np.abs(residual))) + 0.5
        weight = (1 + (residual / (2 * scale)) ** 2) ** -2
    # Pixels within the area of the blur, and channels of a pixel, are not independent.
    variance = float(weight @ residual**2 / weight.sum()) * max(4 * np.pi * _SIGMA**2 / step**2, 1.0) * channels
    corners = np.array([[1, x, y] for x, y in product((-0.7, 0.0, 0.7), repeat=2)])
    far = np.hypot(corners @ motion[:3], corners @ motion[3:])
    errors = [np.einsum("ij,jk,ik->i", corners, part, corners) for part in (inverse[:3, :3], inverse[3:, 3:])]
    most = int(far.argmax())
    return float(far[most]), float(np.sqrt(variance * (errors[0] + errors[1])[most]))


def allowed_motion(error: float) -> float:
    """The largest motion that is allowed, px."""
    return MOST_APART_PX + _ERRORS * error


def content_apart(plain: Levels, fast: Levels) -> float:
    """The largest difference of means of small squares, divided by the difference allowed there: 1 is the limit.

    >>> flat = np.full((40, 40, 1), 100, np.float32)
    >>> content_apart(flat, flat + 5), content_apart(flat, flat + 40)
    (1.0, 8.0)
    """
    a, b = (cv2.blur(image, (_SQUARE, _SQUARE)) for image in (plain, fast))
    mean, square = (cv2.blur(image, (_AROUND, _AROUND)) for image in (plain, plain * plain))
    allowed = _SLACK + _SPREAD * np.sqrt(np.maximum(square - mean * mean, 0))
    return float((np.abs(a - b) / allowed).max())


def labels_elsewhere(plain: NDArray[Any], fast: NDArray[Any]) -> float:
    """The share of a mask whose label the other mask does not have within 2 px; the larger of both directions.

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


_MARKS = 8  # bins of the histogram, equally full
_SIDES = 4  # parts of an image along each side
_ENOUGH = 24  # from this many samples on, each gives one number

Means = NDArray[np.float64]


@dataclass
class NoiseComparison:
    """Compares the noise that two generators add to a target, by its distribution over all samples.

    Both pipelines draw the same parameters for a sample, so the noise of each pixel has the same distribution in both.
    Each sample, or with few samples each part of one, gives means of statistics in both: powers of the noise, its
    cumulative histogram, products of neighbours. The expected differences of these means are 0, and their standard
    errors follow from their variation: neither the image nor the kind of noise need be known.
    """

    powers: list[Means] = field(default_factory=list)
    products: list[Means] = field(default_factory=list)
    _last: tuple[NDArray[Any], NDArray[Any]] | None = None

    def add(self, bare: NDArray[Any], plain: NDArray[Any], fast: NDArray[Any]) -> None:
        """Add a sample, levels H×W×C: without noise, and with the noise of each generator."""
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
        """The largest difference in standard errors, by law; {} where there was no noise.

        Args:
            smooth: whether neighbouring parts of a sample depend on each other.
        """
        laws = {"noise": self.powers, "independence": self.products}
        return {law: _largest(differences, smooth) for law, differences in laws.items() if differences}


def _powers(noise: NDArray[Any], marks: NDArray[Any]) -> list[NDArray[Any]]:
    """Statistics to average over pixels: two powers, and the cumulative histogram, padded to a fixed number."""
    below = [(noise <= mark).mean(axis=-1) for mark in marks]
    padding = [np.zeros(noise.shape[:2])] * (_MARKS - 1 - len(below))
    return [noise.mean(axis=-1), (noise**2).mean(axis=-1), *below, *padding]


def _products(noise: NDArray[Any], before: NDArray[Any] | None) -> list[NDArray[Any]]:
    """Products with the pixels to the right, below and 16 px below, with the next channel, and with the last sample."""
    right, below, far, channel = (
        (noise * np.roll(noise, by, axis=axis)).mean(axis=-1) for by, axis in ((1, 1), (1, 0), (16, 1), (1, 2))
    )
    earlier = np.zeros(noise.shape[:2]) if before is None else (noise * before).mean(axis=-1)
    return [right, below, far, channel, earlier]


def _parts(measured: list[NDArray[Any]]) -> Means:
    """Means over the parts of an image, parts × statistics."""
    rows = np.array_split(np.stack(measured, axis=-1), _SIDES)
    parts = [part for row in rows for part in np.array_split(row, _SIDES, axis=1)]
    return np.array([part.mean(axis=(0, 1)) for part in parts if part.size])


def _largest(differences: list[Means], smooth: bool) -> float:
    """The largest mean difference over all statistics, in standard errors of a normal distribution."""
    whole = smooth or len(differences) >= _ENOUGH  # samples are independent, parts of one only nearly
    rows = np.array([parts.mean(axis=0) for parts in differences]) if whole else np.concatenate(differences)
    free = len(rows) - 1
    if free < 1:
        return 0.0
    mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / math.sqrt(len(rows))
    student = np.divide(np.abs(mean), error, out=np.zeros_like(mean), where=error > 0)
    student[(error == 0) & (mean != 0)] = math.inf
    # Student's t as a quantile of the normal distribution (Wallace, 1959).
    normal = np.sqrt(free * np.log1p(student**2 / free)) * (8 * free + 1) / (8 * free + 3)
    return float(normal.max())
