"""CLAHE in two native passes over grey pictures, or over the L of colours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.colour_native import colours, takes
from augrecipes.compiler.kernels.lab import tables
from augrecipes.compiler.kernels.twins import Apply, Case, Twin
from augrecipes.native.kernels import library

_LAB = tables()
_GREY = 1


def _make(step: Any) -> Apply | None:
    kernels = library()
    if kernels is None or colours() is None:
        return None
    kernel = kernels.kernel("clahe", "pllllldpplp")
    across, down = step.tile_grid_size
    room = np.empty(0, np.uint8)

    def even_out(img: np.ndarray, clip_limit: float, **_: Any) -> np.ndarray | None:
        nonlocal room
        if not takes(img) and not takes(img, _GREY):
            return None
        rows, columns, channels = img.shape
        size = 3072 * across + 256 * across * down + 8 * columns + 1280
        if len(room) < size:
            room = np.empty(size, np.uint8)
        out, memory = np.empty_like(img), (room.ctypes.data, size)
        given = img.ctypes.data, rows, columns, channels, down, across, clip_limit, _LAB.ctypes.data
        return out if kernel(*given, *memory, out.ctypes.data) == 0 else None

    return even_out


def _cases(cls: type) -> Iterator[Case]:
    for size, limit in (((8, 8), 4.0), ((1, 1), 1.0), ((3, 5), 90.0), ((40, 2), 2.0)):
        yield cls(tile_grid_size=size), {"clip_limit": limit}


@cache
def _more() -> tuple[np.ndarray, ...]:
    """Colours in such numbers that each number of the tables decides some of them, and a grey picture."""
    words = np.arange(1 << 18, dtype=np.uint32) * np.uint32(0x9E3779B1)
    colours = words.view(np.uint8).reshape(512, 512, 4)[..., 1:].copy()
    return colours, colours[:61, :67, :1].copy()


TWIN = Twin(_make, _cases, _more)
