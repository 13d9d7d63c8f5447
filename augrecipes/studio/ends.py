"""Both ends of ranges that a recipe gives as one number: what the class makes of it, for sliders."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from augrecipes.errors import AugrecipesError
from augrecipes.ops import registry
from augrecipes.ops.step import Step


def ends_of(step: Step | None, name: str, value: Any) -> dict[str, list[float]]:
    """`{"ends": [least, most]}` of an argument that is written as a number and means a range; else empty.

    >>> from augrecipes.ops.frozen import Arguments
    >>> ends_of(Step("ColorJitter", Arguments({"brightness": 0.2})), "brightness", 0.2)
    {'ends': [0.8, 1.2]}
    >>> ends_of(Step("HorizontalFlip"), "p", 0.5)
    {}
    """
    if step is None or step.steps or type(value) not in (int, float):
        return {}
    found = _ranges(step).get(name)
    return {} if found is None else {"ends": list(found)}


@lru_cache(maxsize=512)
def _ranges(step: Step) -> dict[str, tuple[float, float]]:
    """What the class keeps of the arguments that are given: those that have become two numbers."""
    try:
        made = registry.construct(step)
    except AugrecipesError:
        return {}
    found: dict[str, tuple[float, float]] = {}
    for name in step.args.plain():
        match getattr(made, name, None):
            case (int() | float() as least, int() | float() as most):
                found[name] = least, most
    return found
