"""Bytes of a picture to its pixels, as the readers of files do it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.images.encoded import encoded


def decode_image(data: bytes, **how: Any) -> NDArray[np.uint8]:
    """The whole picture; arguments as `encoded` has them."""
    return encoded(data, **how).array()
