"""L207: a shared window whose padding differs from grid to grid."""

from __future__ import annotations

from augrecipes.lint.acting import acting
from augrecipes.lint.arguments import arguments, chance
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.recipe.model import Recipe

# Borders that mirror about an edge, repeat the whole picture or are of one colour look the same on every grid.
_WRONG = {
    "reflect_101": "mirrors about the middle of the edge pixel, which lies elsewhere on every grid",
    "replicate": "repeats the edge pixel, which is wider on a coarser grid",
}


def check(recipe: Recipe) -> Findings:
    """Windows with `pad_if_needed: true` on two or more targets."""
    for step, named, _, _ in acting(recipe):
        values = arguments(step) if len(named) > 1 and chance(step) > 0 else {}
        border = values.get("border_mode")
        if values.get("pad_if_needed") and border in _WRONG:
            yield Finding(f"{border} {_WRONG[border]}; write `border_mode: reflect`", step, "border_mode")


LINT = Lint(
    "L207",
    "misaligned-pad",
    check,
    why="Mirrored about the middle of a pixel, the padding of a target four times as fine is shifted by a pixel and a "
    "half against the coarse one: there the targets no longer show one scene.",
    fix="Write `border_mode: reflect`, which mirrors about the picture's edge; constant and wrap are aligned too.",
    diff="""
 kind: pair
 scales: {lr: 1, hr: 4}
 steps:
-  - RandomCrop: {height: 48, width: 48, at: lr, pad_if_needed: true, border_mode: reflect_101}
+  - RandomCrop: {height: 48, width: 48, at: lr, pad_if_needed: true, border_mode: reflect}
 eval: []
""",
    severity="error",
)
