"""What the first windows of a pair cut off need not be read: of each target the drawn cells go to the decoder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from augrecipes.compiler.rewrite.rule import OWED_MOVES, READS, Edit, Rule, Steps, join, kind_of
from augrecipes.flow import Flow
from augrecipes.recipe.model import Arguments, Step


def _cuts(step: Step) -> bool:
    """Whether a step cuts all targets, and does nothing to their pixels."""
    if step.name == OWED_MOVES:
        return any(kind_of(child) == "window" for child in step.steps)
    return kind_of(step) == "window" and not step.target


def _rewrite(steps: Steps, flow: Flow) -> Iterable[Edit]:
    if not flow.encoded or not steps or READS in steps[0].args or not _cuts(steps[0]):
        return []
    first = steps[0] if steps[0].name == OWED_MOVES else join(OWED_MOVES, steps[:1])
    return [Edit(0, 1, (replace(first, args=Arguments({READS: True})),))]


RULE = Rule(
    name="read_windows",
    equation="Window · Decode = Decode(window)   of every target that comes as a file",
    contract="EXACT",
    fires="[{RandomCrop: {height: 8, width: 8}}, {GaussNoise: {target: lr}}]",
    leaves="[{GaussNoise: {target: lr}}, {RandomCrop: {height: 8, width: 8}}]",
    rewrite=_rewrite,
    outermost=True,
)
