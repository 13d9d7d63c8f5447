"""Still lifes: balls and boxes on a table, ray-traced with soft shadows. Linear light, float32 RGB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.demo.fields import Size, fractal, grid, ramp
from augrecipes.demo.landscape import Light

Vector = NDArray[Any]  # float32, x right, y up, z away


@dataclass(frozen=True, slots=True)
class _View:
    """Unit rays of all pixels (H×W×3) from the eye, and the direction of the sun."""

    ray: Light
    eye: Vector
    sun: Vector


_PAINTS = (
    (0.55, 0.05, 0.04), (0.75, 0.33, 0.03), (0.60, 0.50, 0.08), (0.07, 0.30, 0.12), (0.04, 0.16, 0.42),
    (0.30, 0.08, 0.32), (0.70, 0.66, 0.58), (0.06, 0.06, 0.07), (0.02, 0.32, 0.36), (0.72, 0.35, 0.34),
)  # fmt: skip


def still_life(rng: np.random.Generator, size: Size) -> Light:
    """Draw a still life.

    >>> still_life(np.random.default_rng(0), (60, 80)).shape
    (60, 80, 3)
    """
    y, x = grid(size)
    height, width = size
    zoom = np.float32(1.05 / min(height, width))
    # The camera stands at (0, 1.5, -5), looks a little down, and z points away from it. Rays are unit vectors.
    ray = np.stack([(x - width / 2) * zoom, -(y - height * 0.42) * zoom - 0.24, np.full(size, 1.55, np.float32)], -1)
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    eye = np.array((0, 1.5, -5.0), np.float32)
    sun = np.array((rng.uniform(-0.9, 0.9), rng.uniform(0.8, 1.3), rng.uniform(-0.9, -0.2)), np.float32)
    sun /= np.linalg.norm(sun)
    view = _View(ray, eye, sun)
    things = _arrange(rng)
    picture = _table(rng, _backdrop(rng, size), view, things)
    order = sorted(range(len(things)), key=lambda k: -float(np.linalg.norm(things[k][0] - eye)))
    for k in order:
        centre, radius = things[k]
        paint = np.array(_PAINTS[rng.integers(len(_PAINTS))], np.float32) * np.float32(rng.uniform(0.8, 1.15))
        shape = _ball if rng.random() < 0.62 else _box
        picture = shape(rng, picture, view, (centre, radius), paint)
    return picture


def _arrange(rng: np.random.Generator) -> list[tuple[Vector, float]]:
    """Centres and radii of three to six things that stand on the table (y = 0) and do not touch."""
    things: list[tuple[Vector, float]] = []
    wanted = int(rng.integers(3, 7))
    for _ in range(200):
        radius = float(rng.uniform(0.28, 0.72))
        centre = np.array((rng.uniform(-1.7, 1.7), radius, rng.uniform(-1.4, 2.0)), np.float32)
        if all(np.hypot(*(centre - other)[[0, 2]]) > 1.05 * (radius + r) for other, r in things):
            things.append((centre, radius))
        if len(things) == wanted:
            break
    return things


def _backdrop(rng: np.random.Generator, size: Size) -> Light:
    """An unfocused wall with a fall of light."""
    base = np.array(_PAINTS[rng.integers(len(_PAINTS))], np.float32) * 0.35 + np.float32(0.22)
    glow = 0.75 + 0.3 * fractal(rng, size, size[1] * 0.6, 2) + 0.25 * (1 - grid(size)[0] / size[0])
    wall: Light = (np.clip(glow, 0.25, 1.6)[..., None] * base).astype(np.float32)
    return wall


def _table(rng: np.random.Generator, picture: Light, view: _View, things: list[tuple[Vector, float]]) -> Light:
    """A wooden or woven table top, darkened where things keep the light away."""
    ray, eye, sun = view.ray, view.eye, view.sun
    down = np.minimum(ray[..., 1], -1e-4)
    far = -eye[1] / down
    px, pz = eye[0] + far * ray[..., 0], eye[2] + far * ray[..., 2]
    grain = fractal(rng, (512, 512), 40, 6, 0.62)
    if rng.random() < 0.6:
        rings = cv2.remap(grain, px * 9 + 256, pz * 90 + 256, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
        wood = 0.8 + 0.2 * np.sin(rings * 5 + px * 1.5) + 0.12 * rings
        base = np.array(((0.36, 0.19, 0.085), (0.18, 0.09, 0.045), (0.48, 0.34, 0.2))[rng.integers(3)], np.float32)
        wood *= 1 - 0.45 * ramp(np.abs((pz / 0.7) % 1 - 0.5), 0.485, 0.5)
    else:
        checks = np.sign(np.sin(px * 4.5) * np.sin(pz * 4.5))
        weave = cv2.remap(grain, px * 60 + 256, pz * 60 + 256, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
        wood = 0.75 + 0.22 * checks + 0.06 * weave
        base = np.array(((0.5, 0.47, 0.42), (0.42, 0.12, 0.1), (0.12, 0.2, 0.36))[rng.integers(3)], np.float32)
    light = np.full(px.shape, 0.9 * sun[1] + 0.22, np.float32)
    for centre, radius in things:
        # Contact darkening all round, and a shadow that is softer the farther it falls.
        dx, dz = px - centre[0], pz - centre[2]
        light *= 1 - 0.55 * np.exp(-np.square(np.hypot(dx, dz) / (0.72 * radius)) * 1.2)
        along = (dx * sun[0] + dz * sun[2]) * np.float32(-1 / max(np.hypot(sun[0], sun[2]), 1e-3))
        side = (dx * sun[2] - dz * sun[0]) / np.float32(max(np.hypot(sun[0], sun[2]), 1e-3))
        throw = np.float32(radius * np.hypot(sun[0], sun[2]) / sun[1])
        longness = np.float32(radius * (1 + 0.4 * throw))
        reach = np.hypot((along - throw) / longness, side / np.float32(radius))
        soft = 0.12 + 0.22 * np.clip(along / (2 * longness), 0, 1)
        light *= 1 - 0.72 * np.clip(0.5 + (1 - reach) / (2 * soft), 0, 1)
    table = base * np.maximum(wood, 0.1)[..., None] * light[..., None]
    fade = np.clip((far - 9) / 14, 0, 0.85)[..., None]
    table = table * (1 - fade) + picture * fade * 0.9
    edge = ramp(far, 26, 22)[..., None]
    seen: Light = (picture + (table - picture) * edge * (ray[..., 1:2] < 0)).astype(np.float32)
    return seen


def _shade(normal: Light, ray: Light, sun: Vector, paint: Light, gloss: float) -> Light:
    """Lambert's law, light from the sky and from the table below, and a highlight (Blinn, 1977)."""
    lambert = np.maximum(normal @ sun, 0)[..., None]
    ambient = (0.24 + 0.14 * normal[..., 1:2]) + 0.1 * np.maximum(-normal[..., 1:2], 0)
    half = sun - ray
    half /= np.linalg.norm(half, axis=-1, keepdims=True)
    facing = np.clip(np.sum(normal * half, -1, keepdims=True), 0, 1)
    shine = facing ** np.float32(12 + 90 * gloss)
    shaded: Light = (paint * (0.95 * lambert + ambient) + np.float32(gloss * 0.8) * shine * (lambert > 0)).astype(
        np.float32
    )
    return shaded


def _ball(rng: np.random.Generator, picture: Light, view: _View, place: tuple[Vector, float], paint: Vector) -> Light:
    (centre, radius), ray, eye, sun = place, view.ray, view.eye, view.sun
    to = eye - centre
    b = ray @ to
    inside = np.float32(radius**2) - (float(to @ to) - b * b)  # squared half chord, negative outside
    hit = eye + (-b - np.sqrt(np.maximum(inside, 0)))[..., None] * ray
    normal = hit - centre
    normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), np.float32(1e-6))
    skin = np.ones(inside.shape, np.float32)
    if rng.random() < 0.5:  # stripes, or the marbling of a fruit
        marks = np.sin(normal[..., 1] * rng.uniform(4, 12) + 2 * normal[..., 0] * rng.random())
        skin = 0.8 + 0.3 * ramp(marks, -0.15, 0.15)
    else:
        skin += 0.12 * fractal(rng, (inside.shape[0], inside.shape[1]), 16, 4, 0.7)
    cover = np.clip(inside / np.float32(0.022 * radius) + 0.3, 0, 1)[..., None]
    drawn: Light = (
        picture + (_shade(normal, ray, sun, paint * skin[..., None], rng.uniform(0.1, 0.9)) - picture) * cover
    )
    return drawn


def _box(rng: np.random.Generator, picture: Light, view: _View, place: tuple[Vector, float], paint: Vector) -> Light:
    (centre, radius), ray, eye, sun = place, view.ray, view.eye, view.sun
    turn = rng.uniform(0, np.pi / 2)
    cos, sin = np.float32(np.cos(turn)), np.float32(np.sin(turn))
    turned = np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]], np.float32)
    half = np.array((radius * 0.7, radius * rng.uniform(0.7, 1.0), radius * 0.7), np.float32)
    middle = np.array((centre[0], half[1], centre[2]), np.float32)
    start, way = turned @ (eye - middle), ray @ turned.T
    way = np.where(np.abs(way) < 1e-5, np.float32(1e-5), way)
    near, far = (-np.sign(way) * half - start) / way, (np.sign(way) * half - start) / way
    enter, leave = near.max(-1), far.min(-1)
    face = near.argmax(-1)
    local = np.zeros_like(ray)
    np.put_along_axis(local, face[..., None], -np.take_along_axis(np.sign(way), face[..., None], -1), -1)
    at = start + enter[..., None] * way
    # A label strip on the sides makes it a carton rather than a cube.
    strip = ramp(np.abs(at[..., 1] / half[1] - 0.1), 0.42, 0.38) * (face != 1)
    colour = paint + (np.array((0.7, 0.67, 0.6), np.float32) - paint) * (0.8 * strip)[..., None]
    cover = np.clip((leave - enter) / np.float32(0.03) + 0.2, 0, 1)[..., None]
    cover *= (enter > 0)[..., None]
    drawn: Light = picture + (_shade(local @ turned, ray, sun, colour, 0.08) - picture) * cover
    return drawn
