"""The native kernels of this processor's best instruction set, and none: what a law holds to one another.

Those of its other instruction sets, too, where AUGRECIPES_TEST_KERNELS is `all`, as in `make soak`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
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


KERNEL_SETS = every_set()


@dataclass(eq=False)
class Spoilt:
    """Kernels that do their work, and something wrong after it, to the memory that argument number `target` names."""

    kernels: Library
    target: int
    spoil: Callable[[int], None]

    @property
    def isa(self) -> str:
        return self.kernels.isa

    def kernel(self, name: str, arguments: str) -> Callable[..., int]:
        works = self.kernels.kernel(name, arguments)

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
