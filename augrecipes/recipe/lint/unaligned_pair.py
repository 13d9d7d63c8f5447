"""L206: a step that moves the pixels of one target of a pair, and not of the others."""

from __future__ import annotations

from collections.abc import Iterator

from augrecipes.ops.capabilities import capability
from augrecipes.recipe.lint.record import Finding, Lint
from augrecipes.recipe.model import Recipe, Step

_MOVES = frozenset({"window", "dihedral", "warp"})


def check(recipe: Recipe) -> Iterator[Finding]:
    """Geometry with `target:` that leaves some target out."""
    if recipe.kind == "pair":
        for section in (recipe.steps, recipe.eval or ()):
            for step in section:
                yield from _inside(step, frozenset(recipe.scales), ())


def _inside(step: Step, every: frozenset[str], inherited: tuple[str, ...]) -> Iterator[Finding]:
    if step.name == "Degrade":
        return
    target = step.target or inherited
    record = capability(step.name)
    if record is not None and target and every - set(target) and (record.kind in _MOVES or _bends(step.name)):
        moved, others = ", ".join(target), ", ".join(sorted(every - set(target)))
        message = f"{step.name} moves the pixels of {moved} but not of {others}: they no longer show one scene"
        yield Finding(message, step, "target")
    for child in step.steps:
        yield from _inside(child, every, target)


def _bends(name: str) -> bool:
    record = capability(name)
    return record is not None and record.resamples and "mask" in record.targets


LINT = Lint(
    code="L206",
    name="unaligned-pair",
    severity="error",
    why="Targets of a pair show one scene on several grids. Geometry on one of them makes the others a wrong answer.",
    fix="Remove `target:` so that one draw moves every target, or use a step that leaves pixels where they are.",
    example="""
version: 1
recipe: example
kind: pair
scales: {lr: 1, hr: 4}
steps:
  - HorizontalFlip: {target: lr}
eval: []
""",
    good="""
version: 1
recipe: example
kind: pair
scales: {lr: 1, hr: 4}
steps:
  - HorizontalFlip
  - GaussNoise: {std_range: [0.01, 0.03], target: lr}
eval: []
""",
    check=check,
)
