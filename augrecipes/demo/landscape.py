"""Landscapes: a sky with clouds, ridges that fade into the haze, water or meadow in front. Linear light, RGB."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.demo.fields import Field, Size, fractal, grid, ramp

Light = NDArray[Any]  # float32 H×W×3 RGB, linear, 0..about 1

# Horizon, zenith, sun and rock colours of three times of day, in linear light.
_HOURS = (
    ((0.62, 0.74, 0.86), (0.10, 0.24, 0.56), (1.0, 0.95, 0.85), (0.16, 0.17, 0.14)),
    ((0.95, 0.58, 0.34), (0.16, 0.20, 0.42), (1.0, 0.62, 0.32), (0.12, 0.09, 0.10)),
    ((0.66, 0.69, 0.70), (0.36, 0.42, 0.48), (0.8, 0.8, 0.78), (0.13, 0.15, 0.13)),
)


def landscape(rng: np.random.Generator, size: Size) -> Light:
    """Draw a landscape.

    >>> landscape(np.random.default_rng(0), (60, 80)).shape
    (60, 80, 3)
    """
    y, _ = grid(size)
    height, width = size
    horizon, zenith, sun, rock = (np.array(c, np.float32) for c in _HOURS[rng.integers(len(_HOURS))])
    shore = height * rng.uniform(0.6, 0.76)
    picture = _sky(rng, size, shore, (horizon, zenith, sun))
    ridges = int(rng.integers(3, 6))
    for k in range(ridges):
        near = (k + 1) / ridges  # 1 is the nearest
        base = shore - height * (0.26 * (1 - near) + 0.03)
        rise = height * rng.uniform(0.10, 0.24) * (1.15 - 0.5 * near)
        peaks = np.abs(fractal(rng, (1, width), width * rng.uniform(0.3, 0.55), 8, 0.48)[0])
        line = base - rise * 1.5 * np.tanh(peaks / 1.5)  # no peak leaves the picture
        cover = ramp(y - line[None, :], -0.7, 0.9)
        relief = fractal(rng, size, height * 0.16, 7, 0.62)
        slope = np.gradient(cv2.GaussianBlur(relief, (0, 0), 0.9), axis=1)
        lit = np.clip(0.75 + 3.0 * np.float32(near) * slope, 0.12, 2.2)
        below_px = y - line[None, :]
        forest = ramp(fractal(rng, size, height * 0.06, 4, 0.8) + below_px / (height * 0.08) - 1.2, -0.6, 0.6)
        green = np.array((0.045, 0.085, 0.035), np.float32)
        ground = rock * (1 - forest[..., None]) + green * forest[..., None]
        haze = np.float32(0.84 * (1 - near) ** 0.9)
        ground = ground * lit[..., None] * (0.45 + 0.75 * sun) * (1 - haze) + horizon * haze * 0.92
        picture = _over(picture, ground, cover)
    front = _water if rng.random() < 0.55 else _meadow
    return front(rng, picture, shore, sun)


def _over(below: Light, above: Light, cover: Field) -> Light:
    mixed: Light = below + (above - below) * cover[..., None]
    return mixed


def _sky(rng: np.random.Generator, size: Size, shore: float, colours: tuple[Light, Light, Light]) -> Light:
    """Clouds under a gradient from horizon to zenith, and the sun."""
    horizon, zenith, sun = colours
    y, x = grid(size)
    up = np.clip(1 - y / np.float32(shore), 0, 1)[..., None] ** np.float32(0.75)
    sky = horizon * (1 - up) + zenith * up
    sx, sy = size[1] * rng.uniform(0.1, 0.9), shore * rng.uniform(0.25, 0.8)
    away = np.hypot(x - np.float32(sx), y - np.float32(sy)) / np.float32(size[0])
    sky += sun * (0.55 * np.exp(-away / 0.16) + 1.2 * ramp(away, 0.035, 0.025))[..., None] * np.float32(0.7)
    # Clouds lie on a ceiling: towards the horizon they are seen edge on, so their noise is stretched sideways.
    ceiling = np.float32(1) / (np.clip(1 - y / np.float32(shore), 0, 1) + np.float32(0.16))
    texture = fractal(rng, (512, 512), 120, 6, 0.56)
    u = (x - size[1] / 2) * ceiling * np.float32(0.55) + np.float32(rng.uniform(0, 512))
    v = ceiling * np.float32(0.42 * size[0]) + np.float32(rng.uniform(0, 512))
    cloud = cv2.remap(texture, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    level = rng.uniform(-0.3, 0.9)
    cover = ramp(cloud, level, level + 1.3) * ramp(up[..., 0], 0.0, 0.18)
    below = cv2.remap(texture, u + 6, v + 10, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    light = np.clip(0.72 + 0.3 * (cloud - below), 0.35, 1.1)[..., None] * (0.35 + 0.65 * sun)
    return _over(sky, light.astype(np.float32), cover * np.float32(0.9))


def _water(rng: np.random.Generator, picture: Light, shore: float, sun: Light) -> Light:
    """A lake that mirrors what is above its shore, broken by ripples that grow towards the viewer."""
    y, x = grid((picture.shape[0], picture.shape[1]))
    depth = np.maximum(y - np.float32(shore), 0)
    near = depth / np.float32(max(y.shape[0] - shore, 1))
    texture = fractal(rng, (512, 512), 26, 5, 0.62)
    v = np.float32(420) / (near * 7 + np.float32(0.55))
    ripple = cv2.remap(texture, x * 0.35 / (near + 0.3), v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    mirror = np.float32(2 * shore) - y + ripple * (1.5 + 9 * near)
    mirrored = cv2.remap(picture, x + ripple * 2 * near, np.clip(mirror, 0, shore - 2), cv2.INTER_LINEAR)
    tint = np.array((0.02, 0.045, 0.055), np.float32)
    water = mirrored * (0.78 - 0.33 * near[..., None]) + tint + (0.05 * np.maximum(ripple, 0) * near)[..., None] * sun
    return _over(picture, water.astype(np.float32), ramp(y, shore - 0.5, shore + 1.0))


def _meadow(rng: np.random.Generator, picture: Light, shore: float, sun: Light) -> Light:
    """Grass whose blades grow towards the viewer, with paths of straw and a few flowers."""
    size = (picture.shape[0], picture.shape[1])
    y, x = grid(size)
    line = np.float32(shore) + np.float32(size[0] * 0.02) * fractal(rng, (1, size[1]), size[1] * 0.4, 4)
    near = np.clip((y - line) / np.float32(max(size[0] - shore, 1)), 0, 1.5)
    texture = cv2.GaussianBlur(rng.standard_normal((512, 512), dtype=np.float32), (0, 0), 0.7, sigmaY=2.6) * 3
    u, v = (x - size[1] / 2) / (near * 1.5 + np.float32(0.35)), np.float32(300) / (near + np.float32(0.3))
    blades = cv2.remap(texture, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
    worn = cv2.remap(fractal(rng, (512, 512), 60, 4), u + 256, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    patches = ramp(worn, -1, 1.4)
    green, straw = np.array((0.07, 0.13, 0.025), np.float32), np.array((0.30, 0.24, 0.09), np.float32)
    ground = (green + (straw - green) * patches[..., None]) * (1 + 0.34 * blades * np.sqrt(near + 0.1))[..., None]
    seeds = (rng.random((512, 512), dtype=np.float32) > 0.997).astype(np.float32)
    petals = cv2.remap(seeds, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
    colour = np.array(((0.8, 0.75, 0.7), (0.85, 0.6, 0.05), (0.6, 0.06, 0.1))[rng.integers(3)], np.float32)
    ground = _over(np.maximum(ground, 0.004) * (0.5 + 0.7 * sun), colour * sun, np.clip(petals * 1.6, 0, 1))
    return _over(picture, ground.astype(np.float32), ramp(y - line, -1.0, 1.0))
