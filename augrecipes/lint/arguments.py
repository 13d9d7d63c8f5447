"""A step's arguments as they take effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from augrecipes.ops import registry
from augrecipes.ops.ranges import interval, is_neutral, makes_draws
from augrecipes.recipe.model import Recipe, Step

__all__ = ["arguments", "chance", "interval", "is_neutral", "makes_draws", "sections", "siblings"]


def arguments(step: Step) -> dict[str, Any]:
    """Arguments with the class's defaults merged, constants by name, `p` included."""
    return registry.effective(step)


def chance(step: Step) -> float:
    """The effective `p` of a step or group."""
    return registry.default_p(step.name) if step.p is None else float(step.p)


def sections(recipe: Recipe) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """The sections of a recipe that it has, by name."""
    yield "steps", recipe.steps
    if recipe.eval is not None:
        yield "eval", recipe.eval


def siblings(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """The list itself, and every group's list of children inside it."""
    yield steps
    for step in steps:
        if step.steps:
            yield from siblings(step.steps)
