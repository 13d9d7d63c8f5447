"""Foliage: leaf over leaf, the far ones out of focus, some lit from behind. Linear light, float32 RGB."""

from __future__ import annotations

import cv2
import numpy as np

from augrecipes.demo.fields import Size, fractal, ramp
from augrecipes.demo.landscape import Light

# Leaf, shade and sun-spot colours of spring, late summer and autumn, in linear light.
_SEASONS = (
    ((0.10, 0.24, 0.035), (0.012, 0.035, 0.012), (0.75, 0.85, 0.45)),
    ((0.06, 0.15, 0.045), (0.010, 0.022, 0.014), (0.70, 0.78, 0.66)),
    ((0.34, 0.14, 0.025), (0.040, 0.020, 0.010), (0.95, 0.72, 0.36)),
)


def foliage(rng: np.random.Generator, size: Size) -> Light:
    """Draw leaves in three planes of focus.

    >>> foliage(np.random.default_rng(0), (60, 80)).shape
    (60, 80, 3)
    """
    leaf, shade, spot = (np.array(c, np.float32) for c in _SEASONS[rng.integers(len(_SEASONS))])
    glow = ramp(fractal(rng, size, size[0] * 0.5, 3), -0.4, 1.8)[..., None]
    picture: Light = (shade + (leaf * 1.3 + spot * 0.12 - shade) * glow * 0.7).astype(np.float32)
    _sun_spots(rng, picture, spot)
    unit = min(size) / 375
    for count, length, blur_px, light in ((70, 46, 7.0, 0.55), (85, 58, 2.2, 0.8), (34, 84, 0.0, 1.0)):
        layer: Light = np.zeros((*size, 4), np.float32)
        for _ in range(count):
            _leaf(rng, layer, leaf * np.float32(light), length * unit * rng.uniform(0.6, 1.25))
        if blur_px:
            layer = cv2.GaussianBlur(layer, (0, 0), blur_px * unit)
        picture = picture * (1 - layer[..., 3:]) + layer[..., :3]
    return picture


def _sun_spots(rng: np.random.Generator, picture: Light, spot: Light) -> None:
    """Gaps in the canopy, drawn as the lens draws points out of focus: evenly bright discs."""
    height, width = picture.shape[:2]
    discs = np.zeros((height, width), np.float32)
    for _ in range(int(rng.integers(10, 30))):
        centre = (int(rng.integers(width)), int(rng.integers(height)))
        radius = int(rng.uniform(0.012, 0.04) * width)
        cv2.circle(discs, centre, radius, rng.uniform(0.15, 0.6), -1, cv2.LINE_AA)
    picture += cv2.GaussianBlur(discs, (0, 0), 1.2)[..., None] * spot


def _leaf(rng: np.random.Generator, layer: Light, colour: Light, length: float) -> None:
    """Draw one leaf with its veins over what `layer` holds (premultiplied RGBA), in place."""
    height, width = layer.shape[:2]
    cx, cy, angle = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(0, 2 * np.pi)
    reach = int(length * 0.62) + 2
    left, right = max(int(cx) - reach, 0), min(int(cx) + reach, width)
    top, bottom = max(int(cy) - reach, 0), min(int(cy) + reach, height)
    if right <= left or bottom <= top:
        return
    dx = np.arange(left, right, dtype=np.float32)[None, :] - np.float32(cx)
    dy = np.arange(top, bottom, dtype=np.float32)[:, None] - np.float32(cy)
    cos, sin = np.float32(np.cos(angle)), np.float32(np.sin(angle))
    along = (dx * cos + dy * sin) / np.float32(length / 2)  # -1 at the stalk, 1 at the tip
    across = (dy * cos - dx * sin) / np.float32(length / 2) + np.float32(rng.normal(0, 0.12)) * along**2
    outline = 0.42 * np.sqrt(np.clip(1 - along**2, 0, 1)) * (1 - 0.38 * along)
    edge = np.abs(across) - outline
    cover = ramp(edge * np.float32(length / 2), 0.8, -0.8) * (np.abs(along) < 1)
    half = np.float32(1.0 if rng.random() < 0.5 else -1.0)
    veins = np.exp(-np.square(across / 0.022)) + 0.4 * np.exp(
        -np.square(((along - np.abs(across) * 1.1) * 6.5 % 1 - 0.5) / 0.09)
    )
    light = rng.uniform(0.55, 1.5) * (1 + 0.22 * half * np.sign(across) + 0.25 * along) + 0.28 * veins
    tint = colour * np.exp(rng.normal(0, (0.22, 0.12, 0.25))).astype(np.float32)
    gloss = 0.12 * np.exp(-np.square((across - 0.12 * half) / 0.09) - np.square((along - 0.1) / 0.5))
    paint = np.maximum(light, 0.05)[..., None] * tint + (gloss * rng.uniform(0, 1.2))[..., None] * np.float32(1)
    window = layer[top:bottom, left:right]
    # A leaf throws a narrow shadow on those below, which is what makes it lie on top.
    dark = 1 - 0.45 * ramp(edge, 0.16, 0.0) * (np.abs(along) < 1.08)
    window[..., :3] *= dark[..., None]
    window *= 1 - cover[..., None]
    window[..., :3] += paint.astype(np.float32) * cover[..., None]
    window[..., 3] += cover
