"""L601: a step that cannot run without a target which the recipe says is absent."""

from __future__ import annotations

from augrecipes.lint.arguments import chance
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.recipe.model import Recipe

_NEEDS_BOXES = frozenset({"BBoxSafeRandomCrop", "RandomSizedBBoxSafeCrop"})
_NEEDS_MASK = frozenset({"CropNonEmptyMaskIfExists", "MaskDropout"})


def check(recipe: Recipe) -> Findings:
    """Steps that read boxes or a mask that no sample has."""
    others = recipe.kind != "image"
    for step in recipe.walk():
        if chance(step) <= 0:
            continue
        if others and step.name in _NEEDS_BOXES | _NEEDS_MASK:
            needs = "boxes" if step.name in _NEEDS_BOXES else "a mask"
            yield Finding(f"{step.name} needs {needs}, and recipes of kind {recipe.kind} have images only", step)
        elif step.name in _NEEDS_BOXES and recipe.inputs.boxes is None:
            yield Finding(f"{step.name} needs boxes; declare them, such as `inputs: {{boxes: pascal_voc}}`", step)
        elif step.name in _NEEDS_MASK and recipe.inputs.mask == "absent":
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
