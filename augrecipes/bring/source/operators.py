"""Operators and plain functions of Python on values that are known, held within bounds."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from augrecipes.bring.source.values import Listed, Mapped, Maybe
from augrecipes.recipe.nodes import NOWHERE

MOST_ITEMS = 10_000  # of a list or a text that is made
_LARGEST = 2**63


class NotKnown(Exception):  # noqa: N818 - a finding: the value cannot be told
    """What an expression cannot be told to be."""


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert,
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda item, held: item in held, ast.NotIn: lambda item, held: item not in held,
}  # fmt: skip
_FAILURES = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


def is_plain(value: Any) -> bool:
    """Whether a value is wholly known, as deep as it goes within bounds."""
    left = [value]
    for count, item in enumerate(left):
        if count > MOST_ITEMS:
            return False
        if isinstance(item, Mapping):
            left += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            left += item
        elif item is not None and not isinstance(item, bool | int | float | str):
            return False
    return True


def binary(op: ast.operator, left: Any, right: Any) -> Any:
    """Two values under an operator.

    Raises:
        NotKnown: they do not go together, or what comes out is too large.

    >>> binary(ast.Add(), (1, 2), (3,)), binary(ast.Mod(), "%d px", 3)
    ((1, 2, 3), '3 px')
    """
    both = (left, right)
    if isinstance(op, ast.Mult) and any(isinstance(each, str | list | tuple) for each in both):
        held, times = both if isinstance(right, int) else (right, left)
        if not isinstance(times, int) or len(held) * max(times, 0) > MOST_ITEMS:
            raise NotKnown
    elif isinstance(op, ast.Add) and all(isinstance(each, str | list | tuple) for each in both):
        if len(left) + len(right) > MOST_ITEMS:
            raise NotKnown
    elif isinstance(op, ast.Mod) and isinstance(left, str):
        if not is_plain(right) or len(left) > 200 or any(sign in left for sign in "*0123456789"):
            raise NotKnown
    elif isinstance(op, ast.BitOr) and all(isinstance(each, Mapping) for each in both):
        return Mapped({**left, **right}, getattr(left, "at", NOWHERE), getattr(left, "born", 0))
    elif not all(isinstance(each, int | float) for each in both) or (
        isinstance(op, ast.Pow | ast.LShift) and (abs(right) > 64 or abs(left) > 1e6)
    ):
        raise NotKnown
    return _held(BINARY.get(type(op)), left, right)


def plain(function: Callable[..., Any] | None, *args: Any, **named: Any) -> Any:
    """A function of Python's own on known values.

    Raises:
        NotKnown: an argument is not known, it fails, or what comes out is too large.
    """
    if not (is_plain(args) and is_plain(named)):
        raise NotKnown
    return _held(function, *args, **named)


def _held(function: Callable[..., Any] | None, *args: Any, **named: Any) -> Any:
    if function is None:
        raise NotKnown
    try:
        found = function(*args, **named)
    except _FAILURES:
        raise NotKnown from None
    match found:
        case bool() | None:
            return found
        case int() if abs(found) < _LARGEST:
            return found
        case float() if math.isfinite(found):
            return found
        case str() | tuple() | Listed() | Mapped() if len(found) <= MOST_ITEMS:
            return found
        case list() if len(found) <= MOST_ITEMS:
            first = args[0] if args else None
            return Listed(found, getattr(first, "at", NOWHERE), getattr(first, "born", 0))
    raise NotKnown


def items_of(value: Any) -> list[Any]:
    """The items of what can be gone through.

    Raises:
        NotKnown: they are not known.
    """
    if isinstance(value, Mapping | str):
        value = list(value)
    if not isinstance(value, list | tuple | range) or len(value) > MOST_ITEMS:
        raise NotKnown
    if any(isinstance(item, Maybe) for item in value):
        raise NotKnown
    return list(value)
