"""Kind pair: the grids of the targets, and the crops that must fit all of them."""

from __future__ import annotations

from fractions import Fraction

from augrecipes.ops import registry
from augrecipes.recipe.context import Context
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.nodes import Table, describe
from augrecipes.recipe.outputs import KEYS

# Arguments that count pixels of windows, by class; a pair of them may stand in one list.
_WINDOW = {
    "RandomCrop": ("height", "width"),
    "CenterCrop": ("height", "width"),
    "CropNonEmptyMaskIfExists": ("height", "width"),
    "AtLeastOneBBoxRandomCrop": ("height", "width"),
    "Crop": ("x_min", "y_min", "x_max", "y_max"),
}
# Keys of samples and of `output:` that no target may take.
_TAKEN = {"mask", "boxes", "box_labels", "keypoints", "label", "index", "path", "bag", "coords", "applied", *KEYS}
_LARGEST_SCALE = 64


def build_scales(context: Context, top: Table) -> dict[str, int]:
    """The relative grid of each target."""
    node = top.entries.get("scales")
    problems = context.problems
    if node is None:
        if context.kind == "pair":
            problems.add("E403", top.at.get("kind", top.place), "a pair needs scales, such as {lr: 1, hr: 4}", "scales")
        return {}
    if not isinstance(node, Table):
        problems.add("E403", node.place, f"must be a mapping such as {{lr: 1, hr: 4}}, got {describe(node)}", "scales")
        return {}
    scales: dict[str, int] = {}
    schema = {"type": "integer", "minimum": 1, "maximum": _LARGEST_SCALE}
    for key, place, value in node.pairs():
        if not key.isidentifier():
            problems.add("E403", place, f"a target's name is a Python name, got {key!r}", "scales")
        elif key in _TAKEN:
            problems.add("E403", place, f"{key!r} means something else in a sample; choose another name", "scales")
        elif context.value(value, schema, "E403", f"scales.{key}"):
            scales[key] = int(value.value)  # type: ignore[union-attr]
    if context.kind == "pair" and len(node.entries) < 2:
        problems.add("E403", node.place, "a pair has two targets or more", "scales")
    return scales


def check_grid(context: Context, recipe: Recipe) -> None:
    """Note the shared crops that are no whole number of pixels on some target."""
    scales = context.scales
    if len(scales) < 2 or min(scales.values()) < 1:
        return
    for section in (recipe.steps, recipe.eval or ()):
        for step in section:
            _check_step(context, step, scales)


def _check_step(context: Context, step: Step, scales: dict[str, int]) -> None:
    if step.name == "Degrade":
        return  # its steps run on one target
    for child in step.steps:
        _check_step(context, child, scales)
    shared = step.target or tuple(scales)
    if len(shared) < 2 and step.at in (None, *shared):
        return
    at = step.at or min(shared, key=lambda name: scales[name])
    for argument in _WINDOW.get(step.name, ()):
        value = step.args.get(argument)
        if argument not in step.args:
            value = registry.effective(step).get(argument) if step.name == "Crop" else None
        if isinstance(value, bool) or not isinstance(value, int):
            continue
        _check_number(context, step, argument, value=value, at=at, scales={name: scales[name] for name in shared})


def _check_number(context: Context, step: Step, argument: str, *, value: int, at: str, scales: dict[str, int]) -> None:
    for target, scale in scales.items():
        if Fraction(value * scale, context.scales[at]).denominator != 1:
            unit = Fraction(context.scales[at], scale).numerator
            lower = value // unit * unit
            near = f"{lower} or {lower + unit}" if lower else f"{unit}"
            place = step.places.get(argument, step.position)
            exact = Fraction(value * scale, context.scales[at])
            message = (
                f"{value} px of {at} are {float(exact):g} px of {target}; use a multiple of {unit}, such as {near}"
            )
            context.problems.add("E313", context.place(place), message, f"{step.name}.{argument}")
            return
