"""L103: a step that can never change anything."""

from __future__ import annotations

from augrecipes.lint.arguments import chance, is_neutral
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """Steps of which `p` is 0, or every limit is."""
    for step in recipe.walk():
        if chance(step) <= 0:
            yield Finding(f"{step.name} never runs: its p is 0", step, "p")
        elif is_neutral(step):
            first = next(iter(step.args), None)
            if first is None:
                yield Finding(f"{step.name} changes nothing with its default arguments; give it a range", step)
            else:
                yield Finding(f"{step.name} changes nothing: every range is its neutral value", step, first)


LINT = Lint(
    "L103",
    "never-acts",
    check,
    why="A step that does nothing looks like augmentation to whoever reads the recipe.",
    fix="Give it a range and a `p` above 0, or delete it; `without:` in a variant switches a step off openly.",
    diff="""
 steps:
+  - Rotate: {limit: 25, border_mode: reflect_101, p: 1.0}
-  - Rotate: {limit: 0, p: 1.0}
-  - VerticalFlip: {p: 0}
 eval: []
""",
)
