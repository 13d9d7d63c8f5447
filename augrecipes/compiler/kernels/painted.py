"""Fog painted where it is: albumentations blends, and compares, the whole picture for each of its particles.

The functions have the names, arguments and results of albumentations' own, which do whatever these do not take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.albumentations import pixel
from augrecipes.compiler.kernels.discs import paint
from augrecipes.native.kernels import library

_LIGHT = (255, 255, 255)
_CHANNELS = 4
_RADII = "get_fog_particle_radiuses"


def add_fog(
    img: np.ndarray,
    fog_intensity: float,
    alpha_coef: float,
    fog_particle_positions: Sequence[tuple[int, int]],
    fog_particle_radiuses: Sequence[int],
) -> np.ndarray:
    """A picture with a disc of light blended in for each particle, and blurred."""
    alpha = alpha_coef * fog_intensity
    if img.dtype != np.uint8 or img.ndim != 3 or img.shape[2] > _CHANNELS or not 0 <= alpha <= 1:
        made: np.ndarray = pixel.add_fog(img, fog_intensity, alpha_coef, fog_particle_positions, fog_particle_radiuses)
        return made
    height, width = img.shape[:2]
    out = img.copy()
    painted = paint(out, alpha, fog_particle_positions, fog_particle_radiuses)
    for (x, y), radius in () if painted else zip(fog_particle_positions, fog_particle_radiuses, strict=False):
        # Beyond the disc a level is blended with itself, which changes nothing.
        left, top = max(x - radius, 0), max(y - radius, 0)
        part = out[top : min(y + radius + 1, height), left : min(x + radius + 1, width)]
        if part.size:
            light = cv2.circle(part.copy(), (x - left, y - top), radius, _LIGHT, -1)
            part[...] = cv2.addWeighted(light, alpha, part.copy(), 1 - alpha, 0).reshape(part.shape)
    size = max(3, min(height, width) // 30)
    size += size % 2 == 0
    return cv2.GaussianBlur(out, (size, size), 0).reshape(img.shape)


def get_fog_particle_radiuses(
    img_shape: tuple[int, int], num_particles: int, fog_intensity: float, random_generator: np.random.Generator
) -> list[int]:
    """The radius of each particle, all drawn at once: the same numbers of the same stream."""
    most = max(2, int(min(img_shape[:2]) * 0.1 * fog_intensity))
    return list(random_generator.integers(max(1, most // 2), most, num_particles))


def functions() -> dict[str, Callable[..., Any]]:
    """What may be called in place of albumentations' own functions, with the OpenCV that is installed."""
    found: dict[str, Callable[..., Any]] = {"add_fog": add_fog} if _agrees(library()) else {}
    return found | ({_RADII: get_fog_particle_radiuses} if _draws_alike() else {})


@cache
def _agrees(kernels: Any) -> bool:
    """Whether fog has the bits of albumentations' own, probed with pictures of noise."""
    del kernels  # those that `library` gives
    for seed, shape in enumerate([(61, 67, 3), (90, 50, 1), (33, 147, 3), (40, 41, 4)] * 2):
        rng = np.random.default_rng(seed)
        image = rng.integers(0, 256, shape, np.uint8)
        given = fog(rng, *shape[:2])
        try:
            expected = pixel.add_fog(image, *given)
        except Exception:  # another release of albumentations, say
            return False
        if not np.array_equal(add_fog(image, *given), expected):
            return False
    return True


@cache
def _draws_alike() -> bool:
    """Whether radii that are drawn at once are those that are drawn one by one, and leave the generator alike."""
    for count, shape, intensity in (
        (0, (50, 60), 0.5),
        (7, (300, 200), 0.9),
        (40, (20, 900), 0.1),
        (31, (999, 999), 1),
    ):
        ours, theirs = np.random.default_rng(count), np.random.default_rng(count)
        given = shape, count, intensity
        if get_fog_particle_radiuses(*given, ours) != getattr(pixel, _RADII)(*given, theirs):
            return False
        if ours.random() != theirs.random():
            return False
    return True


def fog(rng: Any, height: int, width: int) -> tuple[Any, ...]:
    """Arguments of `add_fog` for a picture of this size."""
    count = int(rng.integers(0, 12))
    places = [(int(rng.integers(-3, width + 3)), int(rng.integers(-3, height + 3))) for _ in range(count)]
    return rng.uniform(0, 1), rng.uniform(0, 1), places, [int(rng.integers(1, 30)) for _ in range(count)]
