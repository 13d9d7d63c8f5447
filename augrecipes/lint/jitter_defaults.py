"""L303: a ColorJitter that names some of its four ranges and leaves the hue to its wide default."""

from __future__ import annotations

from augrecipes.lint.arguments import chance
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """ColorJitter without `hue`."""
    for step in recipe.walk():
        if "hue" in claims(step.name).wide and "hue" not in step.args and chance(step) > 0:
            message = (
                "without `hue` albumentations draws from the whole colour circle (-0.5 .. 0.5); "
                "write `hue: 0` for torchvision's default"
            )
            yield Finding(message, step)


LINT = Lint(
    "L303",
    "jitter-defaults",
    check,
    why="In torchvision what ColorJitter does not name stays as it is. In albumentations it is jittered all the same, "
    "the hue by half the colour circle either way: faces turn green, tissue turns blue.",
    fix="Name all four: brightness, contrast, saturation and hue; 0 switches one off.",
    diff="""
 steps:
-  - ColorJitter: {brightness: 0.2}
+  - ColorJitter: {brightness: 0.2, contrast: 0, saturation: 0, hue: 0}
 eval: []
""",
)
