"""L704: a change of dtype that stands in one section only."""

from __future__ import annotations

from augrecipes.lint.drift import acting, both
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import capability
from augrecipes.recipe.derive import derive, steps_of
from augrecipes.recipe.model import Recipe, Step


def check(recipe: Recipe) -> Findings:
    """FromFloat and its like; `eval: []` is compared too."""
    for training, evaluation in both(recipe):
        # Of training what acts on every picture: some pictures without it are what evaluation may be like.
        certain = steps_of(derive(training, recipe.scales.plain()))
        for here, there, where in ((certain, evaluation, "evaluation"), (evaluation, training, "training")):
            changers = _changers(here)
            if changers and not _changers(there):
                message = f"{changers[0].name} changes the dtype, and {where} has no such step; put it into both"
                yield Finding(message, changers[0])


def _changers(steps: tuple[Step, ...]) -> list[Step]:
    found = [(step, capability(step.name)) for step in acting(steps)]
    return [step for step, record in found if record is not None and record.changes_dtype]


LINT = Lint(
    "L704",
    "eval-dtype",
    check,
    why="Float pictures that become uint8 are rounded to 256 levels, and later steps draw and clip differently on "
    "them. (What leaves the recipe, its dtype, layout and normalisation, stands once, in `output`, for both sections.)",
    fix="Put the step into both sections; `eval: derived` does.",
    diff="""
 steps:
   - FromFloat: {dtype: uint8}
   - RandomCrop: {height: 64, width: 64}
 eval:
+  - FromFloat: {dtype: uint8}
   - CenterCrop: {height: 64, width: 64}
""",
)
