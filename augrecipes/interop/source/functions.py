"""Python's operators, functions and methods on known values, with limits on the size of results."""

import ast
import builtins
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from augrecipes.interop.budget import spend
from augrecipes.interop.draft import FOREIGN
from augrecipes.interop.source import values
from augrecipes.interop.source.values import Mapped, NotKnown

MOST_ITEMS = 10_000  # of a created list or text
_LARGEST = 2**63
_LONGEST = 2_000  # characters of a text whose methods are called
Key = str | int | float | None  # keys of mappings

# The function in `operator` of each operator node.
OPERATORS = {getattr(ast, node): getattr(operator, name) for node, name in FOREIGN["python"]["operators"].items()}
OPERATORS |= {ast.In: lambda item, owner: item in owner, ast.NotIn: lambda item, owner: item not in owner}
FAILURES = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


def is_plain(value: Any) -> bool:
    """Whether a value is fully known at all depths, and not too large."""
    left = [value]
    for item in left:
        spend()
        if isinstance(item, Mapping):
            left += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            left += item
        elif isinstance(item, str):
            left += [None] * (len(item) // 64)  # so long a piece counts as one
        elif not isinstance(item, Key):
            return False
        if len(left) > MOST_ITEMS:
            return False
    return True


def truth(value: Any) -> bool:
    """The truth value of a known value.

    Raises:
        NotKnown: the value is unknown.
    """
    if isinstance(value, values.Created | values.Function | values.Class | values.Partial):
        return True
    if not isinstance(value, Key | tuple | list | Mapping):
        raise NotKnown(value)
    return bool(value)


def binary(op: ast.operator, left: Any, right: Any) -> Any:
    """The result of a binary operator.

    Raises:
        NotKnown: the operator fails, or the result is too large.

    >>> binary(ast.Add(), (1, 2), (3,)), binary(ast.FloorDiv(), 7, 2)
    ((1, 2, 3), 3)
    """
    if isinstance(op, ast.BitOr) and isinstance(left, Mapping) and isinstance(right, Mapping):
        return bounded(Mapped, {**left, **right})
    several = [each for each in (left, right) if isinstance(each, str | list | tuple)]
    if isinstance(op, ast.Mult) and several:
        times = right if several[0] is left else left
        fits = isinstance(times, int) and len(several[0]) * max(times, 0) <= MOST_ITEMS
    elif isinstance(op, ast.Add) and len(several) == 2:
        fits = len(left) + len(right) <= MOST_ITEMS
    else:
        fits = isinstance(left, int | float) and isinstance(right, int | float)
        fits = fits and not (isinstance(op, ast.Pow | ast.LShift) and (abs(right) > 64 or abs(left) > 1e6))
    if not fits or type(op) not in OPERATORS:
        raise NotKnown(left, right)
    return bounded(OPERATORS[type(op)], left, right)


def unary(op: ast.unaryop, value: Any) -> Any:
    """The result of a unary operator."""
    return not truth(value) if isinstance(op, ast.Not) else plain(OPERATORS[type(op)], value)


def joined(*parts: Any) -> str:
    """The text of an f-string from its parts."""
    if not all(isinstance(each, int | float | str) and len(str(each)) <= 200 for each in parts):
        raise NotKnown(*parts)
    return bounded("".join, map(str, parts))


def compared(op: ast.cmpop, left: Any, right: Any) -> bool:
    """The result of a comparison; NotKnown if it depends on unknown values."""
    if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and (left is None or right is None):
        if isinstance(right if left is None else left, values.OutsideName | values.UnknownValue):
            raise NotKnown(left, right)
        return (left is right) == isinstance(op, ast.Is | ast.Eq)
    has_keys = isinstance(left, Key) and isinstance(right, Mapping) and None not in right
    if has_keys and isinstance(op, ast.In | ast.NotIn):  # keys are known even if values are not
        return (left in right) == isinstance(op, ast.In)
    return bool(plain(OPERATORS[type(op)], left, right))


def plain(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call one of Python's own functions on known values.

    Raises:
        NotKnown: an argument is unknown, the call fails, or the result is too large.
    """
    if not (is_plain(args) and is_plain(named)):
        raise NotKnown(*args)
    return bounded(function, *args, **named)


def bounded(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """The return value of a function; NotKnown if it fails, or the result is too large."""
    try:
        result = function(*args, **named)
    except FAILURES:
        raise NotKnown(*args) from None
    match result:
        case bool() | None:
            return result
        case int() if abs(result) < _LARGEST:
            return result
        case float() if math.isfinite(result):
            return result
        case str() | tuple() | list() | dict() if len(result) <= MOST_ITEMS:
            spend(len(result) // 8)
            return result
    raise NotKnown(*args)


def items_of(value: Any) -> list[Any]:
    """The items of an iterable as a list.

    Raises:
        NotKnown: the value is unknown, no iterable, or too long.
    """
    if not isinstance(value, list | tuple | Mapping | str | range) or len(value) > MOST_ITEMS:
        raise NotKnown(value)
    spend(len(value))
    return list(value)


def pairs_of(value: Any) -> dict[Any, Any]:
    """A mapping from pairs of keys and values; NotKnown for anything else."""
    pairs: list[Any] = items_of(value)
    if not all(isinstance(each, list | tuple) and len(each) == 2 and isinstance(each[0], Key) for each in pairs):
        raise NotKnown(value)
    return dict(pairs)


def _round(value: Any, digits: Any = None) -> Any:
    if digits not in (None, *range(21)):
        raise NotKnown(digits)
    return plain(round, value, digits)


def _text(value: Any = "") -> str:
    if not isinstance(value, Key):
        raise NotKnown(value)
    return str(value)


def _plainly(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **named: plain(function, *args, **named)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "list": lambda value=(): items_of(value), "tuple": lambda value=(): tuple(items_of(value)),
    "len": lambda value: len(items_of(value)), "bool": lambda value=False: truth(value), "str": _text,
    "range": lambda *a: items_of(range(*a)), "zip": lambda *several: list(zip(*map(items_of, several), strict=False)),
    "enumerate": lambda value, start=0: list(enumerate(items_of(value), start)),
    "reversed": lambda value: items_of(value)[::-1], "sorted": lambda value: plain(sorted, items_of(value)),
    "copy.copy": lambda value: value, "copy.deepcopy": lambda value: value, "round": _round, "numpy.round": _round,
    **dict.fromkeys(("numpy.array", "numpy.asarray", "torch.tensor", "numpy.float32", "numpy.float64", "numpy.int32"),
                    lambda value, *_, **__: items_of(value) if isinstance(value, list | tuple) else value),
    **{name: _plainly(getattr(builtins, name)) for name in FOREIGN["python"]["builtins"]},
    **{f"numpy.{name}": _plainly(getattr(math, same)) for name, same in FOREIGN["python"]["numpy"].items()},
    **{f"math.{name}": _plainly(getattr(math, name)) for name in FOREIGN["python"]["math"]},
}  # fmt: skip
MAPPINGS = frozenset(FOREIGN["python"]["mappings"])  # classes of mappings with attributes, of any package
_METHODS: dict[type, list[str]] = {kind: FOREIGN["python"]["methods"][kind.__name__] for kind in (list, dict, str)}
_OF_ARRAYS = ("item", "tolist", "astype")  # methods of arrays, for which lists and numbers stand


def method(name: str, owner: Any, *args: Any, **named: Any) -> Any:
    """The return value of a method of a text, list, mapping or array (a list here).

    Raises:
        NotKnown: the method or an argument is unknown, or the result is too large.

    >>> method("lower", "Train"), method("get", {"a": 1}, "b", 2)
    ('train', 2)
    """
    if isinstance(owner, list | tuple | int | float) and name in _OF_ARRAYS:
        return items_of(owner) if isinstance(owner, list) else owner
    kind = next((each for each in _METHODS if isinstance(owner, each)), None)
    if kind is None or name not in _METHODS[kind] or (kind is dict and not isinstance(args[0] if args else "", Key)):
        raise NotKnown(owner, *args)
    if kind is str:
        if len(owner) + sum(len(each) for each in args if isinstance(each, str)) > _LONGEST:
            raise NotKnown(owner, *args)
        return plain(getattr(owner, name), *args, **named)
    if name == "extend" and not isinstance(args[0] if args else (), list | tuple):
        name = "append"  # an unknown list becomes one unknown item
    if len(owner) + len(args[0] if name == "extend" and args else args) > MOST_ITEMS:
        raise NotKnown(*args)
    spend(len(args[0]) if name == "extend" and args else 1)
    try:
        result = getattr(owner, name)(*args, **named)
    except FAILURES:
        raise NotKnown(*args) from None
    if name == "copy":
        return bounded(type(owner), result)
    return items_of([*result]) if kind is dict and name in ("items", "keys", "values") else result


def called(function: Callable[..., Any], args: Sequence[Any], named: Mapping[Any, Any]) -> Any:
    """The return value of a function; NotKnown if it fails on these arguments."""
    try:
        return function(*args, **named)
    except FAILURES:
        raise NotKnown(*args, *named.values()) from None


def item_of(owner: Any, key: Any) -> Any:
    """An item or slice of a known value."""
    if isinstance(owner, dict) and isinstance(key, Key) and key in owner:
        return owner[key]
    if isinstance(owner, str | list | tuple) and len(owner) <= MOST_ITEMS:
        if isinstance(key, int) and -len(owner) <= key < len(owner):
            return owner[key]
        if isinstance(key, slice) and all(isinstance(end, int | None) for end in (key.start, key.stop, key.step)):
            return bounded(owner.__getitem__, key)
    raise NotKnown(owner, key)
