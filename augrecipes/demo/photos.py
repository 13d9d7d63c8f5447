"""Photo-like images: foliage, landscapes and still lifes in linear light, and the camera that takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.demo.brushes import Field, Random, Size, blur, grid, lookup, noise, over, ramp, stamp, streaks

# Leaf, shade and sun-spot colours of spring, late summer and autumn, in linear light.
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
_FLOWERS = ((0.8, 0.75, 0.7), (0.85, 0.6, 0.05), (0.6, 0.06, 0.1))
# Skin and blush of fruit, and how long it is: apples, oranges, lemons, plums, pears.
_FRUIT = (
    ((0.55, 0.04, 0.03), (0.60, 0.36, 0.06), 1.0), ((0.32, 0.42, 0.05), (0.55, 0.10, 0.04), 1.0),
    ((0.80, 0.27, 0.02), (0.85, 0.36, 0.03), 1.0), ((0.78, 0.58, 0.04), (0.60, 0.55, 0.08), 1.3),
    ((0.12, 0.03, 0.12), (0.28, 0.07, 0.12), 1.12), ((0.45, 0.44, 0.06), (0.62, 0.30, 0.05), 1.2),
)  # fmt: skip
_CLOTHS = ((0.5, 0.47, 0.42), (0.42, 0.12, 0.1), (0.12, 0.2, 0.36))
_WOODS = ((0.36, 0.19, 0.085), (0.18, 0.09, 0.045), (0.48, 0.34, 0.2))
_WALLS = ((0.34, 0.27, 0.20), (0.22, 0.30, 0.34), (0.36, 0.24, 0.24), (0.27, 0.30, 0.22), (0.30, 0.27, 0.36))


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
    return _develop(_SCENES[kind](rng, size), rng)


def _develop(light: Field, rng: Random) -> NDArray[np.uint8]:
    """A camera: exposure, white balance, vignetting, a highlight shoulder, sensor noise, sRGB, picture style."""
    height, width = light.shape[:2]
    y, x = grid((height, width))
    vignette = 1 - np.float32(rng.uniform(0.25, 0.7)) * ((x / width - 0.5) ** 2 + (y / height - 0.5) ** 2)
    balance = 1 + 0.04 * rng.standard_normal(3)
    # Exposed for the mean, as cameras do, but not all the way: dark scenes stay darker.
    exposure = (0.20 / max(float(light.mean()), 1e-3)) ** 0.7 * rng.uniform(0.85, 1.2)
    seen = 1 - np.exp(np.minimum(light, 50) * vignette[..., None] * (-1.35 * balance * exposure).astype(np.float32))
    seen = np.maximum(seen, 0)
    seen += rng.standard_normal(seen.shape, dtype=np.float32) * (0.004 + 0.01 * np.sqrt(seen))
    srgb = np.clip(blur(seen, 0.45), 0, 1) ** np.float32(1 / 2.2)
    # The S of a camera's picture style, and its push of colour.
    srgb += np.float32(rng.uniform(0.4, 0.8)) * (srgb * srgb * (3 - 2 * srgb) - srgb)
    grey = srgb.mean(-1, keepdims=True)
    return cv2.convertScaleAbs(np.clip(grey + (srgb - grey) * np.float32(rng.uniform(1.05, 1.3)), 0, 1), alpha=255)


def _foliage(rng: Random, size: Size) -> Field:
    """Leaves in three planes of focus, with gaps in the canopy as discs of light behind them."""
    leaf, shade, spot = _one_of(rng, _SEASONS)
    glow = ramp(noise(rng, size, size[0] * 0.5, 3), -0.4, 1.8)
    picture = over(shade, leaf * 1.3 + spot * 0.12, 0.7 * glow)
    discs = np.zeros(size, np.float32)
    for _ in range(int(rng.integers(10, 30))):
        centre, radius = (rng.random(2) * size[::-1]).astype(int), int(rng.uniform(0.012, 0.04) * size[1])
        cv2.circle(discs, centre.tolist(), radius, rng.uniform(0.15, 0.6), -1, cv2.LINE_AA)
    picture += blur(discs, 1.2)[..., None] * spot
    unit = min(size) / 375
    for count, length, blur_px, light in ((70, 46, 7.0, 0.55), (85, 58, 2.2, 0.8), (34, 84, 0.2, 1.0)):
        layer = np.zeros((*size, 4), np.float32)
        for x, y, turn in rng.random((count, 3)) * (*size[::-1], 2 * np.pi):
            _leaf(rng, layer, leaf * np.float32(light), (x, y), turn, length * unit * rng.uniform(0.6, 1.25))
        layer = blur(layer, blur_px * unit)
        picture = picture * (1 - layer[..., 3:]) + layer[..., :3]
    return picture


def _leaf(rng: Random, layer: Field, colour: Field, at: tuple[float, float], angle: float, length: float) -> None:
    """Draw one leaf with its veins over what `layer` holds (RGB, or premultiplied RGBA), in place."""
    size: Size = (layer.shape[0], layer.shape[1])
    found = stamp(size, *at, length / 2, length / 2, angle)
    if found is None:
        return
    along, across = found.u, found.v + np.float32(rng.normal(0, 0.12)) * found.u**2
    edge = np.abs(across) - 0.42 * np.sqrt(np.clip(1 - along**2, 0, 1)) * (1 - 0.38 * along)
    cover = ramp(edge * np.float32(length / 2), 0.8, -0.8) * (np.abs(along) < 1)
    half = np.float32(rng.choice((-1, 1)))
    ribs = np.exp(-np.square(((along - np.abs(across) * 1.1) * 6.5 % 1 - 0.5) / 0.09))
    veins = np.exp(-np.square(across / 0.022)) + 0.4 * ribs
    light = rng.uniform(0.55, 1.5) * (1 + 0.22 * half * np.sign(across) + 0.25 * along) + 0.28 * veins
    gloss = 0.12 * np.exp(-np.square((across - 0.12 * half) / 0.09) - np.square((along - 0.1) / 0.5))
    shade = colour * np.exp(rng.normal(0, (0.22, 0.12, 0.25))).astype(np.float32)
    paint = np.maximum(light, 0.05)[..., None] * shade + (gloss * rng.uniform(0, 1.2))[..., None]
    window = layer[found.window]
    # A leaf throws a narrow shadow on those below, which is what makes it lie on top.
    window[..., :3] *= (1 - 0.45 * ramp(edge, 0.16, 0.0) * (np.abs(along) < 1.08))[..., None]
    window *= 1 - cover[..., None]
    window += np.dstack([paint, np.ones_like(along)])[..., : layer.shape[2]] * cover[..., None]


def _landscape(rng: Random, size: Size) -> Field:
    """A sky with clouds, ridges that fade into the haze, water or a meadow in front."""
    y, x = grid(size)
    height, width = size
    horizon, zenith, sun, rock = _one_of(rng, _HOURS)
    shore = np.float32(height * rng.uniform(0.6, 0.76))
    up = np.clip(1 - y / shore, 0, 1)
    picture = over(horizon, zenith, up ** np.float32(0.75))
    away = np.hypot(x - width * rng.uniform(0.1, 0.9), y - shore * rng.uniform(0.25, 0.8)) / np.float32(height)
    picture += sun * (0.4 * np.exp(-away / 0.16) + 0.85 * ramp(away, 0.035, 0.025))[..., None]
    # Clouds lie on a ceiling: towards the horizon they are seen edge on, so their noise is stretched sideways.
    texture = noise(rng, (512, 512), 120, 7, 0.6)
    v, u = 0.42 * height / (up + 0.16) + rng.uniform(0, 512), 0.55 * (x - width / 2) / (up + 0.16) + rng.uniform(0, 512)
    cloud, below = lookup(texture, v, u), lookup(texture, v + 10, u + 6)
    start = rng.uniform(-0.3, 0.9)
    bright = np.clip(0.72 + 0.3 * (cloud - below), 0.35, 1.1)[..., None] * (0.35 + 0.65 * sun)
    picture = over(picture, bright, 0.9 * ramp(cloud, start, start + 1.3) * ramp(up, 0.0, 0.18))
    ridges = int(rng.integers(3, 6))
    for near in np.linspace(0, 1, ridges + 1, dtype=np.float32)[1:]:  # 1 is the nearest
        peaks = np.abs(noise(rng, (1, width), width * rng.uniform(0.3, 0.55), 8, 0.48))
        rise = height * rng.uniform(0.14, 0.27) * (1.15 - 0.5 * near) * np.log1p(peaks)
        under = y - (shore - height * (0.26 * (1 - near) + 0.03) - rise)  # px below the ridge's line
        relief = noise(rng, size, height * 0.16, 6, 0.65)
        lit = np.clip(0.75 + 3.0 * near * np.gradient(blur(relief, 0.9), axis=1), 0.12, 2.2)[..., None]
        forest = ramp(noise(rng, size, height * 0.06, 4, 0.8) + under / (height * 0.08) - 1.2, -0.6, 0.6)
        ground = over(rock, np.array((0.045, 0.085, 0.035), np.float32), forest)
        haze = np.float32(0.84 * (1 - near) ** 0.9)
        ground = ground * lit * (0.45 + 0.75 * sun) * (1 - haze) + horizon * haze * 0.92
        picture = over(picture, ground, ramp(under, -0.7, 0.9))
    front = _water if rng.random() < 0.55 else _meadow
    return front(rng, picture, float(shore), sun)


def _water(rng: Random, picture: Field, shore: float, sun: Field) -> Field:
    """A lake that mirrors what is above its shore, broken by ripples that grow towards the viewer."""
    y, x = grid((picture.shape[0], picture.shape[1]))
    near = np.maximum(y - shore, 0) / np.float32(max(len(y) - shore, 1))
    ripple = lookup(noise(rng, (512, 512), 26, 5, 0.62), 420 / (near * 7 + 0.55), 0.35 * x / (near + 0.3))
    mirror = np.clip(2 * shore - y + ripple * (1.5 + 9 * near), 0, shore - 2)
    mirrored = lookup(picture, mirror, x + 2 * ripple * near)
    shade = np.array((0.02, 0.045, 0.055), np.float32) + 0.05 * (np.maximum(ripple, 0) * near)[..., None] * sun
    return over(picture, mirrored * (0.78 - 0.33 * near[..., None]) + shade, ramp(y, shore - 0.5, shore + 1.0))


def _meadow(rng: Random, picture: Field, shore: float, sun: Field) -> Field:
    """Grass whose blades grow towards the viewer, with patches of straw and a few flowers."""
    height, width = picture.shape[:2]
    y, x = grid((height, width))
    line = shore + 0.02 * height * noise(rng, (1, width), width * 0.4, 4)
    near = np.clip((y - line) / np.float32(height - shore), 0, 1.5)
    v, u = 300 / (near + 0.3), (x - width / 2) / (near * 1.5 + 0.35) + 256
    fine = rng.standard_normal((512, 512), dtype=np.float32)
    blades = lookup(cv2.GaussianBlur(fine, (0, 0), 0.7, sigmaY=2.6) * 3, v, u)
    green, straw = np.array(((0.07, 0.13, 0.025), (0.30, 0.24, 0.09)), np.float32)
    ground = over(green, straw, ramp(lookup(noise(rng, (512, 512), 60, 4), v, u), -1, 1.4))
    ground = np.maximum(ground * (1 + 0.34 * blades * np.sqrt(near + 0.1))[..., None], 0.004) * (0.5 + 0.7 * sun)
    petals = np.minimum(1.6 * lookup((fine > 2.75).astype(np.float32), v, u), 1)
    ground = over(ground, _one_of(rng, _FLOWERS) * sun, petals)
    return over(picture, ground, ramp(y - line, -1.0, 1.0))


def _still_life(rng: Random, size: Size) -> Field:
    """Fruit on a wooden table or a checked cloth, before a wall out of focus."""
    y, x = grid(size)
    height, width = size
    unit = min(size)
    edge = height * rng.uniform(0.34, 0.42)  # the far edge of the table
    wall = _one_of(rng, _WALLS)
    picture = np.clip(0.8 + 0.25 * noise(rng, size, width * 0.6, 2), 0.25, 1.6)[..., None] * wall
    # The table in perspective: places along and away from the viewer, in units of which a few fit across.
    far = 1.6 * unit / (y - edge + 0.14 * unit).clip(1)
    px, pz = (x - width / 2) / unit * far + rng.uniform(0, 9), far * 1.4
    texture = noise(rng, (512, 512), 40, 6, 0.62)
    if rng.random() < 0.55:
        base = _one_of(rng, _WOODS)
        rings = lookup(texture, pz * 90, px * 12)
        shade = 0.8 + 0.2 * np.sin(rings * 5 + px * 1.5) + 0.12 * rings
        shade *= 1 - 0.5 * ramp(np.abs(pz / 2.1 % 1 - 0.5), 0.485, 0.5)  # the joints between boards
    else:
        base = _one_of(rng, _CLOTHS)
        checks = np.tanh(9 * np.sin(px * 5)) + np.tanh(9 * np.sin(pz * 5))
        shade = 0.8 + 0.15 * checks + 0.06 * lookup(texture, pz * 60, px * 60)
    table = base * np.maximum(shade, 0.1)[..., None] * np.float32(1.1)
    table = over(table, picture, 0.6 * ramp(y, edge + 0.25 * height, edge))
    picture = over(picture, table, ramp(y, edge - 0.8, edge + 0.8))
    sun = np.array((rng.choice((-1, 1)) * rng.uniform(0.4, 0.65), -0.65, 0.0), np.float32)  # x; y down; z to the viewer
    sun[2] = (1 - sun @ sun) ** 0.5
    things: list[tuple[float, float, float]] = []
    for depth in np.sort(rng.uniform(0.1, 0.8, 40)):  # far ones first; what would hide another is left out
        radius = unit * (0.085 + 0.12 * depth) * rng.uniform(0.75, 1.15)
        x_px, foot = rng.uniform(0.04, 0.96) * width, edge + (height - edge) * depth
        if len(things) < 8 and all(np.hypot(x_px - a, foot - f) > 0.8 * (radius + r) for a, f, r in things):
            things.append((x_px, foot, radius))
    for x_px, foot, radius in things:
        # Dark under it, and along where it keeps the sun away.
        for shift, long_px, short_px, dark in ((0, 1.25, 0.42, 0.75), (-1.2 * sun[0] / 0.5, 2.0, 0.55, 0.6)):
            found = stamp(size, x_px + shift * radius, foot, long_px * radius, short_px * radius, 0.0)
            if found:
                picture[found.window] *= 1 - dark * ramp(np.hypot(found.u, found.v), 1.0, 0.2)[..., None]
    for x_px, foot, radius in things:
        _fruit(rng, picture, (x_px, foot - 0.8 * radius), radius, sun)
    return picture


def _fruit(rng: Random, picture: Field, at: tuple[float, float], radius: float, sun: Field) -> None:
    """Draw one fruit in place: skin with a blush, lit by the sun and the sky; a stem, now and then a leaf."""
    *colours, longer = _FRUIT[rng.integers(len(_FRUIT))]
    skin, blush = np.array(colours, np.float32)
    turn = rng.uniform(-0.5, 0.5)
    found = stamp((picture.shape[0], picture.shape[1]), *at, radius * longer, radius, turn)
    if found is None:
        return
    u, v, inside = found.u, found.v, 1 - found.u**2 - found.v**2
    cos, sin = np.cos(turn), np.sin(turn)
    normal = np.dstack([u * cos - v * sin, u * sin + v * cos, np.sqrt(np.maximum(inside, 0))]).astype(np.float32)
    # Blush lies on one side, in streaks from stem to blossom.
    flecks = noise(rng, u.shape, radius * 0.8, 2) + 0.35 * streaks(rng, v * radius, u * radius, radius * 0.04, 5.0)
    colour = over(skin, blush, ramp(flecks + 2 * u, -1.2, 2.4))
    colour *= 1 + 0.04 * noise(rng, u.shape, max(radius * 0.05, 2.0), 2)[..., None]
    facing = sun + np.array((0, 0, 1), np.float32)
    shine = np.maximum(normal @ (facing / np.linalg.norm(facing)), 0) ** np.float32(rng.uniform(20, 70))
    light = colour * (1.15 * np.maximum(normal @ sun, 0) + 0.28 - 0.16 * normal[..., 1])[..., None]
    light += np.float32(0.22) * shine[..., None]
    picture[found.window] = over(picture[found.window], light, ramp(inside * np.float32(radius / 2), -0.8, 0.8))
    foot, lean = (at[0], at[1] - 0.9 * radius), rng.uniform(-0.2, 0.2) * radius
    begin, end = (np.array([foot, (foot[0] + lean, foot[1] - 0.3 * radius)]) * 16).astype(int).tolist()
    cv2.line(picture, begin, end, (0.05, 0.035, 0.015), max(round(radius / 14), 1), cv2.LINE_AA, 4)
    if rng.random() < 0.5:
        way = rng.choice((-1, 1))
        place = foot[0] + way * 0.42 * radius, foot[1] - 0.2 * radius
        leaf = np.array(_SEASONS[rng.integers(2)][0], np.float32)
        _leaf(rng, picture, leaf, place, np.pi * (way < 0) - 0.35 * way, 0.9 * radius)


def _one_of(rng: Random, colours: Sequence[Any]) -> Field:
    return np.array(colours[int(rng.integers(len(colours)))], np.float32)


_SCENES = {"foliage": _foliage, "landscape": _landscape, "still-life": _still_life}
CLASSES = tuple(_SCENES)
