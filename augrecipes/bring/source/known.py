"""Operators, functions, methods and constants of Python whose values are known, held within bounds."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from augrecipes.bring.source.values import Listed, Mapped, Maybe, UnknownValue
from augrecipes.ops.constants import BORDER, INTERPOLATION
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


# Modules by the names that people give them: where a snippet has no import, these tell.
USUAL = {
    "A": "albumentations", "alb": "albumentations", "albu": "albumentations", "albumentations": "albumentations",
    "T": "torchvision.transforms", "transforms": "torchvision.transforms", "tt": "torchvision.transforms",
    "tvt": "torchvision.transforms", "v2": "torchvision.transforms.v2", "torchvision": "torchvision", "cv2": "cv2",
    "np": "numpy", "numpy": "numpy", "math": "math", "torch": "torch", "Image": "PIL.Image",
    "InterpolationMode": "torchvision.transforms.InterpolationMode",
}  # fmt: skip

CONSTANTS: dict[str, Any] = {
    **{f"cv2.INTER_{name.upper()}": number for name, number in INTERPOLATION.items()},
    **{f"cv2.BORDER_{name.upper()}": number for name, number in BORDER.items()},
    "cv2.BORDER_REFLECT101": 4, "cv2.BORDER_DEFAULT": 4,
    "numpy.pi": math.pi, "math.pi": math.pi, "math.e": math.e, "math.tau": math.tau,
    **{f"PIL.Image.{where}{name}": number for where in ("", "Resampling.") for name, number in (
        ("NEAREST", 0), ("LANCZOS", 1), ("ANTIALIAS", 1), ("BILINEAR", 2), ("BICUBIC", 3), ("BOX", 4), ("HAMMING", 5))},
}  # fmt: skip
# Of timm, under whatever module: by the last name.
_IMAGENET = {
    "IMAGENET_DEFAULT_MEAN": (0.485, 0.456, 0.406), "IMAGENET_DEFAULT_STD": (0.229, 0.224, 0.225),
    "IMAGENET_INCEPTION_MEAN": (0.5, 0.5, 0.5), "IMAGENET_INCEPTION_STD": (0.5, 0.5, 0.5),
}  # fmt: skip
# What is written as its own name, for those who translate it.
_ENUMERATIONS = ("torchvision.transforms.InterpolationMode.", "torchvision.transforms.functional.InterpolationMode.",
                 "torchvision.transforms.v2.InterpolationMode.", "torch.float", "torch.uint", "torch.int",
                 "torch.half")  # fmt: skip
# Of albumentations' ImageCompression, which carried its enumeration about.
_COMPRESSIONS = (".ImageCompressionType.JPEG", ".ImageCompressionType.WEBP")


def constant(path: str) -> Any:
    """What a name of a module is.

    Raises:
        NotKnown: nothing that is known here.

    >>> constant("cv2.BORDER_REFLECT_101"), constant("torch.float32")
    (4, 'torch.float32')
    """
    if path in CONSTANTS:
        return CONSTANTS[path]
    last = path.rpartition(".")[2]
    if last in _IMAGENET and (path.startswith("timm.") or path == last):
        return _IMAGENET[last]
    if path.endswith(_COMPRESSIONS) and path.startswith("albumentations."):
        return last.lower()
    if path.startswith(_ENUMERATIONS):
        return path.removeprefix("torchvision.transforms.") if "InterpolationMode" in path else path
    raise NotKnown


def _array(values: Any, *_: Any, **__: Any) -> Any:
    return Listed(values, getattr(values, "at", NOWHERE)) if isinstance(values, list | tuple) else values


def _ordered(*args: Any, **named: Any) -> Mapped:
    given = args[0] if args else {}
    if len(args) > 1 or isinstance(given, UnknownValue):
        raise NotKnown
    pairs = given.items() if isinstance(given, Mapping) else [_pair(each) for each in items_of(given)]
    return Mapped({**dict(pairs), **named}, getattr(given, "at", NOWHERE), getattr(given, "born", 0))


def _pair(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, list | tuple) or len(value) != 2 or not isinstance(value[0], str | int | float | None):
        raise NotKnown
    return value[0], value[1]


def _range(*args: Any) -> Listed:
    try:
        found = range(*args)
    except (TypeError, ValueError):
        raise NotKnown from None
    if not -MOST_ITEMS <= (found.stop - found.start) // (found.step or 1) <= MOST_ITEMS:
        raise NotKnown
    return Listed(found)


def _len(value: Any) -> int:
    return len(value) if isinstance(value, str) else len(items_of(value))


def _zip(*values: Any) -> Listed:
    return Listed(zip(*map(items_of, values), strict=False))


def _bool(value: Any = False) -> bool:
    if isinstance(value, UnknownValue) or not isinstance(value, bool | int | float | str | list | tuple | dict | None):
        raise NotKnown
    return bool(value)


def _plainly(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **named: plain(function, *args, **named)


def _text(value: Any = "") -> str:
    if isinstance(value, list | tuple | dict):
        raise NotKnown
    return str(plain(str, value))


_LISTS: dict[str, Callable[..., Any]] = {
    "list": lambda value=(): Listed(items_of_any(value)),
    "tuple": lambda value=(): tuple(items_of_any(value)),
    "dict": _ordered, "range": _range, "len": _len, "zip": _zip, "bool": _bool, "str": _text,
    "enumerate": lambda value, start=0: Listed(enumerate(items_of(value), start)),
    "reversed": lambda value: Listed(items_of_any(value)[::-1]),
    "sorted": lambda value: Listed(plain(sorted, items_of(value))),
    "copy.copy": lambda value: value, "copy.deepcopy": lambda value: value,
    "numpy.array": _array, "numpy.asarray": _array, "torch.tensor": _array, "numpy.float32": _array,
    "numpy.float64": _array, "numpy.int32": _array,
}  # fmt: skip
_PLAIN = {name: _plainly(function) for name, function in {
    "int": int, "float": float, "min": min, "max": max, "abs": abs, "sum": sum,
    "any": any, "all": all, "divmod": divmod, "numpy.sqrt": math.sqrt, "numpy.ceil": math.ceil,
    "numpy.floor": math.floor, "numpy.deg2rad": math.radians, "numpy.rad2deg": math.degrees,
    **{f"math.{name}": getattr(math, name) for name in
       ("ceil", "floor", "sqrt", "log", "log2", "log10", "exp", "sin", "cos", "tan", "atan", "radians", "degrees")},
}.items()}  # fmt: skip
# Mappings with attributes, by the last name, whoever's they are.
MAPPINGS = frozenset({
    "OrderedDict", "EasyDict", "edict", "AttrDict", "Munch", "Box", "SimpleNamespace", "Namespace", "ConfigDict",
    "Dict", "DotMap", "Config", "defaultdict", "addict",
})  # fmt: skip


def _round(value: Any, digits: Any = None) -> Any:
    if digits is not None and not (isinstance(digits, int) and 0 <= digits <= 20):
        raise NotKnown
    return plain(round, value, digits)


FUNCTIONS: dict[str, Callable[..., Any]] = {**_LISTS, **_PLAIN, "round": _round, "numpy.round": _round}


def items_of_any(value: Any) -> list[Any]:
    """The items of a list, those that are there by chance as they are."""
    return list(value) if isinstance(value, list | tuple) else items_of(value)


_LONGEST = 2_000  # of a text that is worked on
_TEXT = ("lower", "upper", "strip", "startswith", "endswith", "replace", "split", "rstrip", "lstrip", "capitalize",
         "title", "removeprefix", "removesuffix")  # fmt: skip


def method(value: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """What a method that changes nothing gives.

    Raises:
        NotKnown: it has none that is known.

    >>> method("Train", "lower", [], {}), method({"a": 1}, "get", ["b", 2], {})
    ('train', 2)
    """
    match value, name:
        case str(), _ if len(value) + sum(len(each) for each in args if isinstance(each, str)) > _LONGEST:
            raise NotKnown
        case str(), _ if name in _TEXT:
            return plain(getattr(value, name), *args, **named)
        case str(), "join":
            return plain(value.join, *args)
        case Mapping(), "get" if args and isinstance(args[0], str | int | float | None):
            return value.get(args[0], args[1] if len(args) > 1 else None)
        case Mapping(), "items":
            return Listed(value.items())
        case Mapping(), "keys":
            return Listed(value.keys())
        case Mapping(), "values":
            return Listed(value.values())
        case Mapping(), "copy":
            return Mapped(value, getattr(value, "at", NOWHERE), getattr(value, "born", 0))
        case list(), "copy" | "tolist":
            return Listed(value, getattr(value, "at", NOWHERE), getattr(value, "born", 0))
        case ((int() | float() | tuple()), "item" | "tolist" | "astype"):
            return value
        case list(), "astype":
            return value
    raise NotKnown
