"""L208: a step that no draw can carry from one target of a pair to another."""

from __future__ import annotations

from augrecipes.lint.acting import acting, moves
from augrecipes.lint.arguments import arguments, chance
from augrecipes.lint.record import Finding, Findings, Lint
from augrecipes.ops.capabilities import capability, carried, claims
from augrecipes.recipe.model import Recipe, Step


def check(recipe: Recipe) -> Findings:
    """Steps on two or more targets whose draws are places or maps in pixels of one image."""
    for step, named, there, _ in acting(recipe):
        record = capability(step.name)
        if record is None or chance(step) <= 0:
            continue
        shared = named if record.bends else there
        if len(shared) < 2 or (record.bends and not recipe.allow_resampling):  # the latter is said already
            continue
        if record.grids_for(arguments(step)) == "never":
            yield Finding(_message(step), step)


def _message(step: Step) -> str:
    if claims(step.name).bends:
        return f"{step.name} cannot be carried from one grid to another; what can: {', '.join(carried())}"
    if claims(step.name).effect == "padding":
        return f"{step.name} pads images on their own; write `pad_if_needed: true, border_mode: reflect` on the crop"
    cure = "use windows, flips and quarter turns" if moves(step) else "limit it to one target with `target:`"
    return f"{step.name} draws for each pixel, or places in pixels, of one image; {cure}"


LINT = Lint(
    "L208",
    "unshareable-pair",
    check,
    why="Noise is drawn for each pixel, holes and rain drops are places in pixels. Targets of a pair have different "
    "pixels, so one draw cannot mean the same on all of them.",
    fix="Limit the step to one target, such as `target: lr`, or put it inside Degrade.",
    diff="""
 kind: pair
 scales: {lr: 1, hr: 4}
 steps:
-  - GaussNoise: {std_range: [0.01, 0.03]}
+  - GaussNoise: {std_range: [0.01, 0.03], target: lr}
 eval: []
""",
    severity="error",
)
