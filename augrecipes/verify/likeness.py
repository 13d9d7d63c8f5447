"""How like two results are whose pixels were resampled in other ways: measured on the images themselves.

Merged resampling is sharper than several passes, so levels differ at every edge. What must agree is where things are
(an affine motion between both images is fitted by least squares: Lucas and Kanade, 1981), what is seen (means of small
squares, held against how much the image varies around them), and which labels lie about each place of a mask.
"""

from __future__ import annotations

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
