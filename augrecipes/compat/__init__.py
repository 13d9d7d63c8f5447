"""Every private part of albumentations and torch that augrecipes takes hold of, and the versions it is proven against.

Nothing else imports albumentations, or looks behind torch's public names: with a new version this is all there is to
prove again. `guard` decides which albumentations may be imported; `albumentations` and `torch` hold the hooks.
"""

import os
from functools import cache
from typing import Any

# The base of classes of ours that come in front of one of albumentations: to type checkers they have all that it has.
Mixin: Any = object


def stay_offline() -> None:
    """Keep albumentations from asking the network for a newer release whenever it is imported, here or by others."""
    os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"


@cache
def normals() -> int:
    """The address of numpy's `random_standard_normal`, for native code: it takes a generator; 0: that is not told."""
    import ctypes

    from numpy.random import _generator

    try:
        function = ctypes.CDLL(_generator.__file__).random_standard_normal
    except (AttributeError, OSError):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0
