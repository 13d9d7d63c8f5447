"""Gaussian noise in two native passes, for steps as they are written: the very numbers that cv2.randn draws.

The functions have the names, arguments and results of albumentations' own, which do whatever the kernels do not take.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import pixel
from augrecipes.native.kernels import Library, library

_CHANNELS = 4


class NativeNoise:
    """Albumentations' `generate_noise` and `add_noise`, by native kernels.

    Args:
        kernels: of this machine.

    Attributes:
        addresses: of the strips and functions that the kernel `normal` takes.
    """

    def __init__(self, kernels: Library) -> None:
        self._normal, self._add = kernels.kernel("normal", "lpppppddfpl"), kernels.kernel("add_noise", "pppl")
        self._tables = strips()
        self.addresses = (*(table.ctypes.data for table in self._tables), *_logarithm_and_exponential())

    def functions(self) -> dict[str, Callable[..., Any]]:
        """By the names that albumentations gives them."""
        return {"generate_noise": self.generate_noise, "add_noise": self.add_noise}

    def generate_noise(
        self,
        noise_type: str,
        spatial_mode: str,
        shape: tuple[int, ...],
        params: dict[str, Any] | None,
        max_value: float,
        approximation: float,
        random_generator: np.random.Generator,
    ) -> np.ndarray:
        """Noise for a picture of this shape, float32, in its range."""
        if (noise_type, spatial_mode, approximation) != ("gaussian", "per_pixel", 1.0) or params is None:
            made: np.ndarray = pixel.generate_noise(
                noise_type, spatial_mode, shape, params, max_value, approximation, random_generator
            )
            return made
        seed = int(random_generator.integers(0, 2**16))
        mean, deviation = (
            low if low == high else random_generator.uniform(low, high)
            for low, high in (params["mean_range"], params["std_range"])
        )
        return self.normal(seed, float(np.float32(mean)), float(np.float32(deviation)), max_value, shape)

    def normal(self, seed: int, mean: float, deviation: float, full: float, shape: tuple[int, ...]) -> np.ndarray:
        """Normally distributed numbers times `full`, of the generator that cv2.setRNGSeed sets to `seed`."""
        out = np.empty(shape, np.float32)
        self._normal(seed, *self.addresses, mean, deviation, full, out.ctypes.data, out.size)
        return out

    def add_noise(self, img: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """A picture with noise added to it, within its range."""
        plain = img.flags.c_contiguous and noise.flags.c_contiguous and img.shape == noise.shape and img.ndim == 3
        if not plain or img.dtype != np.uint8 or noise.dtype != np.float32 or img.shape[2] > _CHANNELS:
            made: np.ndarray = pixel.add_noise(img, noise)
            return made
        out = np.empty(img.shape, np.uint8)
        self._add(img.ctypes.data, noise.ctypes.data, out.ctypes.data, out.size)
        return out


def _logarithm_and_exponential() -> list[int]:
    """The addresses of `logf` and `exp` in the C library: OpenCV calls them for numbers that are far out."""
    python = ctypes.CDLL(None)  # is linked with it
    return [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in (python.logf, python.exp)]


def functions() -> dict[str, Callable[..., Any]]:
    """What may be called in place of albumentations' own functions on this machine."""
    native = here()
    return {} if native is None else native.functions()


def here() -> NativeNoise | None:
    """The kernels of this machine; None where there are none, or where their bits are not those of albumentations."""
    found = library()
    return None if found is None else _proven(found)


@cache
def _proven(kernels: Library) -> NativeNoise | None:
    try:
        native = NativeNoise(kernels)
    except (AttributeError, TypeError, OSError):  # a system without such a C library
        return None
    return native if agrees(native) else None


def agrees(native: NativeNoise) -> bool:
    """Whether the kernels give the bits of albumentations on the OpenCV that is installed."""
    try:
        return all(_alike(native, k, shape) for k, shape in enumerate([(61, 67, 3), (90, 50, 1), (33, 47, 4)] * 4))
    except Exception:  # another release of albumentations, say
        return False


def _alike(native: NativeNoise, number: int, shape: tuple[int, ...]) -> bool:
    image = np.random.default_rng(number).integers(0, 256, shape, np.uint8)
    params = {"mean_range": (-0.3, 0.1 * number - 0.3), "std_range": (0.05, 0.05 + 0.3 * number)}
    made = []
    for functions in (native, pixel):
        rng = np.random.default_rng(number)
        noise = functions.generate_noise("gaussian", "per_pixel", shape, params, 255, 1.0, rng)
        made.append((noise, functions.add_noise(image, noise), functions.add_noise(image, np.abs(noise)), rng.random()))
    return all(np.array_equal(own, theirs) for own, theirs in zip(*made, strict=True))


@cache
def strips() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The 128 strips of one area under a normal density: bounds of words, widths and heights (Marsaglia, Tsang 2000).

    >>> [table.shape for table in strips()]
    [(128,), (128,), (128,)]
    """
    bounds, widths, heights = np.zeros(128, np.uint32), np.ones(128, np.float32), np.ones(128, np.float32)
    words, edge, area = 2.0**31, 3.442619855899, 9.91256303526217e-3
    widths[127], heights[127] = edge / words, math.exp(-0.5 * edge * edge)
    base = area / math.exp(-0.5 * edge * edge)
    bounds[0], widths[0] = int(edge / base * words), base / words
    for k in range(126, 0, -1):
        outer, edge = edge, math.sqrt(-2.0 * math.log(area / edge + math.exp(-0.5 * edge * edge)))
        bounds[k + 1], widths[k], heights[k] = int(edge / outer * words), edge / words, math.exp(-0.5 * edge * edge)
    return bounds, widths, heights
