"""The native kernels, where they were built: loaded once, with the best instruction set that this processor has.

Without a build, or with `AUGRECIPES_NATIVE=0`, there are none, and steps run as they are written. `AUGRECIPES_NATIVE`
may also name one, `base`, `v3` (AVX2) or `v4` (AVX-512), and `AUGRECIPES_KERNELS` a library built elsewhere, such
as one that watches over memory.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from augrecipes.native import build, layout

_log = logging.getLogger("augrecipes")
SWITCH = "AUGRECIPES_NATIVE"
# Arguments of kernels: p a pointer, l a 64-bit whole number, i one of 32 bits, f and d floating point.
_TYPES = {"p": ctypes.c_void_p, "l": ctypes.c_int64, "i": ctypes.c_int32, "f": ctypes.c_float, "d": ctypes.c_double}
# Types of values, as kernels.h numbers them.
_DTYPES = (np.uint8, np.float32, np.float16, np.int64)
_FLOAT32, _FLOAT32_FAR, _UINT16 = np.dtype(np.float32), 4, 5
VALUES: dict[np.dtype[Any], int] = {np.dtype(dtype): number for number, dtype in enumerate(_DTYPES)}
VALUES[np.dtype(np.uint16)] = _UINT16
_FAR = 1 << 24  # bytes: before all of so much is written, nobody reads the first of it


def written_as(out: np.ndarray) -> int:
    """The number of a result's type; one that is part of a large block is not read while it is at hand.

    >>> batch = np.zeros((32, 3, 512, 512), np.float32)
    >>> written_as(batch[0]), written_as(np.zeros((3, 512, 512), np.float32))
    (4, 1)
    """
    if out.dtype == _FLOAT32 and getattr(out if out.base is None else out.base, "nbytes", 0) >= _FAR:
        return _FLOAT32_FAR
    return VALUES[out.dtype]


def address_of(array: np.ndarray) -> int:
    """Where the first number of an array lies, in less than a third of the time that numpy takes to say so.

    >>> array = np.zeros((2, 3))
    >>> address_of(array) == address_of(array[:, ::2]) == array.ctypes.data
    True
    """
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # it is read-only, or does not lie side by side
        return int(array.__array_interface__["data"][0])


@dataclass(frozen=True, slots=True)
class Library:
    """The kernels of one instruction set.

    Attributes:
        handle: of the shared library.
        isa: `base`, `v3` or `v4`.
    """

    handle: Any
    isa: str

    def kernel(self, name: str, arguments: str) -> Callable[..., int]:
        """A kernel as a function of pointers and numbers, which answers 0 where it did the work.

        Args:
            name: of the kernel.
            arguments: a letter for each: p, l, i, f or d.
        """
        found = getattr(self.handle, f"ar_{name}_{self.isa}")
        if found.argtypes is None:
            found.argtypes, found.restype = [_TYPES[a] for a in arguments], ctypes.c_int32
        return cast("Callable[..., int]", found)


def library() -> Library | None:
    """The kernels of this machine; None where there are none."""
    return _found()


@cache
def _found() -> Library | None:
    asked = os.environ.get(SWITCH, "")
    if asked == "0":
        return None
    if not where().exists():
        _log.warning("there are no native kernels (%s): recipes run as with optimize: none", where())
        return None
    try:
        return load(asked)
    except (OSError, AttributeError, ValueError) as error:
        _log.warning("native kernels are not used: %s", error)
        return None


def where() -> Path:
    """The file that the kernels are loaded from, whether or not it is there."""
    return Path(os.environ.get("AUGRECIPES_KERNELS") or build.LIBRARY)


def load(isa: str = "", path: Path | None = None) -> Library:
    """The kernels of a library for an instruction set; "" is the best that this processor carries out.

    Raises:
        OSError: it cannot be loaded.
        ValueError: it was built from other sources, or with structs of another layout, or this processor lacks the
            instruction set.
    """
    file = path or where()
    handle = ctypes.CDLL(str(file))
    if build.is_stale(file):
        raise ValueError(f"they were built from other sources; {layout.BUILD_AGAIN}")
    layout.check(handle, layout.KERNELS, layout.NUMBERS)
    here = instruction_sets(handle)
    if isa and isa not in here:
        raise ValueError(f"{SWITCH}={isa}: built for this processor are {', '.join(here)}; 0 turns them off")
    return Library(handle, isa or here[-1])


def instruction_sets(handle: Any) -> list[str]:
    """The instruction sets of a library that this processor carries out, the best last."""
    best = handle.ar_isa()
    known = build.INSTRUCTION_SETS.get(build.processor(), {"base": ()})
    return [isa for isa in known if hasattr(handle, f"ar_sink_{isa}") and (isa == "base" or int(isa[1:]) <= best)]
