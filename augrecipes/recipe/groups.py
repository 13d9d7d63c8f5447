"""Checks of groups and of Degrade: they need steps, and a chance to run them."""

from __future__ import annotations

from augrecipes.ops import groups, registry
from augrecipes.recipe.context import Context
from augrecipes.recipe.degrade import check_degrade
from augrecipes.recipe.grammar import GROUPS
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.nodes import ListNode, MappingNode, Place, Scalar
from augrecipes.recipe.spelling import Fix

# The message of lint L504, which `document` notes beside old names.
_P = "always acts where no p is written; albumentations' {0} has p: 0.5 then: write `p: 0.5` for that"
_N = "runs all of its steps where no n is written; albumentations' {0} runs one then: write `n: 1` for that"


def check_group(context: Context, step: Step, body: MappingNode, place: Place) -> None:
    """Note what keeps a group, or a Degrade, from running."""
    listed = body.entries.get("steps")
    problems = context.problems
    if listed is None:
        problems.add("E310", place, f"needs steps, such as {step.name}: {{steps: [...]}}", step.name)
    elif isinstance(listed, ListNode) and not listed.items:
        problems.add("E310", listed.place, "has no steps", step.name)
    match step.name:
        case groups.ONE_OF:
            _weights(context, step, place)
        case groups.SOME_OF | groups.RANDOM_ORDER:
            _counts(context, step, body, len(listed.items) if isinstance(listed, ListNode) else 0)
        case groups.DEGRADE:
            check_degrade(context, step, body, place)


def _weights(context: Context, step: Step, place: Place) -> None:
    weights = [registry.chance(child) for child in step.steps]
    if weights and not any(weights):
        context.problems.add("E310", place, "every step has weight p: 0, so none can be drawn", step.name)


def _counts(context: Context, step: Step, body: MappingNode, size: int) -> None:
    replace = body.entries.get("replace")
    if replace is not None:
        context.value(replace, GROUPS[groups.SOME_OF]["properties"]["replace"], "E310", f"{step.name}.replace")
    count = body.entries.get("n")
    if count is None or not context.value(count, GROUPS[step.name]["properties"]["n"], "E310", f"{step.name}.n"):
        return
    again = isinstance(replace, Scalar) and replace.value is True
    if isinstance(count, Scalar) and size and count.value > size and not again:
        message = f"cannot draw {count.value} of {size} steps" + (
            " without replace: true" if step.name == groups.SOME_OF else ""
        )
        context.problems.add("E310", count.place, message, f"{step.name}.n")


def other_default(recipe: Recipe) -> tuple[Step, str, Fix] | None:
    """The first group that does something else than the same group of albumentations, how, and what undoes it."""
    for step in recipe.walk():
        if step.name in (groups.ONE_OF, groups.SEQUENTIAL) and step.p is None:
            return step, f"{step.name} {_P.format(step.name)}", Fix("set", "p: 0.5")
        if step.name == groups.RANDOM_ORDER and "n" not in step.args:
            return step, f"{step.name} {_N.format(step.name)}", Fix("set", "n: 1")
    return None
