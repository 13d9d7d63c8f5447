"""L502: children of OneOf whose unequal weights nobody wrote."""

from __future__ import annotations

from augrecipes.lint.arguments import chance
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops import groups
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """OneOf groups with unequal weights, at least one of which is a class's default."""
    for group in recipe.walk():
        weights = [chance(child) for child in group.steps]
        if group.name != groups.ONE_OF or len(set(weights)) < 2 or all(child.p is not None for child in group.steps):
            continue
        total = sum(weights) or 1
        odds = ", ".join(f"{step.name} {weight / total:.0%}" for step, weight in zip(group.steps, weights, strict=True))
        yield Finding(f"in OneOf a child's p is its weight, and defaults differ ({odds}); give every child a p", group)


LINT = Lint(
    "L502",
    "implicit-weights",
    check,
    why="In OneOf `p` is a weight. Classes have different defaults, so children without `p` are picked unequally.",
    fix="Give every child of the OneOf a `p`; equal numbers make equal chances.",
    diff="""
 steps:
   - OneOf:
       steps:
-        - GaussianBlur: {sigma_limit: [0.5, 1.5]}
+        - GaussianBlur: {sigma_limit: [0.5, 1.5], p: 1.0}
-        - RandomRotate90
+        - RandomRotate90: {p: 1.0}
 eval: []
""",
)
