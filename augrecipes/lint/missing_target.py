"""L601: a step that cannot run without a target which the recipe says is absent."""

from __future__ import annotations

from augrecipes.lint.arguments import chance
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """Steps that read boxes or a mask that no sample has."""
    for step in recipe.walk():
        needs = claims(step.name).needs if chance(step) > 0 else None
        if needs and not recipe.facts.annotated:
            what = "boxes" if needs == "boxes" else "a mask"
            yield Finding(f"{step.name} needs {what}, and recipes of kind {recipe.kind} have images only", step)
        elif needs == "boxes" and recipe.inputs.boxes is None:
            yield Finding(f"{step.name} needs boxes; declare them, such as `inputs: {{boxes: pascal_voc}}`", step)
        elif needs == "mask" and recipe.inputs.mask == "absent":
            yield Finding(f"{step.name} needs a mask, and the recipe says there is none; write `mask: required`", step)


LINT = Lint(
    "L601",
    "missing-target",
    check,
    why="The step raises on every sample.",
    fix="Declare the target in `inputs:`, or use a step that needs the image only.",
    diff="""
+inputs: {boxes: pascal_voc}
 steps:
   - RandomSizedBBoxSafeCrop: {height: 64, width: 64}
 eval: []
""",
    severity="error",
)
