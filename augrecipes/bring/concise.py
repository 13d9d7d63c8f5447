"""What albumentations writes down of a transform, without what goes without saying.

`A.save` lists every argument, defaults too, and those that a class hands on to its parents; in a form that the class
itself does not always take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from augrecipes.bring.draft import Line
from augrecipes.errors import RecipeError
from augrecipes.ops import registry
from augrecipes.ops.constants import to_name
from augrecipes.ops.frozen import Arguments
from augrecipes.ops.step import Step
from augrecipes.recipe.today import ordered

_CLASS = "__class_fullname__"


def saved_of(made: Any) -> dict[str, Any]:
    """What albumentations writes down of a transform; also arguments that it leaves out because they are empty.

    >>> from augrecipes.compat.albumentations import A
    >>> saved_of(A.Blur(blur_limit=3, p=0.2))
    {'p': 0.2, 'blur_limit': [3, 3]}
    """
    found = {key: _lists(value) for key, value in made.to_dict_private().items() if key != _CLASS}
    takes = (registry.arguments(type(made).__name__) or {"properties": {}})["properties"]
    empty: dict[str, Any] = {key: [] for key in takes if key not in found and getattr(made, key, None) in ((), [])}
    return found | empty


def shorten(line: Line) -> None:
    """Leave out arguments that make no difference: a class's own defaults, and what follows from the others."""
    schema = registry.arguments(line.name) or {"properties": {}}
    takes = schema["properties"]
    given = {key: taken(value, line.args) for key, value in line.args.items()}
    known = {key: value for key, value in given.items() if key in takes}
    whole = _rebuilt(line.name, known)
    if whole is None:
        return  # the check of the draft says why
    for key in [key for key in known if key not in schema.get("required", ())]:
        fewer = {other: value for other, value in known.items() if other != key}
        if _rebuilt(line.name, fewer) == whole:
            known = fewer
    for key, value in tuple(known.items()):
        if key not in known:  # one of two axes that are written as one
            continue
        fewer = {other: known[other] for other in known if other not in (key, f"{key[:-1]}y")}
        names = (key[:-2], key) if key.endswith("_x") and known.get(f"{key[:-1]}y") == value else (key,)
        for name, written in product(names, (*_as_written(value), value)):
            one = {**fewer, name: written} if name != key else {**known, key: written}
            if name in takes and _rebuilt(line.name, one) == whole:
                known = one
                break
    others = {key: value for key, value in given.items() if key not in takes and whole.get(key, ...) != line.args[key]}
    line.args = ordered(line.name, known | others)


def taken(value: Any, args: Mapping[str, Any]) -> Any:
    """A value that was written down as one that the class takes.

    Ranges of a negative number are written with the larger end first, and in a mapping arguments beside it are
    repeated.
    """
    match value:
        case [int() | float() as low, int() | float() as high] if low == -high > high:
            return high
        case Mapping():
            return {key: item for key, item in value.items() if args.get(key, ...) != item}
    return value


def _as_written(value: Any) -> Iterator[Any]:
    """A value as people write it: round numbers, one for a whole range, and one for both axes.

    >>> list(_as_written([-0.050000000000000044, 0.050000000000000044])), list(_as_written([-15.0, 15.0]))
    ([0.05, [-0.05, 0.05]], [15, [-15, 15]])
    """
    match value:
        case {"x": x, "y": y} if x == y and len(value) == 2:
            yield from _as_written(x)
        case [int() | float(), int() | float()]:
            low, high = (float(f"{end:.12g}") if isinstance(end, float) else end for end in value)
            whole = float(low).is_integer() and float(high).is_integer()
            if whole and (max(-low, high) > 1 or isinstance(value[1], int)):
                low, high = int(low), int(high)
            if low in (0, 1, -high, high):
                yield high
            elif low + high == 2:
                yield round(high - 1, 12)
            yield [low, high]


def _rebuilt(name: str, args: Mapping[str, Any]) -> dict[str, Any] | None:
    """What albumentations writes down of a transform with these arguments; None: there is none."""
    own = {key: value for key, value in args.items() if key not in registry.RESERVED}
    try:
        made = saved_of(registry.plain(Step(name, Arguments(own), p=args.get("p"))))
    except (RecipeError, TypeError, ValueError):
        return None
    return {key: to_name(key, value) for key, value in made.items()}


def _lists(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_lists(item) for item in value]
    return {key: _lists(item) for key, item in value.items()} if isinstance(value, dict) else value
