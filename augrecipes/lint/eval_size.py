"""L701: pictures of one size in training, of another one in evaluation."""

from __future__ import annotations

from augrecipes.lint.drift import both
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.lint.sizes import along, arriving
from augrecipes.ops.sizes import SizeBounds
from augrecipes.recipe.model import Recipe, Step


def check(recipe: Recipe) -> Findings:
    """The step that gives evaluation its size; where a network takes any size (pairs, masks, boxes), nothing."""
    inputs = recipe.inputs
    if recipe.facts.scales or inputs.mask == "required" or inputs.boxes or inputs.keypoints:
        return
    for training, evaluation in both(recipe):
        (size, _), (other, step) = _final(recipe, training), _final(recipe, evaluation)
        if size.exact and other.exact and size.low != other.low and step is not None:
            message = f"evaluation ends at {_shown(other)} px, training at {_shown(size)}"
            yield Finding(f"{message}; end both at one size, or write `eval: derived`", step)


def _final(recipe: Recipe, steps: tuple[Step, ...]) -> tuple[SizeBounds, Step | None]:
    """The size behind the steps, and the step that decides it."""
    size, decides = arriving(recipe), None
    for step, before, then in along(recipe, steps):
        size, decides = then, decides if then == before else step
    return size, decides


def _shown(size: SizeBounds) -> str:
    return f"{size.low[0]:g} × {size.low[1]:g}"


LINT = Lint(
    "L701",
    "eval-size",
    check,
    why="A classifier sees things at another scale, or with more around them, than it was trained for. Where that is "
    "meant (a larger test size is a published technique), silence it. Pairs, and recipes that ask for masks, boxes or "
    "keypoints, are not held to it: their networks take any size.",
    fix="End both sections at one size; `eval: derived` does.",
    diff="""
 steps:
   - RandomCrop: {height: 64, width: 64}
 eval:
-  - CenterCrop: {height: 96, width: 96}
+  - CenterCrop: {height: 64, width: 64}
""",
)
