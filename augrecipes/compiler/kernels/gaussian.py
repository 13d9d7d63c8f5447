"""GaussianBlur of uint8 pictures in one native pass, with the sums of the installed OpenCV."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.compiler.kernels.colour_native import colours, takes
from augrecipes.compiler.kernels.twins import Apply, Case, Twin
from augrecipes.native.kernels import Library, library

_LANES = 64  # numbers that the kernel works on at a time, at most
_WIDTH = 255  # of the pictures that OpenCV is asked with
_AXES, _CHANNELS = 3, 4
# A weight on both sides of the middle; levels in the middle and beside it whose sum is another level where products are
# not rounded before they are added: of columns, and which level that is, and of rows.
SHOWING = (
    (0.1275, (146, 46), 121, (6, 106), 31),
    (0.2675, (29, 129), 82, (7, 107), 61),
    (0.198, (42, 167), 92, (14, 139), 64),
)


class Gaussian:
    """The kernel, and how OpenCV sums on this processor.

    Attributes:
        fused: how many numbers it takes at a time where it fuses products and sums, in rows and then in columns.
    """

    def __init__(self, kernels: Library) -> None:
        self._kernel = kernels.kernel("gaussian", "plllplllpp")
        self.fused = (_fused_along(), _fused_across())

    def __call__(self, img: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        """H×W×C uint8, contiguous, to a new picture; None where the kernel does not take such weights."""
        rows, columns, channels = img.shape
        size, held = len(weights), np.ascontiguousarray(weights, np.float32)
        room = np.empty(size * (columns * channels + _LANES) + (columns + size) * channels + _LANES, np.float32)
        out = np.empty_like(img)
        done = self._kernel(
            img.ctypes.data, rows, columns, channels, held.ctypes.data, size, *self.fused, room.ctypes.data,
            out.ctypes.data,
        )  # fmt: skip
        return out if done == 0 else None


def weights_of(beside: float) -> np.ndarray:
    """Three weights that come to 1."""
    return np.array([beside, 1 - 2 * beside, beside])


def _taken(fused: np.ndarray, every: int = 1) -> int:
    """How many of 255 numbers, of which every so many are looked at, are taken at a time: what is left is not fused."""
    count = int(fused.sum())
    return 1 if count == len(fused) else _WIDTH + 1 - every * count if count else 0


def _fused_across() -> int:
    beside, levels, level = SHOWING[0][:3]
    image = np.full((3, _WIDTH), levels[1], np.uint8)
    image[1] = levels[0]
    made: Any = cv2.sepFilter2D(image, -1, np.ones(1), weights_of(beside))
    return _taken(made[1] == level)


def _fused_along() -> int:
    beside, _, _, levels, level = SHOWING[0]
    image = np.full((1, _WIDTH), levels[1], np.uint8)
    image[:, ::2] = levels[0]
    made: Any = cv2.sepFilter2D(image, -1, weights_of(beside), np.ones(1))
    return _taken(made[0, ::2] == level, 2)


@cache
def _made(kernels: Any) -> Gaussian:
    return Gaussian(kernels)


def gaussian() -> Gaussian | None:
    """The native pass; None where there is none, or where OpenCV's own is quicker."""
    kernels = library()
    return None if kernels is None or colours() is None else _made(kernels)


def _make(step: Any) -> Apply | None:
    del step
    native = gaussian()
    if native is None:
        return None

    def blur(img: np.ndarray, kernel: Any, **_: Any) -> np.ndarray | None:
        fits = img.ndim == _AXES and img.shape[2] <= _CHANNELS and takes(img, img.shape[2])
        return native(img, kernel) if fits else None

    return blur


def _cases(cls: type) -> Iterator[Case]:
    """Weights under which it is seen in pictures of the probe where OpenCV fuses, and the class's own kinds."""
    for showing in SHOWING:
        yield cls(), {"kernel": weights_of(showing[0])}
    for sigma, size in ((0.5, 3), (0.9, 5), (1.1, 7), (3.0, 21)):
        places = np.arange(size) - size // 2
        parts = np.exp(-0.5 * (places / sigma) ** 2)
        yield cls(), {"kernel": parts / parts.sum()}


@cache
def pictures() -> tuple[np.ndarray, ...]:
    """Rows and columns of those levels in turn."""
    made = []
    for _, across, _, along, _ in SHOWING:
        rows, columns = np.full((9, 45, 3), across[1], np.uint8), np.full((9, 255, 1), along[1], np.uint8)
        rows[1::2], columns[:, ::2] = across[0], along[0]
        made += [rows, columns]
    return tuple(made)


TWIN = Twin(_make, _cases, pictures)
