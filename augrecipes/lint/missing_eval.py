"""L102: no `eval:` section."""

from __future__ import annotations

from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """The first step, where the recipe says nothing of evaluation."""
    if recipe.eval is None:
        first = recipe.steps[0] if recipe.steps else None
        yield Finding("no `eval:`, so mode='eval' cannot run; `eval: derived` takes the draws out of the steps", first)


LINT = Lint(
    "L102",
    "missing-eval",
    check,
    why="Without `eval:` nobody can validate with this recipe, and a second, different recipe is how training and "
    "validation drift apart.",
    fix="Write `eval: derived` for the training steps without their draws (`explain` shows them), the fixed steps that "
    "validation needs, or `eval: []` for whole images. To silence it, put the comment on the line of the first step.",
    diff="""
 steps:
   - RandomCrop: {height: 64, width: 64}
+eval: derived
""",
)
