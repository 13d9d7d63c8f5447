"""Smooth random fields: the raw material of synthetic tissue and photos. All are float32 H×W."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Field = NDArray[Any]  # float32 H×W; Any, because numpy's stubs widen every mixed expression
Size = tuple[int, int]  # height, width in px


def grid(size: Size) -> tuple[Field, Field]:
    """Pixel coordinates (y, x), each float32 H×W.

    >>> y, x = grid((2, 3))
    >>> y[1, 0], x[1, 2]
    (np.float32(1.0), np.float32(2.0))
    """
    y, x = np.mgrid[0 : size[0], 0 : size[1]].astype(np.float32)
    return y, x


def smooth_noise(rng: np.random.Generator, size: Size, feature_px: float) -> Field:
    """Noise of mean 0 and spread about 1, whose bumps are about `feature_px` wide.

    >>> smooth_noise(np.random.default_rng(0), (40, 60), 8).shape
    (40, 60)
    """
    height, width = size
    # A coarse grid enlarged with a cubic kernel costs far less than blurring at full size.
    rows, cols = int(height / feature_px) + 2, int(width / feature_px) + 2
    coarse = rng.standard_normal((rows, cols), dtype=np.float32) * np.float32(1.4)
    large = max(int(cols * feature_px), width), max(int(rows * feature_px), height)
    fine = cv2.resize(coarse, large, interpolation=cv2.INTER_CUBIC)
    # The grid's own lines must not always fall on the same pixels.
    top, left = (int(rng.random() * room) for room in (fine.shape[0] - height + 1, fine.shape[1] - width + 1))
    return np.ascontiguousarray(fine[top : top + height, left : left + width])


def fractal(rng: np.random.Generator, size: Size, feature_px: float, octaves: int = 4, gain: float = 0.5) -> Field:
    """A sum of ever finer noise (each octave half as wide and `gain` times as strong), of spread about 1.

    >>> bool(abs(fractal(np.random.default_rng(0), (64, 64), 9).std() - 1) < 0.5)
    True
    """
    total = np.zeros(size, np.float32)
    weight, power = 1.0, 0.0
    for octave in range(octaves):
        width_px = feature_px / 2**octave
        if width_px < 1:
            break
        total += np.float32(weight) * smooth_noise(rng, size, width_px)
        power += weight**2
        weight *= gain
    return total / np.float32(max(power, 1e-6) ** 0.5)


def fibres(rng: np.random.Generator, along: Field, across: Field, width_px: float, stretch: float) -> Field:
    """Streaks that run along `across` = constant, about `width_px` wide and `stretch` times as long, spread about 1.

    Args:
        rng: decides the streaks.
        along: coordinate along the streaks, px.
        across: coordinate across the streaks, px; bend it and the streaks bend.
        width_px: width of the finest streak.
        stretch: length of a streak in widths.
    """
    texture = rng.standard_normal((512, 512), dtype=np.float32)
    texture = cv2.GaussianBlur(texture, (0, 0), 0.8, borderType=cv2.BORDER_REFLECT) * np.float32(2.8)
    total = np.zeros_like(along)
    for octave, weight in enumerate((1.0, 0.8, 0.5)):
        span = np.float32(width_px * 2.2 ** (2 - octave))
        u = across / span + np.float32(rng.random() * 512)
        v = along / np.float32(span * stretch) + np.float32(rng.random() * 512)
        total += np.float32(weight) * cv2.remap(texture, v, u, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
    return total / np.float32(1.4)


def ramp(field: Field, low: float, high: float) -> Field:
    """0 below `low`, 1 above `high`, smooth between (`low` may exceed `high`: then it falls).

    >>> ramp(np.array([0.0, 0.5, 1.0], np.float32), 0, 1).tolist()
    [0.0, 0.5, 1.0]
    """
    t: Field = np.clip((field - np.float32(low)) / np.float32(high - low), 0, 1)
    smooth: Field = t * t * (3 - 2 * t)
    return smooth


def blur(field: Field, sigma_px: float) -> Field:
    """A Gaussian blur; `sigma_px` 0 or less returns the field itself."""
    return cv2.GaussianBlur(field, (0, 0), sigma_px) if sigma_px > 0 else field


def quantile_level(field: Field, share: float) -> float:
    """The level that `share` of the field lies above.

    >>> quantile_level(np.arange(100, dtype=np.float32), 0.25)
    74.25
    """
    return float(np.quantile(field, 1 - share))
