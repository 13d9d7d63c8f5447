"""MedianBlur of uint8 pictures in one native pass, by squares of up to 7 px."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.colour_native import colours, takes
from augrecipes.compiler.kernels.twins import Apply, Case, Twin
from augrecipes.native.kernels import Library, library

_AXES, _LANES = 3, 64  # of a picture with channels; bytes that the kernel works on at a time, at most


class Median:
    """The kernel of a library."""

    def __init__(self, kernels: Library) -> None:
        self._kernel = kernels.kernel("median", "pllllpp")

    def __call__(self, img: np.ndarray, side: int) -> np.ndarray | None:
        """H×W×C uint8, contiguous, to a new picture; None where the kernel does not take it, or such squares."""
        rows, columns, channels = img.shape
        room, out = np.empty(side * ((columns + side) * channels + _LANES), np.uint8), np.empty_like(img)
        done = self._kernel(
            img.ctypes.data, rows, columns, channels, side, room.ctypes.data, out.ctypes.data
        )  # fmt: skip
        return out if done == 0 else None


def _make(step: Any) -> Apply | None:
    del step
    kernels = library()
    if kernels is None or colours() is None:  # without AVX2 OpenCV is quicker
        return None
    native = Median(kernels)
    return lambda img, kernel, **_: native(img, kernel) if img.ndim == _AXES and takes(img, img.shape[2]) else None


def _cases(cls: type) -> Iterator[Case]:
    for side in (3, 5, 7):
        yield cls(), {"kernel": side}


TWIN = Twin(_make, _cases)
