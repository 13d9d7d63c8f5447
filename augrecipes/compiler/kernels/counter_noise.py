"""Noise by counting in place of OpenCV's or numpy's: normal noise added to an image as it is made, and that of sensors.

A step draws its parameters as ever, from its own generators. Number i of the noise of a key is a hash of both, so a
sample's noise is told by 64 bits, and is never kept in an array of its own. Words come of two rounds of shift and
multiply, and two normal numbers are made of each (native/normals.h). All is arithmetic of whole numbers, and of single
floats in a fixed order: kernels make the same bits on every instruction set.

How many photons a sensor counts goes by a word of the pixel and by how likely each count is: the word is above so many
bounds.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compat import Mixin
from augrecipes.native.kernels import Library, library
from augrecipes.seeds import mix

_NUMBERS_OF_A_KEY = 2**32  # numbers of one key
_CHANNELS = 4  # the most that have a number each
_ALBUMENTATIONS_SEEDS = 2**16  # that albumentations draws from


def normal_numbers(kernels: Library, key: int, count: int, mean: float, deviation: float) -> NDArray[np.float32]:
    """Normal numbers of a key.

    >>> made = normal_numbers(library(), 7, 10000, 0.0, 1.0)
    >>> bool(abs(made.mean()) < 0.03), bool(abs(made.std() - 1) < 0.03)
    (True, True)
    """
    out = np.empty(count, np.float32)
    kernels.kernel("counter_numbers", "lffpl")(key, mean, deviation, out.ctypes.data, count)
    return out


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of one image, made as it is added; `np.asarray` makes it for whoever wants to see it, float32.

    Attributes:
        shape: H×W or H×W×C, of the image.
        shared: the channels of a pixel have the same number.
        mean: of its numbers, in the range of the image.
        deviation: of them.
        key: of the sample and the step, 64 bits.
    """

    shape: tuple[int, ...]
    shared: bool
    mean: float
    deviation: float
    key: int

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        del copy
        kernels: Any = library()
        shape = (*self.shape[:2], 1) if self.shared and len(self.shape) == 3 else self.shape
        noise = normal_numbers(kernels, self.key, prod(shape), self.mean, self.deviation).reshape(shape)
        return np.broadcast_to(noise, self.shape).astype(dtype or np.float32)

    def added_to(self, image: NDArray[Any]) -> NDArray[Any]:
        """The image, uint8, with whole levels of the noise added to it."""
        image, kernels = np.ascontiguousarray(image), library()
        if kernels is None:
            raise RuntimeError("noise is counted by native kernels, and there are none any more")
        out, channels = np.empty(image.shape, image.dtype), self.shape[2] if len(self.shape) == 3 else 1
        add = kernels.kernel("own_noise", "lffpplii")
        numbers = (prod(self.shape[:2]), channels, int(self.shared))
        if add(self.key, self.mean, self.deviation, image.ctypes.data, out.ctypes.data, *numbers) == 0:
            return out
        return np.clip(image + np.clip(np.asarray(self), -256, 256).astype(np.int32), 0, 255).astype(np.uint8)


class CounterGaussNoise(Mixin):  # type: ignore[misc]
    """GaussNoise by counting."""

    counts_noise = True

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """Draw as the class does, but for the numbers of the noise itself."""
        image, shared = data["image"] if "image" in data else data["images"][0], not self.per_channel
        fits = shared or len(image.shape) == 2 or image.shape[2] <= _CHANNELS
        if not fits or not is_countable(image.shape, image.dtype):
            return dict(super().get_params_dependent_on_data(params, data))
        deviation, mean = self.py_random.uniform(*self.std_range), self.py_random.uniform(*self.mean_range)
        key = mix(self.random_generator.sample_bits(), int(self.random_generator.integers(0, _ALBUMENTATIONS_SEEDS)))
        return {"noise_map": Noise(image.shape, shared, mean * 255.0, deviation * 255.0, key)}

    def apply(self, img: NDArray[Any], noise_map: Any, **params: Any) -> NDArray[Any]:
        """The image with its noise."""
        if isinstance(noise_map, Noise):
            return noise_map.added_to(img)
        return np.asarray(super().apply(img, noise_map=noise_map, **params))


class CounterISONoise(Mixin):  # type: ignore[misc]
    """ISONoise by counting."""

    counts_noise = True

    def apply(
        self, img: NDArray[Any], color_shift: float, intensity: float, random_seed: int, **params: Any
    ) -> NDArray[Any]:
        """The image with its noise."""
        result, kernels = None, library()
        is_rgb = img.dtype == np.uint8 and img.ndim == 3 and img.shape[2] == 3
        if kernels and is_rgb and is_countable(img.shape, img.dtype):
            key = mix(self.random_generator.sample_bits(), int(random_seed))
            result = iso_noise(np.ascontiguousarray(img), color_shift, intensity, key, kernels)
        if result is None:
            result = super().apply(img, color_shift=color_shift, intensity=intensity, random_seed=random_seed, **params)
        return np.asarray(result)


def is_countable(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Whether an image is one that noise is counted for."""
    return dtype == np.uint8 and 0 < prod(shape) < _NUMBERS_OF_A_KEY


def iso_noise(
    img: NDArray[np.uint8], color_shift: float, intensity: float, key: int, kernels: Library
) -> NDArray[np.uint8] | None:
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
    kernel = kernels.kernel("iso_noise", "lddppl")
    answer = kernel(key, color_shift, intensity, img.ctypes.data, out.ctypes.data, img.size // 3)
    return out if answer == 0 else None
