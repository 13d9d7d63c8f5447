"""Functions of albumentations' that lay light or stain over images, in a pass or two.

They have the names, arguments and bits of its own, which does what they do not take.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import pixel
from augrecipes.compat.replaced_functions import with_names
from augrecipes.compiler.kernels.channel_sums import ChannelSums
from augrecipes.native.kernels import library

_F32 = np.float32
UNIT = np.arange(256, dtype=_F32) / 255  # levels as parts of the full range


def _takes(img: np.ndarray) -> bool:
    """Whether an image is uint8, grey or RGB, contiguous, and OpenCV's Python sees that."""
    fits = img.ndim in (2, 3) and img.shape[2:] in ((), (1,), (3,)) and img.shape[:2] != (4, 1) and img.size > 0
    return library() is not None and img.dtype == np.uint8 and img.flags.c_contiguous and fits


def _lit(unit: bool, img: np.ndarray, light: np.ndarray) -> np.ndarray:
    """An image times a light for each pixel."""
    kernels: Any = library()
    light, out = np.ascontiguousarray(light.reshape(img.shape[:2]), _F32), np.empty_like(img)
    pixels = light.size
    kernels.kernel("lit", "pllpip")(
        img.ctypes.data, pixels, img.size // pixels, light.ctypes.data, int(unit), out.ctypes.data
    )  # fmt: skip
    return out


def _with_light(name: str, unit: bool) -> Callable[..., np.ndarray]:
    """albumentations' function that makes a light, which lays it over uint8 images in one pass."""
    own = getattr(pixel, name)
    # There is no image of so many dimensions: the light has no channels.
    quick = with_names(own, multiply_by_array=partial(_lit, unit), NUM_MULTI_CHANNEL_DIMENSIONS=None)
    odd = None if unit else (1,)  # channels with which it fails
    return lambda img, **named: (quick if _takes(img) and img.shape[2:] != odd else own)(img, **named)


_DENSITY = -np.log(np.maximum(UNIT, 1e-6))  # of what a level lets through
_SHARES = UNIT * np.array([[0.299], [0.587], [0.114]], _F32)  # of a pixel's lightness
_TISSUE = 0.85  # is darker
_EXACT = 2.0**-24  # what rounding once may change, of a float32


def apply_he_stain_augmentation(
    img: np.ndarray,
    stain_matrix: np.ndarray,
    scale_factors: np.ndarray,
    shift_values: np.ndarray,
    augment_background: bool,
) -> np.ndarray:
    """An RGB image with more or less of two stains: of each level the products of three numbers."""
    own = partial(
        pixel.apply_he_stain_augmentation, stain_matrix=stain_matrix, scale_factors=scale_factors,
        shift_values=shift_values, augment_background=augment_background,
    )  # fmt: skip
    kernels: Any = library()
    if not _takes(img):
        return own(img)
    stains, pixels = np.ascontiguousarray(stain_matrix, dtype=_F32), img.size // 3
    alike = stains @ stains.T + 1e-6 * np.eye(2)
    amounts = np.linalg.inv(alike) if np.linalg.det(alike) else np.full((2, 2), np.inf)
    both = []
    for scales, shifts in ((scale_factors, shift_values), (np.ones(2), np.zeros(2)))[: 1 if augment_background else 2]:
        back = stains.T.astype(float) * scales @ amounts
        tables = np.ones((3, 256, 4), _F32)
        with np.errstate(all="ignore"):
            powers = -(back @ stains).T[:, None] * _DENSITY[:, None]
            powers[0] += np.log(255) - shifts @ stains
            tables[..., :3] = np.exp(powers)
        off = 256 * _EXACT * (8 + 3 * _DENSITY[0] * float((np.abs(back) @ np.abs(stains).sum(1)).max()))
        if (made := ChannelSums(kernels, sums=False, less=0, few=8)(img, tables, off)) is None:
            return own(img)
        both.append(made)
    (out, again), some = both[0], np.arange(min(pixels, 64))  # BLAS does very few otherwise
    if not augment_background:
        other, doubtful = both[1]
        given = img.ctypes.data, pixels, _SHARES.ctypes.data, _TISSUE, other.ctypes.data, out.ctypes.data
        kernels.kernel("background", "plpfpp")(*given)
        again = np.concatenate((again, doubtful))
    again = np.concatenate((again, some))
    out.reshape(-1, 3)[again] = own(img.reshape(-1, 3)[again][None])[0]
    return out


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "apply_gaussian_illumination": _with_light("apply_gaussian_illumination", unit=False),
    "apply_he_stain_augmentation": apply_he_stain_augmentation,
    "apply_linear_illumination": _with_light("apply_linear_illumination", unit=True),
}
