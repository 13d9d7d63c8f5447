"""L5: what others will misread."""

from __future__ import annotations

from collections.abc import Mapping

from augrecipes.lint.record import Finding, Findings, rule
from augrecipes.lint.walk import sections, siblings
from augrecipes.ops import groups
from augrecipes.ops.constants import TABLES, to_name
from augrecipes.ops.ranges import makes_draws
from augrecipes.ops.registry import chance
from augrecipes.recipe.checks import other_default
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.problems import Fix


@rule("L501", "integer-constant")
def integer_constant(recipe: Recipe) -> Findings:
    """Interpolations and border modes given as OpenCV's numbers."""
    for step in recipe.walk():
        for argument in TABLES:
            value = step.args.get(argument)
            for number in value.values() if isinstance(value, Mapping) else [value]:
                name = None if isinstance(number, bool) else to_name(argument, number)
                if isinstance(number, int) and isinstance(name, str):
                    message = f"write `{name}` for {step.name}.{argument}, not OpenCV's {number}"
                    fixes = () if isinstance(value, Mapping) else (Fix("set", f"{argument}: {name}"),)
                    yield Finding(message, step, argument, fixes)


@rule("L502", "implicit-weights")
def implicit_weights(recipe: Recipe) -> Findings:
    """OneOf groups with unequal weights, at least one of which is a class's default."""
    for group in recipe.walk():
        weights = [chance(child) for child in group.steps]
        if group.name != groups.ONE_OF or len(set(weights)) < 2 or all(child.p is not None for child in group.steps):
            continue
        total = sum(weights)
        odds = ", ".join(f"{step.name} {weight / total:.0%}" for step, weight in zip(group.steps, weights, strict=True))
        yield Finding(f"in OneOf a child's p is its weight, and defaults differ ({odds}); give every child a p", group)


@rule("L503", "equal-steps")
def equal_steps(recipe: Recipe) -> Findings:
    """The second and later steps of one name, without id, in one list."""
    for steps in (steps for section in sections(recipe) for steps in siblings(section)):
        seen: dict[str, int] = {}
        for step in steps:
            if step.id is not None or not _random(step):
                continue
            count = seen[step.name] = seen.get(step.name, 0) + 1
            if count > 1:
                times = {2: "twice", 3: "three times"}.get(count, "several times")
                changes = "adding or removing one changes the random parameters of the others"
                yield Finding(f"{step.name} stands here {times}; give each an `id`, or {changes}", step)


def _random(step: Step) -> bool:
    return 0 < chance(step) < 1 or step.is_group or makes_draws(step)


@rule("L504", "group-defaults")
def group_defaults(recipe: Recipe) -> Findings:
    """The first group of another default, where OpenCV's integers show that the recipe came from albumentations."""
    found = other_default(recipe) if any(integer_constant(recipe)) else None
    if found:
        step, message, fix = found
        yield Finding(message, step, fixes=(fix,))
