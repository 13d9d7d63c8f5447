"""L209: a shared step that changes each target of a pair in its own way."""

from __future__ import annotations

from augrecipes.lint.acting import acting
from augrecipes.lint.arguments import arguments, chance, is_neutral
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import capability
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """Steps on two or more targets that are sized in pixels, interpolate, or read each target's statistics."""
    for step, _, there, _ in acting(recipe):
        record = capability(step.name)
        if record is None or len(there) < 2 or chance(step) <= 0 or is_neutral(step):
            continue
        if record.grids_for(arguments(step)) == "alike":
            own = record.statistics_for(arguments(step))
            what = "reads each target's own statistics" if own else "works in pixels of each grid"
            message = f"{step.name} {what}, so {', '.join(there)} change differently; limit it with `target:`"
            yield Finding(message, step)


LINT = Lint(
    "L209",
    "unequal-pair",
    check,
    why="A blur of 5 px covers four times as much of the scene on a grid that is four times as coarse. The network "
    "then learns to undo a difference that no camera makes.",
    fix="Limit the step to one target with `target:`, or silence this where the difference is meant.",
    diff="""
 kind: pair
 scales: {lr: 1, hr: 4}
 steps:
-  - GaussianBlur: {sigma_limit: [0.5, 1.5], p: 0.5}
+  - GaussianBlur: {sigma_limit: [0.5, 1.5], target: lr, p: 0.5}
 eval: []
""",
)
