"""L703: a resize in evaluation with an interpolation that training does not use."""

from __future__ import annotations

from augrecipes.lint.arguments import arguments
from augrecipes.lint.drift import acting, both
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Recipe, Step


def check(recipe: Recipe) -> Findings:
    """Resizes of evaluation; where training resizes nothing, there is nothing to compare."""
    for training, evaluation in both(recipe):
        known = {name for step in acting(training) for name in _ways(step)}
        for step in acting(evaluation):
            ways = _ways(step)
            if known and not ways <= known:
                here, there = " and ".join(sorted(ways - known)), " and ".join(sorted(known))
                message = f"{step.name} resizes with {here}, and training with {there}; use one of them in both"
                yield Finding(message, step, "interpolation")


def _ways(step: Step) -> set[str]:
    """The interpolations that a resize uses, to smaller and to larger; none of other steps."""
    if not claims(step.name).resizes:
        return set()
    values = arguments(step)
    own = {str(values.get("interpolation"))}
    return own | {"area"} if values.get("area_for_downscale") else own


LINT = Lint(
    "L703",
    "eval-interpolation",
    check,
    why="Interpolations differ in sharpness and aliasing, and networks read both: another one in evaluation costs "
    "accuracy for no reason.",
    fix="Give both sections the same `interpolation`; `eval: derived` keeps training's.",
    diff="""
 steps:
   - RandomResizedCrop: {size: [64, 64], interpolation: cubic}
 eval:
-  - SmallestMaxSize: {max_size: 73}
+  - SmallestMaxSize: {max_size: 73, interpolation: cubic}
   - CenterCrop: {height: 64, width: 64}
""",
)
