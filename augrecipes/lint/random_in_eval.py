"""L101: a step of `eval` that makes draws."""

from __future__ import annotations

from augrecipes.lint.arguments import chance, makes_draws
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops import groups
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Recipe, Step


def check(recipe: Recipe) -> Findings:
    """Steps and groups that decide something at random, the innermost ones."""
    for step in recipe.eval or ():
        yield from _inside(step, weighted=False)


def _inside(step: Step, weighted: bool) -> Findings:
    p = chance(step)
    if p <= 0:
        return
    # In OneOf `p` is a weight, not a gate.
    if p < 1 and not weighted:
        given = "" if step.p is not None or step.is_group else " by default"
        yield Finding(f"{step.name} acts with p = {p:g}{given}; in eval write `p: 1.0` or leave it out", step, "p")
        return
    if step.is_group:
        able = [child for child in step.steps if chance(child) > 0]
        if step.name == groups.ONE_OF and len(able) > 1:
            yield Finding(f"OneOf picks one of {len(able)} steps at random; in eval name the one step", step)
        elif step.name == groups.RANDOM_ORDER and len(able) > 1:
            yield Finding("RandomOrder draws the order of its steps; in eval use Sequential", step)
        elif step.name == groups.SOME_OF and _some(step):
            yield Finding("SomeOf picks its steps at random; in eval use Sequential", step)
        else:
            for child in able:
                yield from _inside(child, weighted=step.name == groups.ONE_OF)
    elif step.name == groups.DEGRADE:
        for child in step.steps:
            yield from _inside(child, weighted=False)
    elif makes_draws(step):
        steady = claims(step.name).instead
        hint = f"; use {steady}" if steady else "; give each range one value, or leave the step out"
        yield Finding(f"{step.name} draws at random, so two evaluations differ{hint}", step)


def _some(step: Step) -> bool:
    count = step.args.get("n")
    return bool(step.args.get("replace")) or count is None or count != len(step.steps)


LINT = Lint(
    "L101",
    "random-in-eval",
    check,
    why="Validation and test numbers are compared between runs and models; a random step makes them noise.",
    fix="Use the step's fixed counterpart (CenterCrop, SmallestMaxSize), give every range one value, or set `p: 1.0`. "
    "`eval: derived` does it for all steps.",
    diff="""
 steps: [HorizontalFlip]
 eval:
-  - RandomCrop: {height: 64, width: 64}
+  - CenterCrop: {height: 64, width: 64}
""",
    severity="error",
)
