"""Photo-like images: foliage and landscapes in linear light, and the camera that takes them."""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.demo.brushes import Field, Random, Size, blend, blur, grid, lookup, noise, ramp, stamp

# Colours in linear light. Leaf, shade and sun-spot of spring, late summer and autumn:
_SEASONS = (
    ((0.10, 0.24, 0.035), (0.012, 0.035, 0.012), (0.75, 0.85, 0.45)),
    ((0.06, 0.15, 0.045), (0.010, 0.022, 0.014), (0.70, 0.78, 0.66)),
    ((0.34, 0.14, 0.025), (0.040, 0.020, 0.010), (0.95, 0.72, 0.36)),
)
# Horizon, zenith, sun and rock of noon, evening and a grey day.
_HOURS = (
    ((0.62, 0.74, 0.86), (0.10, 0.24, 0.56), (1.0, 0.95, 0.85), (0.16, 0.17, 0.14)),
    ((0.95, 0.58, 0.34), (0.16, 0.20, 0.42), (1.0, 0.62, 0.32), (0.12, 0.09, 0.10)),
    ((0.66, 0.69, 0.70), (0.36, 0.42, 0.48), (0.8, 0.8, 0.78), (0.13, 0.15, 0.13)),
)
_FOREST, _LAKE = np.array(((0.045, 0.085, 0.035), (0.02, 0.045, 0.055)), np.float32)


def render_photo(kind: str, size: Size, rng: Random) -> NDArray[np.uint8]:
    """Draw one photo-like image, uint8 H×W×3 RGB; the same generator state draws the same photo.

    Args:
        kind: one of `CLASSES`.
        size: height and width in px, each at least 32.
        rng: decides everything.

    Raises:
        ValueError: an unknown kind.

    >>> render_photo("landscape", (75, 100), np.random.default_rng(3)).shape
    (75, 100, 3)
    """
    if kind not in _SCENES:
        raise ValueError(f"unknown scene {kind!r}; it is one of {', '.join(CLASSES)}")
    light = _SCENES[kind](rng, size)
    # A camera: exposure partly adapted to the mean, vignetting, a highlight shoulder, sensor noise, gamma.
    y, x = grid(size)
    vignette = 1 - np.float32(rng.uniform(0.25, 0.7)) * ((x / size[1] - 0.5) ** 2 + (y / size[0] - 0.5) ** 2)
    exposure = (0.20 / max(float(light.mean()), 1e-3)) ** 0.7 * rng.uniform(0.85, 1.2)
    exposed = 1 - np.exp(np.clip(light, 0, 50) * vignette[..., None] * np.float32(-1.35 * exposure))
    exposed += rng.standard_normal(exposed.shape, dtype=np.float32) * (0.004 + 0.01 * np.sqrt(exposed))
    srgb = np.clip(blur(exposed, 0.45), 0, 1) ** np.float32(1 / 2.2)
    srgb += np.float32(0.6) * (srgb * srgb * (3 - 2 * srgb) - srgb)  # the S-curve of a camera's picture style
    grey = srgb.mean(-1, keepdims=True)
    return cv2.convertScaleAbs(np.clip(grey + (srgb - grey) * np.float32(1.18), 0, 1), alpha=255)


def _foliage(rng: Random, size: Size) -> Field:
    """Leaves in three planes of focus, with gaps in the canopy as discs of light behind them."""
    leaf, shade, spot = _one_of(rng, _SEASONS)
    image = blend(shade, leaf * 1.3 + spot * 0.12, 0.7 * ramp(noise(rng, size, size[0] * 0.5, 3), -0.4, 1.8))
    discs, unit = np.zeros(size, np.float32), min(size) / 375
    for x, y, wide, bright in rng.random((20, 4)):
        centre, radius = (int(x * size[1]), int(y * size[0])), int((0.012 + 0.028 * wide) * size[1])
        cv2.circle(discs, centre, radius, 0.15 + 0.45 * bright, -1, cv2.LINE_AA)
    image += blur(discs, 1.2)[..., None] * spot
    for count, length, blur_px, light in ((70, 46, 7.0, 0.55), (85, 58, 2.2, 0.8), (34, 84, 0.2, 1.0)):
        layer = np.zeros((*size, 4), np.float32)
        for x, y, turn, large in rng.random((count, 4)):
            at = x * size[1], y * size[0], 2 * np.pi * turn
            _leaf(rng, layer, leaf * np.float32(light), at, length * unit * (0.6 + 0.65 * large))
        layer = blur(layer, blur_px * unit)
        image = image * (1 - layer[..., 3:]) + layer[..., :3]
    return image


def _leaf(rng: Random, layer: Field, colour: Field, at: tuple[float, float, float], length: float) -> None:
    """Draw one leaf with its veins over what `layer` holds (premultiplied RGBA), in place; `at`: x, y and angle."""
    window, along, across = stamp(layer.shape[:2], at[0], at[1], length / 2, length / 2, at[2])
    bend, shine = rng.normal(0, 0.12), rng.choice((-1, 1))
    across = across + np.float32(bend) * along**2
    edge = np.abs(across) - 0.42 * np.sqrt(np.clip(1 - along**2, 0, 1)) * (1 - 0.38 * along)
    cover = ramp(edge * np.float32(length / 2), 0.8, -0.8) * (np.abs(along) < 1)
    ribs = np.exp(-np.square(((along - np.abs(across) * 1.1) * 6.5 % 1 - 0.5) / 0.09))
    veins = np.exp(-np.square(across / 0.022)) + 0.4 * ribs
    light = rng.uniform(0.55, 1.5) * (1 + 0.22 * shine * np.sign(across) + 0.25 * along) + 0.28 * veins
    paint = np.maximum(light, 0.05)[..., None] * colour * np.exp(rng.normal(0, (0.22, 0.12, 0.25)))
    # A leaf casts a narrow shadow on those below, which makes it look on top.
    layer[window][..., :3] *= (1 - 0.45 * ramp(edge, 0.16, 0.0) * (np.abs(along) < 1.08))[..., None]
    layer[window] = blend(layer[window], np.dstack([paint, np.ones_like(along)]), cover)


def _landscape(rng: Random, size: Size) -> Field:
    """A sky with clouds, ridges that fade into the haze, and a lake in front that mirrors them."""
    y, x = grid(size)
    height, width = size
    horizon, zenith, sun, rock = _one_of(rng, _HOURS)
    shore = float(height * rng.uniform(0.6, 0.76))
    up = np.clip(1 - y / shore, 0, 1)
    image = blend(horizon, zenith, up ** np.float32(0.75))
    away = np.hypot(x - width * rng.uniform(0.1, 0.9), y - shore * rng.uniform(0.25, 0.8)) / np.float32(height)
    image += sun * (0.4 * np.exp(-away / 0.16) + 0.85 * ramp(away, 0.035, 0.025))[..., None]
    # Clouds lie on a ceiling: towards the horizon they are seen edge on, so their noise is stretched sideways.
    texture, start = noise(rng, (512, 512), 120, 7, 0.6), rng.uniform(-0.3, 0.9)
    v, u = 0.42 * height / (up + 0.16), 0.55 * (x - width / 2) / (up + 0.16) + rng.uniform(0, 512)
    cloud, below = lookup(texture, v, u), lookup(texture, v + 10, u + 6)
    bright = np.clip(0.72 + 0.3 * (cloud - below), 0.35, 1.1)[..., None] * (0.35 + 0.65 * sun)
    image = blend(image, bright, 0.9 * ramp(cloud, start, start + 1.3) * ramp(up, 0.0, 0.18))
    for near in np.linspace(0, 1, int(rng.integers(4, 7)), dtype=np.float32)[1:]:  # 1 is the nearest ridge
        peaks = np.abs(noise(rng, (1, width), width * rng.uniform(0.3, 0.55), 8, 0.48))
        rise = height * rng.uniform(0.14, 0.27) * (1.15 - 0.5 * near) * np.log1p(peaks)
        under = y - (shore - height * (0.26 * (1 - near) + 0.03) - rise)  # px below the ridge's line
        slope = np.gradient(blur(noise(rng, size, height * 0.16, 6, 0.65), 0.9), axis=1)
        forest = ramp(noise(rng, size, height * 0.06, 4, 0.8) + under / (height * 0.08) - 1.2, -0.6, 0.6)
        ground = blend(rock, _FOREST, forest) * (0.45 + 0.75 * sun)
        haze = np.float32(0.84 * (1 - near) ** 0.9)
        ground = ground * np.clip(0.75 + 3.0 * near * slope, 0.12, 2.2)[..., None] * (1 - haze) + horizon * haze * 0.92
        image = blend(image, ground, ramp(under, -0.7, 0.9))
    # Ripples grow towards the viewer.
    near = np.maximum(y - shore, 0) / np.float32(height - shore)
    ripple = lookup(noise(rng, (512, 512), 26, 5, 0.62), 420 / (near * 7 + 0.55), 0.35 * x / (near + 0.3))
    mirrored = lookup(image, np.clip(2 * shore - y + ripple * (1.5 + 9 * near), 0, shore - 2), x + 2 * ripple * near)
    shade = _LAKE + 0.05 * (np.maximum(ripple, 0) * near)[..., None] * sun
    return blend(image, mirrored * (0.78 - 0.33 * near[..., None]) + shade, ramp(y, shore - 0.5, shore + 1.0))


def _one_of(rng: Random, colours: Sequence[Any]) -> Field:
    return np.array(colours[int(rng.integers(len(colours)))], np.float32)


_SCENES = {"foliage": _foliage, "landscape": _landscape}
CLASSES = tuple(_SCENES)
