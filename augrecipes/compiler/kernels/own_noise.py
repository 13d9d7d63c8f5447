"""Normal noise of our own in place of OpenCV's or numpy's: added to an image as it is made.

A step draws its parameters as ever, from its own generators. Only the numbers of its noise come by counting: number i
of a key is a hash of both, so a sample's noise is told by 64 bits, and is never kept in an array of its own. Words come
of two rounds of shift and multiply, and two normal numbers are made of each (native/normals.h). All is arithmetic of
whole numbers, and of single floats in a fixed order: kernels make the same bits on every instruction set.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compat.albumentations import geometric, pixel
from augrecipes.compat.replaced_functions import Functions, with_functions
from augrecipes.native.kernels import VALUES, Library, library
from augrecipes.ops.capabilities import claims
from augrecipes.seeds import mix

MOST = 2**32  # numbers of one key
_CHANNELS = 4  # the most of which one number is for all


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
    """The noise of one image, not made yet; `np.asarray` makes it, float32.

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

    @property
    def count(self) -> int:
        """How many numbers it is made of."""
        return prod(self.shape[:2] if self.shared else self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        del copy
        made = normal_numbers(_kernels(), self.key, self.count, self.mean, self.deviation)
        if self.shared and len(self.shape) == 3:
            made = np.broadcast_to(made.reshape(*self.shape[:2], 1), self.shape)
        return made.reshape(self.shape).astype(dtype or np.float32, copy=False)

    def added_to(self, image: NDArray[Any]) -> NDArray[Any]:
        """The image, uint8 or float32 (0..1), with the noise added to it: whole levels of it, to uint8."""
        image = np.ascontiguousarray(image)
        out, channels = np.empty(image.shape, image.dtype), self.shape[2] if len(self.shape) == 3 else 1
        _kernels().kernel("own_noise", "lffipplii")(
            self.key, self.mean, self.deviation, VALUES[image.dtype], image.ctypes.data, out.ctypes.data,
            prod(self.shape[:2]), channels, int(self.shared),
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
    if noise_type != "gaussian" or spatial_mode == "constant" or not (few and fits(shape, np.dtype(np.uint8))):
        return pixel.generate_noise(
            noise_type, spatial_mode, shape, params, max_value, approximation, random_generator
        )  # fmt: skip
    key = mix(random_generator.here(), int(random_generator.integers(0, 2**16)))
    mean, deviation = _parameters(params, random_generator)
    if approximation == 1.0:
        return Noise(shape, shared, mean * full, deviation * full, key)
    small = (*(max(1, int(side * approximation)) for side in shape[:2]), *shape[2:])
    noise = Noise(small, shared, mean * full, deviation * full, key)
    return geometric.resize(np.ascontiguousarray(noise), shape[:2], pixel.cv2.INTER_LINEAR)


def _add(img: NDArray[Any], noise: Any) -> NDArray[Any]:
    if not isinstance(noise, Noise):
        return np.asarray(pixel.add_noise(img, noise))
    return noise.added_to(img)


def _parameters(params: dict[str, Any], rng: Any) -> tuple[float, float]:
    """Mean and deviation as parts of the full range, drawn as albumentations draws them."""
    mean, deviation = (
        low if low == high else rng.uniform(low, high) for low, high in (params["mean_range"], params["std_range"])
    )
    return mean, deviation
