"""Where a lens takes pixels from, found natively, with the bits of the installed OpenCV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.native.kernels import Library

Maps = tuple[np.ndarray, np.ndarray]  # x and y, H×W float32
_ARGUMENTS = "lldddllppp"
# Images and amounts at which the bits tell how many columns OpenCV takes at once, and where it fuses; and small ones.
_PROBED = (
    (25, 1175, 2.55), (21, 1735, 1.69), (20, 1736, 1.88), (25, 1283, -1.46), (28, 1122, 2.8), (28, 1527, 0.47),
    (33, 1524, 1.99), (300, 7, 0.7), (512, 5, -0.05), (1, 1, 0.3), (61, 83, 0.0),
)  # fmt: skip


@cache
def same_bits(kernels: Library) -> bool:
    """Whether the kernel gives the bits of the installed OpenCV: asked once a process."""
    for *shape, amount in _PROBED:
        found = made(kernels, shape, amount, amount, 0.5)
        if found is None or not all(
            map(np.array_equal, found, geometric.get_camera_matrix_distortion_maps(shape, amount))
        ):
            return False
    return True


def made(kernels: Library, shape: Sequence[int], primary: float, secondary: float, inset: float) -> Maps | None:
    """The maps for an image of so many rows and columns; None where the kernel does not make them."""
    rows, columns = shape
    kernel: Callable[..., int] = kernels.kernel("lens", _ARGUMENTS)
    x, y = (np.empty((rows, columns), np.float32) for _ in range(2))
    line = np.empty(columns)
    done = kernel(rows, columns, primary, secondary, inset, 0, rows, line.ctypes.data, x.ctypes.data, y.ctypes.data)
    return (x, y) if done == 0 else None
