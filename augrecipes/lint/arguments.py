"""A step's arguments as they take effect."""

from __future__ import annotations

from collections.abc import Iterator

from augrecipes.ops.intervals import interval
from augrecipes.ops.ranges import is_neutral, makes_draws
from augrecipes.ops.registry import chance
from augrecipes.ops.registry import effective as arguments
from augrecipes.recipe.model import Recipe, Step

__all__ = ["arguments", "chance", "interval", "is_neutral", "makes_draws", "sections", "siblings"]


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
