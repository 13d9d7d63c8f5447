"""The native kernels of this processor's best instruction set, and none: what a law holds to one another.

Those of its other instruction sets, too, where AUGRECIPES_TEST_KERNELS is `all`, as in `make soak`.
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
    """Let whatever is compiled inside use these kernels, or none. Not for threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("augrecipes.native.kernels._load_once", lambda: kernels)
        yield


KERNEL_SETS = every_set()
SETS = [kernels for kernels in KERNEL_SETS if kernels is not None]
NEEDS_KERNELS = pytest.mark.skipif(not SETS, reason="no native kernels here")
EACH_SET = pytest.mark.parametrize("kernels", SETS, ids=lambda kernels: kernels.isa)


@dataclass(eq=False)
class Spoilt:
    """Kernels that do their work, and something wrong after it, to the memory that argument number `target` names."""

    kernels: Library
    target: int
    spoil: Callable[[int], None]
    only: str = ""
    """The kernel that does so; empty: each."""

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
    """One bit of the first byte."""
    np.ctypeslib.as_array((ctypes.c_uint8 * 1).from_address(address))[0] ^= 1


def spoil_last(address: int) -> None:
    """One bit of the hundredth byte."""
    np.ctypeslib.as_array((ctypes.c_uint8 * 1).from_address(address + 99))[0] ^= 1


def counted(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[tuple[int, ...]]:
    """The shapes of whatever this method makes."""
    found: list[tuple[int, ...]] = []
    own = getattr(owner, name)

    def counting(*given: Any, **named: Any) -> Any:
        done = own(*given, **named)
        if done is not None:
            found.append(done.shape)
        return done

    monkeypatch.setattr(owner, name, counting)
    return found


# Arrays between two pages that nobody may touch: whoever reads or writes beside one, even in passing, is killed.


_PAGE = mmap.PAGESIZE
_NOTHING = 0  # PROT_NONE


def guarded(array: np.ndarray, at_end: bool) -> Any:
    """A copy that ends where a forbidden page begins or, with at_end=False, begins where one ends."""
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
