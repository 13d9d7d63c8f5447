"""Lines of a recipe that say no more than they must."""

from __future__ import annotations

from typing import Any

from augrecipes.bring.draft import Item, Line
from augrecipes.bring.last import behind
from augrecipes.ops import registry
from augrecipes.recipe.nodes import Place

_NOTHING = object()


def acting(group: Line) -> list[Item]:
    """A group; what is left out of it, where nothing else is in it."""
    inside = group.steps or []
    return [group] if any(isinstance(item, Line) for item in inside) else inside


def placed_behind(item: Item, output: dict[str, Any]) -> list[Item]:
    """What stood behind the normalisation as it is in front of it; of a group, what is left of it."""
    found = behind(item, output)
    return acting(found) if isinstance(found, Line) and found.steps is not None else [found]


def line(name: str, args: dict[str, Any], place: Place) -> Line:
    """A step, without the arguments that its class has anyway.

    >>> line("Blur", {"blur_limit": 5, "p": 0.5}, Place("c.yaml", 1, 1)).args
    {'blur_limit': 5}
    """
    takes = (registry.arguments(name) or {"properties": {}})["properties"]
    said = {key: value for key, value in args.items() if takes.get(key, {}).get("default", _NOTHING) != value}
    return Line(name, said, place)
