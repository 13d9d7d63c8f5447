"""L504: a group left to its default, which is another one in albumentations, in a recipe that came from there."""

from __future__ import annotations

from augrecipes.lint.integer_constants import check as integer_constants
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.recipe.groups import other_default
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """The first group of another default, where OpenCV's integers show where the recipe comes from."""
    found = other_default(recipe) if any(integer_constants(recipe)) else None
    if found:
        yield Finding(found[1], found[0])


LINT = Lint(
    "L504",
    "group-defaults",
    check,
    why="In albumentations a OneOf or Sequential without `p` is left out every other time, and RandomOrder runs one of "
    "its steps. Here a group without `p` always acts, and RandomOrder runs all. Who translates a pipeline, and writes "
    "neither, gets another one. It is said once, of recipes that show where they come from: by old names, or by "
    "OpenCV's integers.",
    fix="Write the group's `p` (albumentations' default: 0.5), and the `n` of a RandomOrder (albumentations' default: "
    "1); or `p: 1.0`, where always is meant.",
    diff="""
 steps:
-  - Rotate: {limit: 25, border_mode: 4}  # augrecipes: ignore[L501]
+  - Rotate: {limit: 25, border_mode: reflect_101}
   - OneOf:
+      p: 0.5
       steps:
         - GaussianBlur: {p: 1.0}
         - ISONoise: {p: 1.0}
 eval: []
""",
)
