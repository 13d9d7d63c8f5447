"""Photons counted by our own numbers: the noise of ISONoise on uint8 images, in a native pass.

How many there are goes by a word of the pixel and by how likely each count is: the word is above so many bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compat.albumentations import wrap_apply
from augrecipes.compiler.kernels.own_noise import fits
from augrecipes.native.kernels import Library, library
from augrecipes.seeds import mix

RgbImage = NDArray[np.uint8]


def iso(step: Any) -> None:
    """For a step that adds the noise of a camera's sensor."""
    wrap_apply(step, _iso, step)


def is_own(step: Any) -> bool:
    """Whether a transform counts its photons by our own numbers."""
    return getattr(step.apply, "func", None) is _iso


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
