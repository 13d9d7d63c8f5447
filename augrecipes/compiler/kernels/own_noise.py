"""Noise of our own in place of OpenCV's or numpy's: added to an image, or multiplied with it, as it is made.

A step draws its parameters as ever, from its own generators. Only the numbers of its noise come by counting, see
`counter_numbers`, from the key of its sample: they are never kept in an array of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compat.albumentations import geometric, pixel, wrap_apply
from augrecipes.compat.replaced_functions import Functions, with_functions
from augrecipes.compiler.kernels.counter_numbers import (
    DISTRIBUTIONS,
    MOST,
    Distribution,
    numbers_by,
    places,
)
from augrecipes.native.kernels import VALUES, Library, library
from augrecipes.ops.capabilities import claims
from augrecipes.seeds import mix

_CHANNELS = 4  # the most of which one number is for all


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of one image, not made yet; `np.asarray` makes it, float32.

    Attributes:
        distribution: of its numbers, centred at 0 and of scale 1.
        shape: H×W or H×W×C, of the image.
        shared: the channels of a pixel have the same number.
        mean: that is added to the numbers, in the range of the image.
        deviation: that they are multiplied with before.
        key: of the sample and the step, 64 bits.
    """

    distribution: Distribution
    shape: tuple[int, ...]
    shared: bool
    mean: float
    deviation: float
    key: int

    @property
    def count(self) -> int:
        """How many numbers it is made of."""
        return prod(self.shape[:2] if self.shared else self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        del copy
        made = numbers_by(_kernels(), self.key, self.count, self.distribution, self.mean, self.deviation)
        if self.shared and len(self.shape) == 3:
            made = np.broadcast_to(made.reshape(*self.shape[:2], 1), self.shape)
        return made.reshape(self.shape).astype(dtype or np.float32, copy=False)

    def added_to(self, image: NDArray[Any]) -> NDArray[Any]:
        """The image, uint8 or float32 (0..1), with the noise added to it: whole levels of it, to uint8."""
        return self._by_kernel(image, multiplies=False)

    def times(self, image: NDArray[Any]) -> NDArray[Any]:
        """The image, uint8 or float32 (0..1), with each value multiplied by its number; levels are cut off."""
        return self._by_kernel(image, multiplies=True)

    def _by_kernel(self, image: NDArray[Any], *, multiplies: bool) -> NDArray[Any]:
        image = np.ascontiguousarray(image)
        out, channels = np.empty(image.shape, image.dtype), self.shape[2] if len(self.shape) == 3 else 1
        works = _kernels().kernel("own_noise", "lpffiipplii")
        works(
            self.key, places(self.distribution), self.mean, self.deviation, int(multiplies),
            VALUES[image.dtype], image.ctypes.data, out.ctypes.data, prod(self.shape[:2]), channels, int(self.shared),
        )  # fmt: skip
        return out


def _kernels() -> Library:
    """Those of this machine, without which no step takes its noise from here."""
    found = library()
    if found is None:
        raise RuntimeError("noise of our own is made by native kernels, and there are none any more")
    return found


def attach(step: Any) -> None:
    """Let a transform, which no Compose has taken up yet, take its noise from our own generator: as its record says."""
    resolve_name(f"{__package__}.{claims(type(step).__name__).own_noise}")(step)


def is_own(step: Any) -> bool:
    """Whether a transform that calls `generate_noise` takes its noise from our own generator."""
    seen = getattr(step.get_params_dependent_on_data, "__globals__", {}).get("fpixel")
    return getattr(seen, "generate_noise", None) is _generate


def added(step: Any) -> None:
    """For steps that call albumentations' `generate_noise` and `add_noise`."""
    instead: Functions = {"generate_noise": _generate, "add_noise": _add}
    with_functions(step, ("apply", "get_params_dependent_on_data"), instead, "fpixel")


def multiplied(step: Any) -> None:
    """For a step that multiplies an image by numbers between two."""
    step.get_params_dependent_on_data = partial(_multipliers, step)
    wrap_apply(step, _multiply)


def fits(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Whether an image is one that own noise is made for."""
    return dtype in (np.uint8, np.float32) and 0 < prod(shape) < MOST


def _generate(
    noise_type: str,
    spatial_mode: str,
    shape: tuple[int, ...],
    params: dict[str, Any],
    max_value: float,
    approximation: float,
    random_generator: Any,
) -> Any:
    """As albumentations' own: the same draws in the same order, but for the numbers of the noise itself."""
    full = float(max_value)
    shared = spatial_mode == "shared"
    few = not shared or len(shape) == 2 or shape[2] <= _CHANNELS
    if noise_type not in DISTRIBUTIONS or spatial_mode == "constant" or not (few and fits(shape, np.dtype(np.uint8))):
        return pixel.generate_noise(
            noise_type, spatial_mode, shape, params, max_value, approximation, random_generator
        )  # fmt: skip
    key = mix(random_generator.here(), int(random_generator.integers(0, 2**16)))
    mean, deviation = _PARAMETERS[noise_type](params, random_generator)
    if approximation == 1.0:
        return Noise(noise_type, shape, shared, mean * full, deviation * full, key)
    small = (*(max(1, int(side * approximation)) for side in shape[:2]), *shape[2:])
    noise = Noise(noise_type, small, shared, mean * full, deviation * full, key)
    return geometric.resize(np.ascontiguousarray(noise), shape[:2], pixel.cv2.INTER_LINEAR)


def _add(img: NDArray[Any], noise: Any) -> NDArray[Any]:
    if not isinstance(noise, Noise):
        return np.asarray(pixel.add_noise(img, noise))
    return noise.added_to(img)


def _gaussian(params: dict[str, Any], rng: Any) -> tuple[float, float]:
    mean, deviation = (
        low if low == high else rng.uniform(low, high) for low, high in (params["mean_range"], params["std_range"])
    )
    return mean, deviation


def _uniform(params: dict[str, Any], rng: Any) -> tuple[float, float]:
    del rng
    low, high = params["ranges"][0]
    return (low + high) / 2, (high - low) / 2


def _laplace(params: dict[str, Any], rng: Any) -> tuple[float, float]:
    mean = rng.uniform(*params["mean_range"])
    return mean, rng.uniform(*params["scale_range"])


# From a step's parameters to mean and scale, both parts of the full range.
_PARAMETERS: dict[str, Callable[[dict[str, Any], Any], tuple[float, float]]] = {
    "gaussian": _gaussian,
    "uniform": _uniform,
    "laplace": _laplace,
}


def _multipliers(step: Any, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    image = data["image"] if "image" in data else data["images"][0]
    shared, channels = not step.per_channel, image.shape[2] if image.ndim == 3 else 1
    if not (step.elementwise and fits(image.shape, image.dtype)) or (shared and channels > _CHANNELS):
        return dict(type(step).get_params_dependent_on_data(step, params, data))
    low, high = step.multiplier
    key = mix(step.random_generator.here(), int(step.random_generator.integers(0, 2**32)))
    noise = Noise("uniform", image.shape, shared, (low + high) / 2, (high - low) / 2, key)
    return {"multiplier": noise}


def _multiply(apply: Callable[..., Any], img: NDArray[Any], multiplier: Any, **params: Any) -> NDArray[Any]:
    if isinstance(multiplier, Noise):
        return multiplier.times(img)
    return np.asarray(apply(img, multiplier=multiplier, **params))
