"""L104: a step to which an earlier one leaves nothing to do."""

from __future__ import annotations

from augrecipes.lint.arguments import arguments, chance
from augrecipes.lint.grids import on_one_grid
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.lint.sizes import acting, along
from augrecipes.ops.capabilities import claims
from augrecipes.ops.sizes import pad_to, to_sides
from augrecipes.recipe.model import Recipe, Step


def check(recipe: Recipe) -> Findings:
    """Steps to a size that the image has already, and steps of colour where there is none left."""
    for _, steps in on_one_grid(recipe):
        yield from _sizes(recipe, steps)
        yield from _colours(steps)


def _sizes(recipe: Recipe, steps: tuple[Step, ...]) -> Findings:
    maker = ""
    for step, size, then in along(recipe, steps):
        if _to_size(step) and size.exact and acting(step, size) == size:
            shape = f"{size.low[0]:g} × {size.low[1]:g}"
            yield Finding(f"{step.name} has nothing to do: after {maker} every image is {shape}", step)
        elif then != size:
            maker = step.name


def _to_size(step: Step) -> bool:
    """Whether the step leaves a picture as it is that has its size."""
    record = claims(step.name)
    return record.size in (to_sides, pad_to) and record.resizes != "window"


def _colours(steps: tuple[Step, ...]) -> Findings:
    grey: Step | None = None
    for step in steps:
        chroma = claims(step.name).chroma_for(arguments(step))
        if grey is None:
            grey = step if chroma == "drops" and chance(step) >= 1 else None
        elif chroma == "turns":
            yield Finding(f"{step.name} turns and scales colours, which {grey.name} has removed", step)
        elif chroma is not None:
            yield Finding(f"{step.name} has nothing to do: {grey.name} has removed every colour", step)


LINT = Lint(
    "L104",
    "unreachable",
    check,
    why="The step never changes an image, so either it or the step before it is not what was meant.",
    fix="Delete it, or change the earlier step.",
    diff="""
 steps:
   - RandomResizedCrop: {size: [64, 64]}
-  - CenterCrop: {height: 64, width: 64}
 eval: []
""",
)
