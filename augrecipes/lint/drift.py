"""Training beside an evaluation that was written by hand: what the lints of drift (L701 to L705) compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from augrecipes.lint.arguments import chance, is_neutral
from augrecipes.ops import groups
from augrecipes.ops.capabilities import capability
from augrecipes.ops.capability import IMAGE_ONLY
from augrecipes.recipe.model import Recipe, Step


def both(recipe: Recipe) -> Iterator[tuple[tuple[Step, ...], tuple[Step, ...]]]:
    """The steps of training and of evaluation, where both were written."""
    if recipe.eval is not None and not recipe.derived:
        yield recipe.steps, recipe.eval


def acting(steps: Iterable[Step]) -> Iterator[Step]:
    """Every step that may act, groups before their children; what makes a target in Degrade is no part of it."""
    for step in steps:
        if chance(step) > 0 and step.name != groups.DEGRADE:
            yield step
            yield from acting(step.steps)


def repaints(step: Step) -> bool:
    """Whether the step changes the values of pixels and nothing else."""
    record = capability(step.name)
    if record is None or record.action == "identity" or record.changes_dtype or record.resizes:
        return False
    return record.targets == IMAGE_ONLY and not is_neutral(step)
