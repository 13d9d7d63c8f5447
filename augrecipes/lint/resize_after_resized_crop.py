"""L201: a resize right after a crop that resizes."""

from __future__ import annotations

from augrecipes.lint.arguments import chance, sections
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import claims
from augrecipes.ops.groups import SEQUENTIAL
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """Neighbours in a section or Sequential; flips and quarter turns between them do not count."""
    for _, section in sections(recipe):
        lists = [section, *(group.steps for step in section for group in step.walk() if group.name == SEQUENTIAL)]
        for steps in lists:
            crop = None
            for step in steps:
                record = claims(step.name)
                if crop is not None and record.resizes in ("whole", "window"):
                    yield Finding(
                        f"{step.name} resamples what {crop.name} has just resampled; "
                        f"give {crop.name} the final size instead",
                        step,
                    )
                if record.resizes == "window" and chance(step) >= 1:
                    crop = step
                elif record.action not in {"dihedral", "identity"}:
                    crop = None


LINT = Lint(
    "L201",
    "resize-after-resized-crop",
    check,
    why="Each resampling blurs and costs time; two in a row are never sharper than one, and the plan must keep both "
    "because their result differs from one resampling.",
    fix="Give the crop the final size.",
    diff="""
 steps:
-  - RandomResizedCrop: {size: [256, 256]}
+  - RandomResizedCrop: {size: [224, 224]}
-  - Resize: {height: 224, width: 224}
 eval: []
""",
)
