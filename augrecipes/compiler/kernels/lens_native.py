"""Whether where a lens takes pixels from is found natively with the bits of the installed OpenCV."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from augrecipes.compat.albumentations import geometric
from augrecipes.native.kernels import Library

# Images and amounts at which the bits tell how many columns OpenCV takes at once, and where it fuses; and small ones.
_PROBED = (
    (25, 1175, 2.55), (21, 1735, 1.69), (20, 1736, 1.88), (25, 1283, -1.46), (28, 1122, 2.8), (28, 1527, 0.47),
    (33, 1524, 1.99), (300, 7, 0.7), (512, 5, -0.05), (1, 1, 0.3), (61, 83, 0.0),
)  # fmt: skip


@cache
def same_bits(kernels: Library) -> bool:
    """Whether the kernel gives the bits of the installed OpenCV: asked once a process."""
    lens: Callable[..., int] = kernels.kernel("lens", "lldllppp")
    for rows, columns, amount in _PROBED:
        line, x, y = np.empty(columns), np.empty((rows, columns), np.float32), np.empty((rows, columns), np.float32)
        given = line.ctypes.data, x.ctypes.data, y.ctypes.data
        expected = geometric.get_camera_matrix_distortion_maps((rows, columns), amount)
        if lens(rows, columns, amount, 0, rows, *given) != 0 or not all(map(np.array_equal, (x, y), expected)):
            return False
    return True
