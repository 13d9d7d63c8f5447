"""Lines of a recipe that say no more than they must."""

from __future__ import annotations

from typing import Any

from augrecipes.bring.draft import Line
from augrecipes.ops import registry
from augrecipes.recipe.nodes import Place

_NOTHING = object()


def line(name: str, args: dict[str, Any], place: Place) -> Line:
    """A step, without the arguments that its class has anyway.

    >>> line("Blur", {"blur_limit": 5, "p": 0.5}, Place("c.yaml", 1, 1)).args
    {'blur_limit': 5}
    """
    takes = (registry.arguments(name) or {"properties": {}})["properties"]
    said = {key: value for key, value in args.items() if takes.get(key, {}).get("default", _NOTHING) != value}
    return Line(name, said, place)
