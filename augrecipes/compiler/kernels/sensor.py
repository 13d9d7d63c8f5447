"""ISONoise of uint8 pictures in native passes, with numpy's numbers and OpenCV's colours, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from augrecipes.compat.normals import normals
from augrecipes.compiler.kernels import photons
from augrecipes.compiler.kernels.colour_native import colours, takes
from augrecipes.compiler.kernels.hls import Ways, ways
from augrecipes.compiler.kernels.twins import Apply, Case, Twin
from augrecipes.native.kernels import Library, library

_STRIPS, _TRIED = 256, 40_000


class Sensor:
    """The kernel, and how numpy makes normal numbers and OpenCV colours here.

    Attributes:
        numbers: of the kernel: the address of numpy's function, and those of two arrays of what it does with words.
        ways: how OpenCV converts colours.
    """

    def __init__(self, kernels: Library, way: Ways) -> None:
        self._kernel, self.ways = kernels.kernel("sensor_noise", "plllddppplipp"), way
        self._bounds, self._widths = np.zeros(_STRIPS, np.uint64), np.zeros(_STRIPS)
        self.numbers = normals(), self._bounds.ctypes.data, self._widths.ctypes.data
        kernels.kernel("normal_strips", "ppp")(*self.numbers)
        self._normals = kernels.kernel("numpy_normals", "lppppl")

    def __call__(self, img: np.ndarray, color_shift: float, intensity: float, seed: int) -> np.ndarray | None:
        """H×W×3 uint8, contiguous, with noise of `default_rng(seed)`, as a new picture; None where it is not sure."""
        rows, columns, _ = img.shape
        out, counts = np.empty_like(img), np.empty(rows * columns, np.uint8)
        done = self._kernel(
            img.ctypes.data, rows, columns, seed, color_shift, intensity, *self.numbers, self.ways.lanes,
            int(self.ways.fused), counts.ctypes.data, out.ctypes.data,
        )  # fmt: skip
        return out if done == 0 else None

    def normals(self, seed: int, count: int) -> np.ndarray:
        """Numbers of mean 0 and deviation 1: those of `default_rng(seed)`."""
        out = np.empty(count)
        self._normals(seed, *self.numbers, out.ctypes.data, count)
        return out


def sensor() -> Sensor | None:
    """The native passes; None where there are none, or where their numbers are not numpy's."""
    kernels = library()
    return None if kernels is None or colours() is None else _proven(kernels)


@cache
def _proven(kernels: Any) -> Sensor | None:
    way = ways()
    if way is None or not normals():
        return None
    made = Sensor(kernels, way)
    alike = np.array_equal(made.normals(5, _TRIED), np.random.default_rng(5).normal(size=_TRIED))
    return made if alike else None


def _make(step: Any) -> Apply | None:
    native = None if photons.is_own(step) else sensor()
    if native is None:
        return None

    def add(img: np.ndarray, color_shift: float, intensity: float, random_seed: int, **_: Any) -> np.ndarray | None:
        return native(img, color_shift, intensity, int(random_seed)) if takes(img) else None

    return add


def _cases(cls: type) -> Iterator[Case]:
    for seed, (shift, intensity) in enumerate([(0.03, 0.3), (0.5, 1.0), (20.0, 4.0), (0.0, 0.1)]):
        yield cls(), {"color_shift": shift, "intensity": intensity, "random_seed": 2**32 - 2 - 977 * seed}


TWIN = Twin(_make, _cases)
