"""Draw the parameters of a step without an image's pixels."""

from functools import lru_cache
from typing import Any

import numpy as np

_ZEROS = bytes(16)  # one element of any dtype


@lru_cache(maxsize=256)
def stand_in(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """A read-only array with a shape and a dtype but no memory: all that a step needs of an image to draw.

    np.broadcast_to would do, but takes ten times as long.

    >>> stand_in((5, 7, 3), np.dtype(np.uint8)).shape
    (5, 7, 3)
    """
    return np.ndarray(shape, dtype, _ZEROS, 0, (0,) * len(shape))


def is_plain_window(params: dict[str, Any]) -> bool:
    """Whether a window lies inside the image and does nothing else. If not, the step itself must pad, or raise."""
    x_min, y_min, x_max, y_max = params["crop_coords"]
    height, width = params["shape"][:2]
    return params.get("pad_params") is None and 0 <= x_min < x_max <= width and 0 <= y_min < y_max <= height
