"""L203: a crop that is larger than what arrives at it."""

from __future__ import annotations

from augrecipes.lint.arguments import arguments, chance
from augrecipes.lint.grids import on_one_grid
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.lint.sizes import after, along
from augrecipes.ops.capabilities import claims
from augrecipes.ops.groups import SEQUENTIAL
from augrecipes.ops.sizes import SizeBounds
from augrecipes.recipe.model import Recipe, Step


def check(recipe: Recipe) -> Findings:
    """Crops without padding that a declared or computed size cannot hold. Undeclared sizes are not guessed at."""
    coarsest = min(recipe.scales, key=recipe.scales.__getitem__, default="")
    unit = f"px of {coarsest}" if coarsest else "px"
    for _, steps in on_one_grid(recipe):
        for step, size, _ in along(recipe, steps):
            yield from _inside(step, size, unit)


def _inside(step: Step, size: SizeBounds, unit: str) -> Findings:
    if step.is_group:
        for child in step.steps:
            yield from _inside(child, size, unit)
            if step.name == SEQUENTIAL:
                size = after(child, size)
        return
    if chance(step) <= 0 or not claims(step.name).cuts_sides:
        return
    values = arguments(step)
    if values.get("pad_if_needed"):
        return
    for side, least, most in zip(("height", "width"), size.low, size.high, strict=True):
        if values[side] > most or (size.declared and values[side] > least):
            known = most if values[side] > most else least
            message = (
                f"{step.name} wants {side} {values[side]}, but images here may have only {known:g} {unit}; "
                "resize first, or write `pad_if_needed: true`"
            )
            yield Finding(message, step, side)
            return


LINT = Lint(
    "L203",
    "crop-too-large",
    check,
    why="The step raises on every image that is smaller than the crop, in the middle of an epoch.",
    fix="Make the crop smaller, put SmallestMaxSize or PadIfNeeded before it, or write `pad_if_needed: true`.",
    diff="""
 inputs: {image: {min_size: [200, 200]}}
 steps:
-  - RandomCrop: {height: 256, width: 256}
+  - RandomCrop: {height: 256, width: 256, pad_if_needed: true, border_mode: reflect_101}
 eval: []
""",
)
