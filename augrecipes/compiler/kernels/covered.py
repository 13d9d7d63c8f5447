"""Parts of a mask laid over an RGB image by a table of levels: the bits of an assignment that looks up every place."""

from __future__ import annotations

from typing import Any

import numpy as np

from augrecipes.compiler.kernels import quick_apply
from augrecipes.native.kernels import Library


def quick(step: Any, kernels: Library) -> quick_apply.Apply:
    """What MaskDropout does."""

    def covered(img: np.ndarray, dropout_mask: Any, **_: Any) -> np.ndarray | None:
        filled = not isinstance(step.fill, str) and isinstance(dropout_mask, np.ndarray)
        if not filled or not quick_apply.takes(img) or dropout_mask.shape != img.shape[:2]:
            return None
        where, made, tables = np.ascontiguousarray(dropout_mask), img.copy(), np.empty((2, 256, 3), np.uint8)
        tables[1] = step.fill
        kernels.kernel("through_tables", "plpp")(where.ctypes.data, where.size, tables.ctypes.data, made.ctypes.data)
        return made

    return covered
