"""Photons counted by our own numbers: the noise of ISONoise and ShotNoise on uint8 images, in native passes.

How many there are goes by a word of the pixel and by how likely each count is: the word is above so many bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compat.albumentations import wrap_apply
from augrecipes.compiler.kernels.own_noise import fits
from augrecipes.native.kernels import Library, library
from augrecipes.seeds import mix

_GRAIN, _MOST_GRAINS = 16, 4
_NEVER = 2**31 - 1

RgbImage = NDArray[np.uint8]


def iso(step: Any) -> None:
    """For a step that adds the noise of a camera's sensor."""
    wrap_apply(step, _iso, step)


def shot(step: Any) -> None:
    """For a step that counts photons."""
    wrap_apply(step, _shot, step)


def is_own(step: Any) -> bool:
    """Whether a transform counts its photons by our own numbers."""
    return getattr(step.apply, "func", None) in (_iso, _shot)


def _iso(
    step: Any, apply: Callable[..., Any], img: NDArray[Any], color_shift: float, intensity: float, random_seed: int,
    **params: Any,
) -> NDArray[Any]:  # fmt: skip
    done, kernels = None, library()
    if kernels and fits(img.shape, img.dtype) and img.dtype == np.uint8 and img.ndim == 3 and img.shape[2] == 3:
        done = iso_noise(np.ascontiguousarray(img), color_shift, intensity, _key(step, random_seed), kernels)
    if done is None:
        done = apply(img, color_shift=color_shift, intensity=intensity, random_seed=random_seed, **params)
    return np.asarray(done)


def _shot(
    step: Any, apply: Callable[..., Any], img: NDArray[Any], scale: float, random_seed: int, **params: Any
) -> NDArray[Any]:
    done, kernels = None, library()
    if kernels and fits(img.shape, img.dtype) and img.dtype == np.uint8:
        done = shot_noise(np.ascontiguousarray(img), scale, _key(step, random_seed), kernels)
    return np.asarray(apply(img, scale=scale, random_seed=random_seed, **params) if done is None else done)


def _key(step: Any, seed: int) -> int:
    return mix(step.random_generator.here(), int(seed))


def iso_noise(img: RgbImage, color_shift: float, intensity: float, key: int, kernels: Library) -> RgbImage | None:
    """An RGB image as a sensor at a high gain shows it; None where it is not for us.

    Args:
        img: H×W×3, contiguous.
        color_shift: of hues, times intensity: the deviation in degrees.
        intensity: what a photon adds, of what is missing to white; and how many there are, times the deviation of the
            image's lightness.
        key: of the sample and the step.
        kernels: that do it.
    """
    out = np.empty_like(img)
    works = kernels.kernel("iso_noise", "lddppl")
    done = works(key, color_shift, intensity, img.ctypes.data, out.ctypes.data, img.size // 3)
    return out if done == 0 else None


def shot_noise(img: RgbImage, scale: float, key: int, kernels: Library) -> RgbImage | None:
    """An image as its photons are counted, 1 / scale of them for white; None where they are too many.

    Args:
        img: uint8, contiguous.
        scale: what a photon is, of white.
        key: of the sample and the step.
        kernels: that do it.
    """
    made = _photons(scale)
    if made is None:
        return None
    bounds, levels = made
    out = np.empty_like(img)
    works = kernels.kernel("shot_noise", "lpipppl")
    works(
        key, bounds.ctypes.data, bounds.shape[1] // _GRAIN, levels.ctypes.data, img.ctypes.data,
        out.ctypes.data, img.size,
    )  # fmt: skip
    return out


def _photons(scale: float) -> tuple[NDArray[np.int32], RgbImage] | None:
    """For each level the bounds of its counts, and the level that each count becomes."""
    white = math.ceil(1 / scale) if scale > 1 / (_GRAIN * _MOST_GRAINS) else 0
    if not 0 < white <= _GRAIN * _MOST_GRAINS:
        return None
    rates = (_linear() + scale * 1e-6) / scale
    terms = np.empty((256, white))
    terms[:, 0] = [math.exp(-rate) for rate in rates.tolist()]
    terms[:, 1:] = rates[:, None] / np.arange(1, white)
    below = np.cumsum(np.cumprod(terms, axis=1), axis=1)
    bounds = np.full((256, -(-white // _GRAIN) * _GRAIN), _NEVER, np.int32)
    bounds[:, :white] = np.minimum(np.rint(below * 2**31), 2**31).astype(np.int64) - 1
    values = [min(1.0, count * scale) ** (1 / 2.2) for count in range(white + 1)]
    levels = [round(255 * value) for value in values]
    return bounds, np.array([*levels, *[255] * (bounds.shape[1] - white)], np.uint8)


@cache
def _linear() -> NDArray[np.float64]:
    """Levels as amounts of light."""
    return np.array([(level / 255) ** 2.2 for level in range(256)])
