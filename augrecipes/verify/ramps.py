"""Coordinate ramps: pictures whose pixels say where they lie, so that what comes out says where it came from.

Bilinear sampling, averaging and cubic sampling are all exact on a ramp. They are not where it is folded at a border, or
where the edge of a picture is repeated; there several resamplings blur what one leaves sharp (see `apart`).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

F32: TypeAlias = NDArray[np.float32]

# What is beyond the picture shows by this value being gone: no fill is likely to be it.
MARK = np.float32(0.3701)
PLANES = 3


def ramps(height: int, width: int) -> tuple[F32, F32, F32]:
    """Column and row of each pixel in units of `unit`, and the mark, float32 H×W each.

    >>> [plane[1, 2].item() for plane in ramps(3, 4)[:2]]
    [0.25, 0.125]
    """
    y, x = np.mgrid[:height, :width].astype(np.float32)
    px = unit(height, width)
    return x / px, y / px, np.full((height, width), MARK)


def unit(height: int, width: int) -> np.float32:
    """What px are divided by to lie in 0..1: a power of two, so that no place is rounded.

    >>> float(unit(300, 512))
    1024.0
    """
    return np.float32(1 << max(height, width).bit_length())


def planes(values: F32, channels: int) -> F32:
    """One plane as a picture H×W×C whose channels are all alike."""
    return np.repeat(values[..., None], channels, axis=2)


def places_mask(height: int, width: int) -> F32:
    """A mask that says where its pixels lie: float32 H×W×3, x, y, and the mark."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    return np.stack([x, y, np.full((height, width), MARK)], axis=-1)
