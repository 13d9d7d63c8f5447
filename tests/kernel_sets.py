"""The kernel sets whose results tests compare: the processor's best instruction set, and none.

With AUGRECIPES_TEST_KERNELS=all, as in `make soak`, also its other instruction sets.
"""

import ctypes
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from augrecipes.native.kernels import Library, instruction_sets, load, where


def every_set() -> list[Library | None]:
    if not where().exists():
        return [None]
    found = instruction_sets(ctypes.CDLL(str(where())))
    return [None, *map(load, found if os.environ.get("AUGRECIPES_TEST_KERNELS") == "all" else found[-1:])]


@contextmanager
def using(kernels: Library | None) -> Iterator[None]:
    """Compile everything inside with these kernels, or with none. Not thread-safe."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("augrecipes.native.kernels._load_once", lambda: kernels)
        yield


KERNEL_SETS = every_set()
SETS = [kernels for kernels in KERNEL_SETS if kernels is not None]
NEEDS_KERNELS = pytest.mark.skipif(not SETS, reason="no native kernels here")
EACH_SET = pytest.mark.parametrize("kernels", SETS, ids=lambda kernels: kernels.isa)


@dataclass(eq=False)
class Spoilt:
    """Kernels with a planted fault: after each call `spoil` changes the memory at argument number `target`."""

    kernels: Library
    target: int
    spoil: Callable[[int], None]
    only: str = ""
    """Name of the only faulty kernel; empty: all are."""

    @property
    def isa(self) -> str:
        return self.kernels.isa

    def kernel(self, name: str, arguments: str) -> Callable[..., int]:
        works = self.kernels.kernel(name, arguments)
        if self.only not in ("", name):
            return works

        def spoilt(*given: Any) -> int:
            answer = works(*given)
            self.spoil(given[self.target])
            return answer

        return spoilt


def spoil_first(address: int) -> None:
    """Flip a bit of the first byte."""
    np.ctypeslib.as_array((ctypes.c_uint8 * 1).from_address(address))[0] ^= 1


def spoil_last(address: int) -> None:
    """Flip a bit of the hundredth byte."""
    np.ctypeslib.as_array((ctypes.c_uint8 * 1).from_address(address + 99))[0] ^= 1


def counted(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[tuple[int, ...]]:
    """Patch a method to record the shapes of the arrays that it returns, and return the record."""
    found: list[tuple[int, ...]] = []
    own = getattr(owner, name)

    def counting(*given: Any, **named: Any) -> Any:
        done = own(*given, **named)
        if done is not None:
            found.append(done.shape)
        return done

    monkeypatch.setattr(owner, name, counting)
    return found


# Guard pages around arrays: any access outside the array raises SIGSEGV.

_PAGE = mmap.PAGESIZE
_NOTHING = 0  # PROT_NONE


def guarded(array: np.ndarray, at_end: bool) -> Any:
    """Copy an array so that it ends where a guard page begins or, with at_end=False, begins where one ends."""
    pages = -(-max(array.nbytes, 1) // _PAGE)
    memory = mmap.mmap(-1, (pages + 2) * _PAGE)
    whole = np.frombuffer(memory, np.uint8)
    start = (pages + 1) * _PAGE - array.nbytes if at_end else _PAGE
    copy = np.frombuffer(memory, array.dtype, array.size, start).reshape(array.shape)
    copy[...] = array
    libc, first = ctypes.CDLL(None, use_errno=True), whole.ctypes.data
    for page in (first, first + (pages + 1) * _PAGE):
        if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(_PAGE), _NOTHING):
            raise OSError(ctypes.get_errno(), "mprotect")
    return copy
