"""How the installed OpenCV takes colours to hue, lightness and saturation, for native passes that do the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import cv2
import numpy as np

from augrecipes.native.kernels import Library, library

_WIDTH = 255  # of the pictures that OpenCV is asked with
_LEVEL = np.float32(255)


@dataclass(frozen=True, slots=True)
class Ways:
    """How OpenCV takes the pixels of a row.

    Attributes:
        lanes: how many it takes at a time; the rest of a row it takes otherwise.
        fused: whether it fuses multiplication and addition.
    """

    lanes: int
    fused: bool


def ways() -> Ways | None:
    """How it does; None where there are no kernels that have its bits."""
    kernels = library()
    return None if kernels is None else _proven(kernels)


@cache
def _proven(kernels: Any) -> Ways | None:
    return next((way for fused in (True, False) if agrees(kernels, way := Ways(_lanes(), fused))), None)


def _lanes() -> int:
    """A hue below 0 is another one in what is left of a row."""
    row: Any = cv2.cvtColor(np.full((1, _WIDTH, 3), (-70, 0.3, 0.7), np.float32), cv2.COLOR_HLS2RGB)[0]
    taken = int((row == row[0]).all(axis=-1).sum())
    return _WIDTH + 1 - taken if taken < _WIDTH else 1 << 30


def agrees(kernels: Library, way: Ways) -> bool:
    """Whether the kernel has OpenCV's bits, both ways, on colours of levels and on hues beyond the circle."""
    return all(
        np.array_equal(converted(kernels, way, picture, back=back), _by_opencv(picture, back=back))
        for picture, back in _pictures()
    )


def converted(kernels: Library, way: Ways, picture: np.ndarray, *, back: bool) -> np.ndarray:
    """RGB, H×W×3 float32 of 0..1, contiguous, to hue in degrees, lightness and saturation, of 0..1; or back."""
    out = np.empty_like(picture)
    kernel = kernels.kernel("hls_floats", "pllilip")
    kernel(picture.ctypes.data, *picture.shape[:2], int(back), way.lanes, int(way.fused), out.ctypes.data)
    return out


def _by_opencv(picture: np.ndarray, *, back: bool) -> np.ndarray:
    made: np.ndarray = cv2.cvtColor(picture, cv2.COLOR_HLS2RGB if back else cv2.COLOR_RGB2HLS)
    return made


@cache
def _pictures() -> tuple[tuple[np.ndarray, bool], ...]:
    """Pictures, and whether they are hues: of widths with and without a rest; greys, corners, a scatter of colours."""
    words = np.arange(3 * 61 * 79, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    scatter = (words >> np.uint64(56)).astype(np.float32).reshape(61, 79, 3) / _LEVEL
    corners = np.stack(np.meshgrid(*[np.array([0, 1, 128, 254, 255])] * 3, indexing="ij"), axis=-1).reshape(5, 25, 3)
    greys = np.repeat(np.arange(256, dtype=np.float32) / _LEVEL, 3).reshape(4, 64, 3)
    colours = (scatter, corners.astype(np.float32) / _LEVEL, greys, scatter[:, :7].copy())
    hues = [_by_opencv(one, back=False) for one in colours]
    wide, circle = np.array([500, 1, 1], np.float32), np.array([360, 1, 1], np.float32)
    hues += [scatter * wide - np.array([60, 0, 0], np.float32), scatter[:, :7] * circle]
    return (*((one, False) for one in colours), *((one, True) for one in hues))
