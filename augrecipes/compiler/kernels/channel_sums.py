"""Images whose levels are a product or a sum of three numbers, one for each colour of the pixel: one native pass.

It rounds otherwise than the step that it stands for, so a value that lies next to a half might become one level or the
other. Such pixels, a few in a thousand, are told, and are done again as the step does them; all others are sure.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from augrecipes.native.kernels import Library

_LEAST = 0.4  # from a whole number to where doubt begins
_MOST = 2.0**30
_FEW = 32  # one pixel in so many may be done twice


def channel_sums(
    kernels: Library, img: np.ndarray, tables: np.ndarray, off: float, *, sums: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """An image, and the places of pixels that are to be done again; None where that is none of the pass's work.

    Args:
        kernels: that have it.
        img: H×W×3 uint8, contiguous.
        tables: 3×256×4 float32: for each colour that comes in, and its level, its part in the three that leave. The
            level that leaves is the product or sum of three parts, less 1.
        off: by how much of a level the product or sum may differ from what the step has before it rounds.
        sums: sums, else products.
    """
    pixels, sure = img.size // 3, 0.5 - off
    largest: Any = np.abs(tables).max(axis=(1, 2))
    if sure < _LEAST or not (largest.sum() if sums else largest.prod()) < _MOST:
        return None
    out, found, room = np.empty_like(img), np.zeros(1, np.int64), np.empty(pixels // _FEW, np.int32)
    done = kernels.kernel("channel_sums", "plpffiplpp")(
        img.ctypes.data, pixels, tables.ctypes.data, 1, sure, int(sums), room.ctypes.data, len(room), found.ctypes.data,
        out.ctypes.data,
    )  # fmt: skip
    return None if done != 0 or found[0] > len(room) else (out, room[: found[0]])
