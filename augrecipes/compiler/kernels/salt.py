"""Salt and pepper, which touches the pixels that it changes instead of choosing for all: the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.kernels.quick_apply import Apply

_FULL = {np.dtype(np.uint8): 255, np.dtype(np.float32): 1}


def quick(*_: Any) -> Apply:
    """What SaltAndPepper does."""
    return _scatter


def _scatter(img: NDArray[Any], salt_mask: NDArray[np.bool_], pepper_mask: NDArray[np.bool_], **_: Any) -> Any:
    if img.dtype not in _FULL or img.ndim not in (2, 3) or not salt_mask.shape == pepper_mask.shape == img.shape[:2]:
        return None
    out = np.array(img, order="C")
    pixels = out.reshape(salt_mask.size, -1)
    pixels[np.flatnonzero(pepper_mask)] = 0
    pixels[np.flatnonzero(salt_mask)] = _FULL[img.dtype]
    return out
