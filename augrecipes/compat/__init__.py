"""All uses of private parts of albumentations and torch, and the versions against which they are proven.

No other package imports albumentations or uses private names of torch: for a new version only this one is to be proven
again. `guard` decides which albumentations may be imported; `albumentations` and `torch` hold the hooks.
"""

import os
from functools import cache
from typing import Any

# The base of mixins for classes of albumentations: Any, so that type checkers allow the attributes of those.
Mixin: Any = object


def stay_offline() -> None:
    """Keep albumentations from asking the network for a newer release when it is imported, anywhere in the process."""
    os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"


@cache
def normals() -> int:
    """The address of numpy's C function `random_standard_normal`, for native code; 0: it is not exported."""
    import ctypes

    from numpy.random import _generator

    try:
        function = ctypes.CDLL(_generator.__file__).random_standard_normal
    except (AttributeError, OSError):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0
