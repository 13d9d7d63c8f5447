"""What is known of the image's size between the steps of a section: an interval of heights and one of widths."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from augrecipes.lint.arguments import arguments, chance
from augrecipes.ops import groups
from augrecipes.ops.capabilities import capability
from augrecipes.ops.sizes import UNKNOWN, SizeBounds
from augrecipes.recipe.model import Recipe, Step


def arriving(recipe: Recipe) -> SizeBounds:
    """What a recipe declares of its images; of a pair, of its coarsest target."""
    least = recipe.inputs.min_size
    return UNKNOWN if least is None else SizeBounds(least, (inf, inf), True)


def along(recipe: Recipe, steps: tuple[Step, ...]) -> Iterator[tuple[Step, SizeBounds, SizeBounds]]:
    """Each step of a section, with what is known of the size before it and after it."""
    size = arriving(recipe)
    for step in steps:
        before, size = size, after(step, size)
        yield step, before, size


def after(step: Step, size: SizeBounds) -> SizeBounds:
    """What is known after `step`, which may not act."""
    p = chance(step)
    if p <= 0:
        return size
    acted = acting(step, size)
    return acted if p >= 1 else acted.join(size)


def acting(step: Step, size: SizeBounds) -> SizeBounds:
    """What is known after `step` has acted."""
    match step.name:
        case groups.SEQUENTIAL:
            for child in step.steps:
                size = after(child, size)
            return size
        case groups.ONE_OF:
            ends = [acting(child, size) for child in step.steps if chance(child) > 0]
            return _joined(ends, size)
        case groups.SOME_OF | groups.RANDOM_ORDER:
            # Which children run, and in which order, is drawn: say something only where none changes the size.
            return size if all(after(child, size) == size for child in step.steps) else UNKNOWN
    record = capability(step.name)
    if record is None:
        return UNKNOWN
    return size if record.size is None else record.size(arguments(step), size)


def _joined(ends: list[SizeBounds], otherwise: SizeBounds) -> SizeBounds:
    if not ends:
        return otherwise
    whole = ends[0]
    for end in ends[1:]:
        whole = whole.join(end)
    return whole
