"""L602: an interpolation that blends the class ids of a mask."""

from __future__ import annotations

from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.constants import to_name
from augrecipes.recipe.model import Recipe

_KEEPS_IDS = frozenset({"nearest", "nearest_exact"})


def check(recipe: Recipe) -> Findings:
    """`mask_interpolation` other than nearest."""
    if recipe.inputs.mask == "absent" or not recipe.facts.annotated:
        return
    for step in recipe.walk():
        value = step.args.get("mask_interpolation")
        if value is not None and to_name("mask_interpolation", value) not in _KEEPS_IDS:
            name = to_name("mask_interpolation", value)
            message = f"`{name}` blends the ids of a mask into classes that are not there; leave it at `nearest`"
            yield Finding(message, step, "mask_interpolation")


LINT = Lint(
    "L602",
    "mask-interpolation",
    check,
    why="Between class 1 and class 3 a linear interpolation writes class 2.",
    fix="Leave `mask_interpolation` out, or write `nearest`.",
    diff="""
 inputs: {mask: required}
 steps:
-  - RandomResizedCrop: {size: [64, 64], mask_interpolation: linear}
+  - RandomResizedCrop: {size: [64, 64]}
 eval: []
""",
)
