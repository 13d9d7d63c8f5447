"""Steps whose own methods call quicker functions than those of albumentations' module for geometry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any

from augrecipes.compat.albumentations import A, geometric

_HOME = "fgeometric"  # what transforms call the module
Functions = Mapping[str, Callable[..., Any]]


def with_functions(step: Any, methods: tuple[str, ...], instead: Functions) -> Any:
    """The transform, whose `methods` find the functions `instead` in place of the module's own of the same names.

    A method that does not ask for one of them stays as it is, and so does one that the step has been given already.
    """
    quick = _Instead(instead)
    for name in methods:
        method: Any = getattr(type(step), name, None)
        if name in vars(step) or getattr(method, "__globals__", {}).get(_HOME) is not geometric:
            continue
        if not instead.keys().isdisjoint(method.__code__.co_names):
            seen = {**method.__globals__, _HOME: quick}
            made = FunctionType(method.__code__, seen, name, method.__defaults__, method.__closure__)
            made.__kwdefaults__ = method.__kwdefaults__
            setattr(step, name, MethodType(made, step))
    if isinstance(step, A.BasicTransform):
        step._set_keys()  # albumentations keeps the functions that it calls
    return step


class _Instead:
    """A module with some functions replaced."""

    def __init__(self, instead: Functions) -> None:
        self.__dict__.update(instead)

    def __getattr__(self, name: str) -> Any:
        return getattr(geometric, name)
