"""Loads the native kernels once, for the best instruction set that this processor has.

Without a build, or with `AUGRECIPES_NATIVE=0`, there are none, and steps run as they are written. `AUGRECIPES_NATIVE`
may also name an instruction set, `base`, `v3` (AVX2) or `v4` (AVX-512), and `AUGRECIPES_KERNELS` a library built
elsewhere, such as one with AddressSanitizer.
"""

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from augrecipes.errors import logger
from augrecipes.native import build, layout

SWITCH = "AUGRECIPES_NATIVE"
# Types of kernels' arguments: p a pointer, l int64, i int32, f float, d double.
_TYPES = {"p": ctypes.c_void_p, "l": ctypes.c_int64, "i": ctypes.c_int32, "f": ctypes.c_float, "d": ctypes.c_double}
# The numbers of dtypes in kernels.h.
_DTYPES = (np.uint8, np.float32, np.float16, np.int64)
_FLOAT32, _FLOAT32_FAR, _UINT16 = np.dtype(np.float32), 4, 5
VALUES: dict[np.dtype[Any], int] = {np.dtype(dtype): number for number, dtype in enumerate(_DTYPES)}
VALUES[np.dtype(np.uint16)] = _UINT16
_FAR = 1 << 24  # bytes of a block that does not fit the cache: its start is evicted before its end is written


def written_as(out: np.ndarray) -> int:
    """The number of a result's dtype; float32 in a block too large for the cache has its own, to bypass the cache.

    >>> batch = np.zeros((32, 3, 512, 512), np.float32)
    >>> written_as(batch[0]), written_as(np.zeros((3, 512, 512), np.float32))
    (4, 1)
    """
    if out.dtype == _FLOAT32 and getattr(out if out.base is None else out.base, "nbytes", 0) >= _FAR:
        return _FLOAT32_FAR
    return VALUES[out.dtype]


def address_of(array: np.ndarray) -> int:
    """The address of an array's first value, in a third of the time of `array.ctypes.data`.

    >>> array = np.zeros((2, 3))
    >>> address_of(array) == address_of(array[:, ::2]) == array.ctypes.data
    True
    """
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # it is read-only, or not contiguous
        return int(array.__array_interface__["data"][0])


@dataclass(frozen=True, slots=True)
class Library:
    """The kernels of one instruction set.

    Attributes:
        handle: handle of the shared library.
        isa: the instruction set: `base`, `v3` or `v4`.
    """

    handle: Any
    isa: str

    def kernel(self, name: str, arguments: str) -> Callable[..., int]:
        """A kernel as a function of pointers and numbers, which returns 0 on success.

        Args:
            name: name of the kernel.
            arguments: the type of each argument as a letter: p, l, i, f or d.
        """
        function = getattr(self.handle, f"ar_{name}_{self.isa}")
        if function.argtypes is None:
            function.argtypes, function.restype = [_TYPES[a] for a in arguments], ctypes.c_int32
        return cast("Callable[..., int]", function)


def library() -> Library | None:
    """The kernels for this machine; None: there are none."""
    return _load_once()


@cache
def _load_once() -> Library | None:
    setting = os.environ.get(SWITCH, "")
    if setting == "0":
        return None
    if not where().exists():
        logger.warning("there are no native kernels (%s): recipes run as with optimize: none", where())
        return None
    try:
        return load(setting)
    except (OSError, AttributeError, ValueError) as error:
        logger.warning("native kernels are not used: %s", error)
        return None


def where() -> Path:
    """The file from which kernels are loaded, whether or not it exists."""
    return Path(os.environ.get("AUGRECIPES_KERNELS") or build.LIBRARY)


def load(isa: str = "", path: Path | None = None) -> Library:
    """Load the kernels of a library for an instruction set; "" is the best that this processor has.

    Raises:
        OSError: it cannot be loaded.
        ValueError: it was built from other sources or with another layout of structs, or lacks the instruction set.
    """
    file = path or where()
    handle = ctypes.CDLL(str(file))
    if build.is_stale(file):
        raise ValueError(f"they were built from other sources; {layout.BUILD_AGAIN}")
    layout.check(handle, layout.KERNELS, layout.NUMBERS)
    available = instruction_sets(handle)
    if isa and isa not in available:
        raise ValueError(f"{SWITCH}={isa}: built for this processor are {', '.join(available)}; 0 turns them off")
    return Library(handle, isa or available[-1])


def instruction_sets(handle: Any) -> list[str]:
    """The instruction sets of a library that this processor has, the best last."""
    best = handle.ar_isa()
    known = build.INSTRUCTION_SETS.get(build.processor(), {"base": ()})
    return [isa for isa in known if hasattr(handle, f"ar_sink_{isa}") and (isa == "base" or int(isa[1:]) <= best)]
