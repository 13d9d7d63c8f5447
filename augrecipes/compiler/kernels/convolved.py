"""Pictures filtered by nine weights about each pixel, in one native pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.colour_native import colours, takes
from augrecipes.compiler.kernels.twins import Apply, Case, Twin

_MOST = 4000.0


def _make(step: Any) -> Apply | None:
    native = colours()
    if native is None or getattr(step, "method", "kernel") != "kernel":
        return None

    def convolve(
        img: np.ndarray, sharpening_matrix: Any = None, emboss_matrix: Any = None, **_: Any
    ) -> np.ndarray | None:
        weights = emboss_matrix if sharpening_matrix is None else sharpening_matrix
        if not takes(img) or weights.shape != (3, 3) or weights.dtype != np.float32:
            return None
        return native.filtered(img, weights) if np.abs(weights).sum() < _MOST else None

    return convolve


def _cases(cls: type) -> Iterator[Case]:
    """Weights under which it is seen in some picture of the probe whether OpenCV fuses, and the class's own kinds."""
    names = ("sharpening_matrix", "emboss_matrix")
    for centre, beside in SHOWING:
        weights = np.full((3, 3), beside, np.float32)
        weights[1, 1] = centre
        yield cls(), dict.fromkeys(names, weights) | {"alpha": 0.5}
    lopsided = np.array([[-1.7, -0.4, 0], [-0.4, 1, 0.4], [0, 0.4, 1.4]], np.float32)
    for weights in (lopsided, lopsided * np.float32(0.37), -lopsided):
        yield cls(), dict.fromkeys(names, weights) | {"alpha": 0.5}


# The weight in the centre, and those about it.
SHOWING = ((4.987, -0.499), (2.8945, -0.241), (3.7405, -0.358), (2.5, -0.2), (1.0, 0.0))
TWIN = Twin(_make, _cases)
