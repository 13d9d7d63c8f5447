"""Steps whose own methods call quicker functions than those of albumentations' modules, or of numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A, blur, geometric, pixel

_HOMES = {"fgeometric": geometric, "fpixel": pixel, "fblur": blur, "np": np}  # what transforms call the modules
Functions = Mapping[str, Callable[..., Any]]


def with_functions(step: Any, methods: tuple[str, ...], instead: Functions, home: str = "fgeometric") -> Any:
    """The transform, whose `methods` find the functions `instead` in place of the module's own of the same names.

    A method that does not ask for one of them stays as it is, and so does one that the step has been given already.
    `home` is what it calls the module: `fgeometric`, `fpixel`, `fblur` or `np`.
    """
    quick = _Instead(instead, _HOMES[home])
    for name in methods:
        method: Any = getattr(type(step), name, None)
        if name in vars(step) or getattr(method, "__globals__", {}).get(home) is not _HOMES[home]:
            continue
        if not instead.keys().isdisjoint(method.__code__.co_names):
            seen = {**method.__globals__, home: quick}
            made = FunctionType(method.__code__, seen, name, method.__defaults__, method.__closure__)
            made.__kwdefaults__ = method.__kwdefaults__
            setattr(step, name, MethodType(made, step))
    if isinstance(step, A.BasicTransform):
        step._set_keys()  # albumentations keeps the functions that it calls
    return step


class _Instead:
    """A module with some functions replaced."""

    def __init__(self, instead: Functions, home: Any) -> None:
        self.__dict__.update(instead)
        self._home, self.names = home, frozenset(instead)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._home, name)
