"""Flips and turns of a pair wait until a target's pixels are read: behind every window, for the sink if they can."""

from __future__ import annotations

from collections.abc import Iterator

from augrecipes.compiler.rewrite.rule import OWED_MOVES, Edit, Rule, Steps, join, kind_of, runs
from augrecipes.flow import Flow
from augrecipes.recipe.model import Step


def _moves(step: Step) -> bool:
    """Whether a step moves the pixels of all targets, and does nothing else."""
    return not step.steps and not step.target and kind_of(step) in ("window", "dihedral")


def _rewrite(steps: Steps, flow: Flow) -> Iterator[Edit]:
    del flow
    for start, stop in runs(steps, _moves):
        # Windows alone are views of what is there: nothing is copied as it is.
        if any(kind_of(step) == "dihedral" for step in steps[start:stop]):
            yield Edit(start, stop, (join(OWED_MOVES, steps[start:stop]),))


RULE = Rule(
    name="owe_moves",
    equation="Turn · Window = Window · Turn;  Turn · Sink = Sink(turned)   each target for itself",
    contract="EXACT",
    fires="[D4, {RandomCrop: {height: 8, width: 8}}, {GaussNoise: {target: lr}}]",
    leaves="[{RandomCrop: {height: 8, width: 8}}, {HorizontalFlip: {target: lr}}]",
    rewrite=_rewrite,
)
