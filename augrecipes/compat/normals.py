"""Where numpy makes its normal numbers, for native code that asks for them."""

from __future__ import annotations

import ctypes
from functools import cache

from numpy.random import _generator


@cache
def normals() -> int:
    """The address of numpy's `random_standard_normal`, which takes a generator; 0: that is not told."""
    try:
        found = ctypes.CDLL(_generator.__file__).random_standard_normal
    except (AttributeError, OSError):
        return 0
    return ctypes.cast(found, ctypes.c_void_p).value or 0
