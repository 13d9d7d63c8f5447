"""Kind pair: the grids of the targets, and what steps may say of them."""

from __future__ import annotations

import keyword
from math import gcd
from typing import Any

from augrecipes.ops import groups, registry
from augrecipes.ops.capabilities import capability
from augrecipes.recipe.context import Context
from augrecipes.recipe.degrade import check_order
from augrecipes.recipe.grammar import OUTPUT, SCALES
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.nodes import MappingNode, describe

# Keys of samples and of `output:` that no target may take.
_TAKEN = {
    "image", "images", "mask", "masks", "boxes", "bboxes", "box_labels", "keypoints", "label", "index", "path", "bag",
    "coords", "applied", "window", "weight", "split", "group", "out", "force_apply", "self",
    *OUTPUT["properties"], *keyword.kwlist,
}  # fmt: skip


def build_scales(context: Context, top: MappingNode) -> dict[str, int]:
    """The relative grid of each target."""
    node = top.entries.get("scales")
    problems = context.problems
    if node is None:
        if context.facts.scales:
            problems.add("E403", top.at.get("kind", top.place), "a pair needs scales, such as {lr: 1, hr: 4}", "scales")
        return {}
    if not isinstance(node, MappingNode):
        problems.add("E403", node.place, f"must be a mapping such as {{lr: 1, hr: 4}}, got {describe(node)}", "scales")
        return {}
    scales: dict[str, int] = {}
    for key, place, value in node.pairs():
        if not key.isidentifier():
            problems.add("E403", place, f"a target's name is a Python name, got {key!r}", "scales")
        elif key in _TAKEN:
            problems.add("E403", place, f"{key!r} means something else in a sample; choose another name", "scales")
        elif context.value(value, SCALES["additionalProperties"], "E403", f"scales.{key}"):
            scales[key] = int(value.value)  # type: ignore[union-attr]
    if context.facts.scales and len(node.entries) < SCALES["minProperties"]:
        problems.add("E403", node.place, "a pair has two targets or more", "scales")
    return scales


def check_steps(context: Context, recipe: Recipe) -> None:
    """Note what steps say of targets that cannot be: crops off the common grid, targets outside their group's, ..."""
    if len(context.scales) < 2:
        return
    for section in (recipe.steps, recipe.eval or ()):
        check_order(context, section)
        for step in section:
            if step.name != groups.DEGRADE:  # its steps run on one target
                _check_step(context, step, ())


def _check_step(context: Context, step: Step, inherited: tuple[str, ...]) -> None:
    foreign = [name for name in step.target if inherited and name not in inherited]
    if foreign:
        message = f"names {', '.join(foreign)}, but the group around it is limited to {', '.join(inherited)}"
        place = context.place(step.places.get("target", step.position))
        context.problems.add("E309", place, message, f"{step.name}.target")
    target = step.target or inherited
    for child in step.steps:
        _check_step(context, child, target)
    record = capability(step.name)
    counted = record.pixels if record is not None else ()
    if step.at is not None and not counted:
        where = "on the steps inside" if step.is_group else f"on a step that counts pixels; {step.name} does not"
        place = context.place(step.places.get("at", step.position))
        context.problems.add("E309", place, f"'at' stands {where}", f"{step.name}.at")
        return
    shared = target or tuple(context.scales)
    at = step.at or min(shared, key=context.scales.__getitem__)
    if len(shared) > 1 or at not in shared:
        values = registry.effective(step) if counted else {}
        for argument in counted:
            _check_numbers(context, step, argument, values.get(argument), at)


def _check_numbers(context: Context, step: Step, argument: str, value: Any, at: str) -> None:
    """Every number of pixels is a whole number of cells of the coarsest grid that all targets have in common."""
    if isinstance(value, list | tuple):
        for item in value:
            _check_numbers(context, step, argument, item, at)
        return
    scales = context.scales
    unit = scales[at] // gcd(*scales.values())
    if isinstance(value, bool) or not isinstance(value, int) or value % unit == 0:
        return
    target = next(name for name, scale in scales.items() if value * scale % scales[at])
    lower = value // unit * unit
    near = f"{lower} or {lower + unit}" if lower else f"{unit}"
    message = (
        f"{value} px of {at} are {value * scales[target] / scales[at]:g} px of {target}; use a multiple of {unit}, "
        f"such as {near}"
    )
    place = step.places.get(argument, step.position)
    context.problems.add("E313", context.place(place), message, f"{step.name}.{argument}")
