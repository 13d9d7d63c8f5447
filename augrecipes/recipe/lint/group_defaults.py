"""L504: a group left to its default, which is another one in albumentations, in a recipe that came from there."""

from __future__ import annotations

from collections.abc import Iterator

from augrecipes.recipe.lint.integer_constants import check as integer_constants
from augrecipes.recipe.lint.record import Finding, Lint
from augrecipes.recipe.model import Recipe, Step

_P = "always acts where no p is written; albumentations' {name} has p: 0.5 then: write `p: 0.5` for that"
_N = "runs all of its steps where no n is written; albumentations' {name} runs one then: write `n: 1` for that"


def check(recipe: Recipe) -> Iterator[Finding]:
    """The first group of another default, where OpenCV's integers show where the recipe comes from."""
    if any(integer_constants(recipe)):
        yield from differing(recipe)


def differing(recipe: Recipe) -> Iterator[Finding]:
    """The first group that does something else than the same group of albumentations: it is said once."""
    for step in recipe.walk():
        text = _differs(step)
        if text:
            yield Finding(f"{step.name} {text.format(name=step.name)}", step)
            return


def _differs(step: Step) -> str:
    if step.name in ("OneOf", "Sequential") and step.p is None:
        return _P
    return _N if step.name == "RandomOrder" and "n" not in step.args else ""


LINT = Lint(
    code="L504",
    name="group-defaults",
    severity="warning",
    why="In albumentations a OneOf or Sequential without `p` is left out every other time, and RandomOrder runs one of "
    "its steps. Here a group without `p` always acts, and RandomOrder runs all. Who translates a pipeline, and writes "
    "neither, gets another one. It is said once, of recipes that show where they come from: by old names, or by "
    "OpenCV's integers.",
    fix="Write the group's `p` (albumentations' default: 0.5), and the `n` of a RandomOrder (albumentations' default: "
    "1); or `p: 1.0`, where always is meant.",
    example="""
version: 1
recipe: example
steps:
  - Rotate: {limit: 25, border_mode: 4}  # augrecipes: ignore[L501]
  - OneOf:
      steps:
        - GaussianBlur: {p: 1.0}
        - ISONoise: {p: 1.0}
eval: []
""",
    good="""
version: 1
recipe: example
steps:
  - Rotate: {limit: 25, border_mode: reflect_101}
  - OneOf:
      p: 0.5
      steps:
        - GaussianBlur: {p: 1.0}
        - ISONoise: {p: 1.0}
eval: []
""",
    check=check,
)
