"""Counter-based noise in place of OpenCV's or numpy's: normal noise added on the fly, and the noise of sensors.

A step draws its parameters as ever, from its own generators. Number i of the noise of a key is a hash of both, so 64
bits describe a sample's noise, and no array holds it. A hash is two rounds of shift and multiply, and gives two normal
numbers (native/normals.h). The arithmetic is of integers, and of single floats in a fixed order, so that kernels make
the same bits on every instruction set.

A sensor's photon count is drawn by inversion: the number of bounds of its cumulative distribution below the pixel's
word.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compat import Mixin
from augrecipes.native.kernels import Library, library
from augrecipes.seeds import mix

_NUMBERS_OF_A_KEY = 2**32
_CHANNELS = 4  # the most that have a number each
_ALBUMENTATIONS_SEEDS = 2**16  # albumentations draws its seed of noise below this


def normal_numbers(kernels: Library, key: int, count: int, mean: float, deviation: float) -> NDArray[np.float32]:
    """Normal numbers `0..count` of a key.

    >>> noise = normal_numbers(library(), 7, 10000, 0.0, 1.0)
    >>> bool(abs(noise.mean()) < 0.03), bool(abs(noise.std() - 1) < 0.03)
    (True, True)
    """
    out = np.empty(count, np.float32)
    kernels.kernel("counter_numbers", "lffpl")(key, mean, deviation, out.ctypes.data, count)
    return out


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of one image, computed while it is added; `np.asarray` computes it by itself, float32.

    Attributes:
        shape: the image's shape, H×W or H×W×C.
        shared: the channels of a pixel share one number.
        mean: the mean, in the image's range.
        deviation: the standard deviation, in the image's range.
        key: 64 bits, of the sample and the step.
    """

    shape: tuple[int, ...]
    shared: bool
    mean: float
    deviation: float
    key: int

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        kernels: Any = library()
        shape = (*self.shape[:2], 1) if self.shared and len(self.shape) == 3 else self.shape
        noise = normal_numbers(kernels, self.key, prod(shape), self.mean, self.deviation).reshape(shape)
        return np.broadcast_to(noise, self.shape).astype(dtype or np.float32)

    def added_to(self, image: NDArray[Any]) -> NDArray[Any]:
        """The uint8 image plus the noise in whole levels, clipped to 0..255."""
        image, kernels = np.ascontiguousarray(image), library()
        if kernels is None:
            raise RuntimeError("this noise needs the native kernels, and this process has none: `augrecipes doctor`")
        out, channels = np.empty(image.shape, image.dtype), self.shape[2] if len(self.shape) == 3 else 1
        add = kernels.kernel("own_noise", "lffpplii")
        numbers = (prod(self.shape[:2]), channels, int(self.shared))
        if add(self.key, self.mean, self.deviation, image.ctypes.data, out.ctypes.data, *numbers) == 0:
            return out
        return np.clip(image + np.clip(np.asarray(self), -256, 256).astype(np.int32), 0, 255).astype(np.uint8)


class CounterGaussNoise(Mixin):  # type: ignore[misc]
    """GaussNoise from the counter-based generator."""

    counts_noise = True

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw as the class does, without the noise itself."""
        image, shared = data["image"] if "image" in data else data["images"][0], not self.per_channel
        fits = shared or len(image.shape) == 2 or image.shape[2] <= _CHANNELS
        if not fits or not is_countable(image.shape, image.dtype):
            return dict(super().get_params_dependent_on_data(params, data))
        deviation, mean = self.py_random.uniform(*self.std_range), self.py_random.uniform(*self.mean_range)
        key = mix(self.random_generator.sample_bits(), int(self.random_generator.integers(0, _ALBUMENTATIONS_SEEDS)))
        return {"noise_map": Noise(image.shape, shared, mean * 255.0, deviation * 255.0, key)}

    def apply(self, img: NDArray[Any], noise_map: Any, **params: Any) -> NDArray[Any]:
        """The image with its noise added."""
        if isinstance(noise_map, Noise):
            return noise_map.added_to(img)
        return np.asarray(super().apply(img, noise_map=noise_map, **params))


class CounterISONoise(Mixin):  # type: ignore[misc]
    """ISONoise from the counter-based generator."""

    counts_noise = True

    def apply(
        self, img: NDArray[Any], color_shift: float, intensity: float, random_seed: int, **params: Any
    ) -> NDArray[Any]:
        """The image with its noise added."""
        result, kernels = None, library()
        is_rgb = img.dtype == np.uint8 and img.ndim == 3 and img.shape[2] == 3
        if kernels and is_rgb and is_countable(img.shape, img.dtype):
            key = mix(self.random_generator.sample_bits(), int(random_seed))
            result = iso_noise(np.ascontiguousarray(img), color_shift, intensity, key, kernels)
        if result is None:
            result = super().apply(img, color_shift=color_shift, intensity=intensity, random_seed=random_seed, **params)
        return np.asarray(result)


def is_countable(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Whether the counter-based generator covers an image: uint8, and not more than 2³² values."""
    return dtype == np.uint8 and 0 < prod(shape) < _NUMBERS_OF_A_KEY


def iso_noise(
    img: NDArray[np.uint8], color_shift: float, intensity: float, key: int, kernels: Library
) -> NDArray[np.uint8] | None:
    """An RGB image with the noise of a sensor at a high gain; None where the kernel does not take it.

    Args:
        img: uint8 H×W×3, contiguous.
        color_shift: times `intensity` the standard deviation of hues, in degrees.
        intensity: what a photon adds, as a share of what lacks to white; times the standard deviation of the image's
            lightness also the mean number of photons.
        key: 64 bits, of the sample and the step.
        kernels: the native kernels.
    """
    out = np.empty_like(img)
    kernel = kernels.kernel("iso_noise", "lddppl")
    answer = kernel(key, color_shift, intensity, img.ctypes.data, out.ctypes.data, img.size // 3)
    return out if answer == 0 else None
