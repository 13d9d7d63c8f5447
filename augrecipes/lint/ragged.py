"""L205: a step after which images differ in size, though they need not."""

from __future__ import annotations

from augrecipes.lint.arguments import chance
from augrecipes.lint.grids import on_one_grid
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.lint.sizes import acting, along
from augrecipes.recipe.model import Recipe


def check(recipe: Recipe) -> Findings:
    """The step that spoils one size for all images, if no later step restores it."""
    for _, steps in on_one_grid(recipe):
        found = None
        for step, size, result in along(recipe, steps):
            acted = acting(step, size)
            if result.exact:
                found = None
            elif acted.exact:
                found = Finding(
                    f"{step.name} decides the size but acts with p = {chance(step):g}, so images of a batch will "
                    "differ in size; write `p: 1.0`",
                    step,
                    "p",
                )
            elif size.exact:
                found = Finding(
                    f"{step.name} changes the size of some images ({size.low[0]:g} × {size.low[1]:g} before), so "
                    "images of a batch will differ in size; make them square before it, or fix the size after it",
                    step,
                )
        if found is not None:
            yield found


LINT = Lint(
    "L205",
    "ragged-sizes",
    check,
    why="A batch is one array: images of different size cannot be stacked, and the loader refuses them.",
    fix="Give size-changing steps `p: 1.0`, keep images square before quarter turns, or end with a crop or resize.",
    diff="""
 steps:
-  - RandomResizedCrop: {size: [64, 96]}
+  - RandomResizedCrop: {size: [64, 64]}
   - RandomRotate90: {p: 1.0}
 eval: []
""",
)
