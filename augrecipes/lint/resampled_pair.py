"""L204: a step that resamples targets which a pair shares."""

from __future__ import annotations

from augrecipes.lint.acting import acting
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """Steps that interpolate, on two or more targets of a pair. What Degrade does to its target is its own affair."""
    if recipe.allow_resampling:
        return
    for step, named, _, _ in acting(recipe):
        if len(named) > 1 and claims(step.name).bends:
            message = (
                f"{step.name} resamples targets that must stay aligned pixel by pixel; use windows, flips and "
                "quarter turns, or write `allow_resampling: true`"
            )
            yield Finding(message, step)


LINT = Lint(
    "L204",
    "resampled-pair",
    check,
    why="Resampling invents pixels. On a low and a high resolution target it invents different ones, and the network "
    "learns the difference between two interpolations.",
    fix="Use RandomCrop, D4 and flips for shared geometry. Where resampling is meant, say `allow_resampling: true`.",
    diff="""
 kind: pair
 scales: {lr: 1, hr: 4}
 steps:
-  - Rotate: {limit: 10, border_mode: reflect_101}
+  - D4: {p: 1.0}
 eval: []
""",
    severity="error",
)
