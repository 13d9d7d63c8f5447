"""Stains jittered within a level of what the step itself makes: for `fast`, in one native pass or through scratch."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.colour_native import takes
from augrecipes.compiler.kernels.scratch import Scratch
from augrecipes.native.kernels import library
from augrecipes.ops.colour_ops import Stain
from augrecipes.ops.stain import LOG, density_matrix, through_density

_NONE = (0.0, 0.0, 0.0)
_DIGITS = 12  # beyond them processors differ in what inverts a matrix


def jittered(image: np.ndarray, by: Stain, out: np.ndarray, scratch: Scratch) -> np.ndarray:
    """An H×W×3 uint8 picture with its stains jittered.

    Args:
        image: the picture.
        by: what was drawn.
        out: contiguous memory for the result; may be the picture.
        scratch: lends memory.
    """
    kernel = _kernel(library())
    if kernel is not None and takes(image):
        drawn = (*by.factors, *by.shifts)
        if kernel(image.ctypes.data, image.size // 3, *drawn, *CONSTANTS, out.ctypes.data) == 0:
            return out
    shape, floats = image.shape, np.dtype(np.float32)
    room = scratch.array("logs", shape, floats), scratch.array("densities", shape, floats)
    return through_density(image, density_matrix(by.factors, by.shifts), room, out)


@cache
def _kernel(kernels: Any) -> Any:
    return None if kernels is None else kernels.kernel("stain", "pl" + 6 * "d" + "ppp")


def _basis() -> np.ndarray:
    """7×3×4: a matrix for three factors and three shifts is the first, and the others times these."""
    still = density_matrix(_NONE, _NONE)
    units: Any = np.eye(3).tolist()
    each = [*(density_matrix(unit, _NONE) for unit in units), *(density_matrix(_NONE, unit) for unit in units)]
    return np.round(np.stack([still, *(one - still for one in each)]), _DIGITS)


_BASIS = _basis()
CONSTANTS = _BASIS.ctypes.data, LOG.ctypes.data
