"""The difference of two pictures, amplified until it shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.display import Picture
from augrecipes.preview.sheet import EMPTY, INK

_MOST_TIMES = 64
_SEEN = 0.998  # the share of pixels that the amplified difference leaves below its darkest


def amplification(apart: NDArray[np.float32]) -> int:
    """A power of two, 1 to 64, that makes a difference visible, and hides as little of it as may be.

    Args:
        apart: absolute differences, levels of 0..255, H×W.

    >>> amplification(np.full((4, 4), 5, np.float32)), amplification(np.full((4, 4), 200, np.float32))
    (32, 1)
    """
    top = float(np.quantile(apart, _SEEN))
    times = 1
    while times < _MOST_TIMES and 2 * times * max(top, 1.0) <= 255:
        times *= 2
    return times


def amplified(apart: NDArray[np.float32]) -> tuple[Picture, int]:
    """A difference as a picture, and by how much it is amplified there.

    >>> amplified(np.full((4, 4), 5, np.float32))[1]
    32
    """
    times = amplification(apart)
    return ink(apart * np.float32(times / 255)), times


def ink(strength: NDArray[np.float32]) -> Picture:
    """Strengths of 0..1, H×W, as a picture: 0 is the empty page, 1 is ink.

    >>> ink(np.zeros((1, 2), np.float32)).shape
    (1, 2, 3)
    """
    page, dark = np.array(EMPTY, np.float32), np.array(INK, np.float32)
    part = np.clip(strength, 0, 1)[..., None]
    return np.rint(page + (dark - page) * part).astype(np.uint8)
