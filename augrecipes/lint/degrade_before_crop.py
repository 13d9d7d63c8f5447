"""L402: a whole image that is degraded, and cropped afterwards."""

from __future__ import annotations

from augrecipes.lint.acting import acting
from augrecipes.lint.arguments import chance
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import capability
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """Shared windows behind a Degrade."""
    for step, named, _, degrade in acting(recipe):
        record = capability(step.name)
        if degrade is None or record is None or record.action != "window" or len(named) < 2 or chance(step) <= 0:
            continue
        where = f"line {degrade.position.line}"
        message = f"{step.name} cuts what the Degrade in {where} has made of the whole image; put it before the Degrade"
        yield Finding(message, step)


LINT = Lint(
    "L402",
    "degrade-before-crop",
    check,
    why="The whole image is blurred, resized and compressed, and most of it is thrown away: a window of 256 px is a "
    "fiftieth of a photograph.",
    fix="Put the crop before the Degrade: windows are cut at the same place on every grid, those still to be made too.",
    diff="""
 kind: pair
 scales: {lr: 1, hr: 4}
 steps:
+  - RandomCrop: {height: 48, width: 48, at: lr}
   - Degrade: {source: hr, target: lr, steps: [ResizeToTarget]}
-  - RandomCrop: {height: 48, width: 48, at: lr}
 eval: []
""",
)
