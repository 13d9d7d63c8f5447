"""Arguments by position: what each was called, in today's order or in that of earlier releases of albumentations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from augrecipes.ops import registry
from augrecipes.ops.groups import GROUPS, ONE_OR_OTHER
from augrecipes.recipe import releases
from augrecipes.recipe.arguments import check_value
from augrecipes.recipe.history import CLASSES, FLIP
from augrecipes.recipe.nodes import Place, from_value


def names(cls: str, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[str, ...]:
    """What arguments by position are called; fewer names than arguments, where the class never took as many.

    >>> names("RandomResizedCrop", [224, 224], {}), names("RandomResizedCrop", [[224, 224]], {})
    (('height', 'width'), ('size',))
    """
    schema = registry.arguments(cls)
    earlier = releases.PLACES.get(cls, "").split()
    if schema is None and cls not in CLASSES:
        known = earlier or cls in (*GROUPS, ONE_OR_OTHER, FLIP)
        return (*earlier, *(() if "p" in earlier else ("p",)))[: len(args)] if known else ()
    if schema is None:
        return (*earlier, "always_apply", "p")[: len(args)]
    takes = schema["properties"]
    today = [*(key for key in takes if key != "p"), "p"]
    earlier = earlier or today[:-1]
    fits = len(args) <= len(today) and not any(key in earlier and key not in takes for key in named)
    if not (fits and all(_takes(takes[key], value) for key, value in zip(today, args, strict=False))):
        return (*earlier, "always_apply", "p")[: len(args)]
    return tuple(today[: len(args)])


def _takes(schema: Any, value: Any) -> bool:
    try:
        return not check_value(schema, from_value(value, Place()))
    except TypeError:
        return True  # what is not known fits
