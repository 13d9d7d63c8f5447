"""ElasticTransform with albumentations' bits: native passes smooth its field and sample its image."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.warp_native import remap
from augrecipes.native.kernels import Library, library

_F32 = np.float32
_ROUGH, _NOTHING = 17, 1e-6  # weights of an approximate field; noise that is none

_DEVIATIONS = 8  # that float weights reach, both ways together, as OpenCV has it
# Fields and deviations at which the bits tell how many numbers OpenCV takes at once, and where it fuses.
_PROBED = (
    ((40, 67), 2.0), ((9, 100), 6.0), ((26, 45), 1.0), ((7, 7), 11.0), ((5, 66), 1.3), ((2, 2), 3.0), ((90, 11), 0.8),
)  # fmt: skip


class FastRemap:
    """A field of displacements that takes pixels from elsewhere: see `remap`."""

    def apply(self, img: np.ndarray, map_x: np.ndarray, map_y: np.ndarray, **_: Any) -> np.ndarray:
        """An image."""
        step: Any = self
        return remap(img, map_x, map_y, step.interpolation, step.border_mode, step.fill)

    def apply_to_mask(self, mask: np.ndarray, map_x: np.ndarray, map_y: np.ndarray, **_: Any) -> np.ndarray:
        """A mask."""
        step: Any = self
        return remap(mask, map_x, map_y, step.mask_interpolation, step.border_mode, step.fill_mask)


class FastElastic(FastRemap):
    """ElasticTransform."""

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw what the class draws: where each pixel is, and a smooth field of noise on top.

        Albumentations adds in float64 and rounds, which is what adding in float32 gives.
        """
        del data
        step: Any = self
        height, width = params["shape"][:2]
        shape, size = (1 if step.same_dxdy else 2, height, width), _ROUGH * step.approximate
        if step.noise_distribution == "gaussian":
            noise = step.random_generator.standard_normal(shape, dtype=_F32)
            most = max(noise.max(), -noise.min())
            if most > _NOTHING:
                noise /= most
        else:
            noise = step.random_generator.uniform(-1, 1, size=shape).astype(_F32)
        flat = noise.reshape(-1, width)
        if not smooth(flat, step.sigma, size, step.alpha):
            cv2.GaussianBlur(flat, (size, size), step.sigma, dst=flat, borderType=cv2.BORDER_REPLICATE)
            noise *= step.alpha
        across, down = np.arange(width, dtype=_F32), np.arange(height, dtype=_F32)[:, None]
        return {"map_x": noise[0] + across, "map_y": noise[-1] + down}


def smooth(field: np.ndarray, deviation: float, size: int, times: float) -> bool:
    """Smooth a field H×W float32, contiguous, in place, and multiply it; False where that is OpenCV's to do.

    Args:
        field: of any size.
        deviation: of the weights.
        size: how many weights there are along each side; 0: as many as fit.
        times: what each number is multiplied by at last.
    """
    kernels = library()
    if kernels is None or not same_bits(kernels):
        return False
    return smooth_by(kernels, field, gaussian_weights(deviation, size), times)


def smooth_by(kernels: Library, field: np.ndarray, weights: np.ndarray, times: float) -> bool:
    """The same by these kernels and weights, whatever OpenCV's bits are."""
    rows, columns = field.shape
    room = np.empty((rows + 1) * (columns + 128) + 16 * (columns + rows + 2 * len(weights) + 300), np.float32)
    kernel: Callable[..., int] = kernels.kernel("smooth_field", "pllplfp")
    done = kernel(field.ctypes.data, rows, columns, weights.ctypes.data, len(weights), times, room.ctypes.data)
    return done == 0


@lru_cache(maxsize=64)
def gaussian_weights(deviation: float, size: int = 0) -> np.ndarray:
    """The weights of OpenCV's GaussianBlur of floats; of a size, or one that fits.

    >>> len(gaussian_weights(6.0)), len(gaussian_weights(50.0, 17))
    (49, 17)
    """
    weights = cv2.getGaussianKernel(size or round(deviation * _DEVIATIONS + 1) | 1, deviation, cv2.CV_32F).ravel()
    weights.flags.writeable = False
    return weights


@cache
def same_bits(kernels: Library) -> bool:
    """Whether the kernel gives the bits of the installed OpenCV: asked once a process."""
    random = np.random.default_rng(0)
    for shape, deviation in _PROBED:
        field = random.standard_normal(shape, np.float32)
        own = cv2.GaussianBlur(field, (0, 0), deviation, borderType=cv2.BORDER_REPLICATE)
        if not smooth_by(kernels, field, gaussian_weights(deviation), 1.0) or not np.array_equal(field, own):
            return False
    return True
