"""What native/stain.c jitters stains by, for `fast`: within a level of what the step itself makes."""

from __future__ import annotations

from typing import Any

import numpy as np

from augrecipes.ops.stain import LOG, density_matrix

_NONE = (0.0, 0.0, 0.0)
_DIGITS = 12  # beyond them processors differ in what inverts a matrix


def _basis() -> np.ndarray:
    """7×3×4: a matrix for three factors and three shifts is the first, and the others times these."""
    still = density_matrix(_NONE, _NONE)
    units: Any = np.eye(3).tolist()
    each = [*(density_matrix(unit, _NONE) for unit in units), *(density_matrix(_NONE, unit) for unit in units)]
    return np.round(np.stack([still, *(one - still for one in each)]), _DIGITS)


_BASIS = _basis()
CONSTANTS = _BASIS.ctypes.data, LOG.ctypes.data
