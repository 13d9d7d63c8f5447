"""L204: a step that resamples targets which a pair shares."""

from __future__ import annotations

from collections.abc import Iterator

from augrecipes.ops.capabilities import capability
from augrecipes.recipe.lint.record import Finding, Lint
from augrecipes.recipe.model import Recipe, Step


def check(recipe: Recipe) -> Iterator[Finding]:
    """Steps that interpolate, on two or more targets of a pair."""
    if recipe.kind != "pair" or recipe.allow_resampling:
        return
    for step in _shared(recipe):
        record = capability(step.name)
        if record is not None and record.resamples and "mask" in record.targets:
            message = (
                f"{step.name} resamples targets that must stay aligned pixel by pixel; use windows, flips and "
                "quarter turns, or write `allow_resampling: true`"
            )
            yield Finding(message, step)


def _shared(recipe: Recipe) -> Iterator[Step]:
    """Steps that act on more than one target; what Degrade does to its target is its own affair."""
    for section in (recipe.steps, recipe.eval or ()):
        for step in section:
            yield from _inside(step)


def _inside(step: Step) -> Iterator[Step]:
    if step.name == "Degrade" or len(step.target) == 1:
        return
    yield step
    for child in step.steps:
        yield from _inside(child)


LINT = Lint(
    code="L204",
    name="resampled-pair",
    severity="error",
    why="Resampling invents pixels. On a low and a high resolution target it invents different ones, and the network "
    "learns the difference between two interpolations.",
    fix="Use RandomCrop, D4 and flips for shared geometry. Where resampling is meant, say `allow_resampling: true`.",
    example="""
version: 1
recipe: example
kind: pair
scales: {lr: 1, hr: 4}
steps:
  - Rotate: {limit: 10, border_mode: reflect_101}
eval: []
""",
    good="""
version: 1
recipe: example
kind: pair
scales: {lr: 1, hr: 4}
steps:
  - D4: {p: 1.0}
eval: []
""",
    check=check,
)
