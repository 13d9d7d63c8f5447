"""L206: a step that moves the pixels of one target of a pair, and not of the others."""

from __future__ import annotations

from augrecipes.lint.acting import acting, degraded, moves
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """Geometry with `target:` that leaves some target out, and geometry inside Degrade."""
    for step, named, _, _ in acting(recipe):
        others = [name for name in recipe.scales if name not in named]
        if others and moves(step):
            moved, left = ", ".join(named), ", ".join(others)
            message = f"{step.name} moves the pixels of {moved} but not of {left}: they no longer show one scene"
            yield Finding(message, step, "target")
    for degrade, step in degraded(recipe):
        if moves(step) and claims(step.name).resizes != "whole":  # on the way to the target's size
            made, source = degrade.args.get("target"), degrade.args.get("source")
            message = (
                f"{step.name} moves the pixels of {made} but not of {source}: they no longer show one scene; put it "
                "before the Degrade"
            )
            yield Finding(message, step)


LINT = Lint(
    "L206",
    "unaligned-pair",
    check,
    why="Targets of a pair show one scene on several grids. Geometry on one of them makes the others a wrong answer.",
    fix="Remove `target:`, or put the step before the Degrade, so that one draw moves every target; or use a step that "
    "leaves pixels where they are.",
    diff="""
 kind: pair
 scales: {lr: 1, hr: 4}
 steps:
-  - HorizontalFlip: {target: lr}
+  - HorizontalFlip
+  - GaussNoise: {std_range: [0.01, 0.03], target: lr}
 eval: []
""",
    severity="error",
)
