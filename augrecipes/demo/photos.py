"""Photo-like images: a scene in linear light, and the camera that takes it."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.demo.fields import Size, grid
from augrecipes.demo.foliage import foliage
from augrecipes.demo.landscape import Light, landscape
from augrecipes.demo.still_life import still_life

_SCENES = {"foliage": foliage, "landscape": landscape, "still-life": still_life}
CLASSES = tuple(_SCENES)


def draw_photo(kind: str, size: Size, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw one photo-like image, uint8 H×W×3 RGB; the same generator state draws the same photo.

    Args:
        kind: one of `CLASSES`.
        size: height and width in px, each at least 32.
        rng: decides everything.

    Raises:
        ValueError: an unknown kind.

    >>> draw_photo("landscape", (75, 100), np.random.default_rng(3)).shape
    (75, 100, 3)
    """
    if kind not in _SCENES:
        raise ValueError(f"unknown scene {kind!r}; it is one of {', '.join(CLASSES)}")
    return develop(_SCENES[kind](rng, size), rng)


def develop(light: Light, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A camera: exposure, white balance, vignetting, a highlight shoulder, sensor noise, sRGB, picture style.

    Args:
        light: linear light, float32 H×W×3, 0 and up.
        rng: decides the camera's settings and its noise.
    """
    size: Size = (light.shape[0], light.shape[1])
    y, x = grid(size)
    away = np.hypot((x - size[1] / 2) / size[1], (y - size[0] / 2) / size[0])
    vignette = 1 - np.float32(rng.uniform(0.25, 0.7)) * away**2
    balance = 1 + 0.04 * rng.standard_normal(3)
    # Exposed for the mean, as cameras do, but not all the way: dark scenes stay darker.
    exposure = (0.20 / max(float(light.mean()), 1e-3)) ** 0.7 * rng.uniform(0.85, 1.2)
    seen = np.maximum(light, 0) * (vignette[..., None] * balance * exposure).astype(np.float32)
    seen = 1 - np.exp(-1.35 * seen)
    seen += rng.standard_normal(seen.shape, dtype=np.float32) * (0.004 + 0.01 * np.sqrt(np.maximum(seen, 0)))
    seen = cv2.GaussianBlur(seen, (0, 0), 0.45)
    srgb = np.clip(seen, 0, 1) ** np.float32(1 / 2.2)
    # The S of a camera's picture style, and its push of colour.
    srgb += np.float32(rng.uniform(0.4, 0.8)) * (srgb * srgb * (3 - 2 * srgb) - srgb)
    grey = srgb.mean(-1, keepdims=True)
    srgb = np.clip(grey + (srgb - grey) * np.float32(rng.uniform(1.05, 1.3)), 0, 1)
    developed: NDArray[np.uint8] = np.rint(srgb * 255).astype(np.uint8)
    return developed
