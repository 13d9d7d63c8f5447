"""Flips and turns of a pair wait until a target's pixels are read: behind every window, for the sink if they can."""

from __future__ import annotations

from augrecipes.compiler.rewrite.rule import OWED_MOVES, Rule, Steps, join, kind_of
from augrecipes.flow import Flow
from augrecipes.recipe.model import Step


def _moves(step: Step) -> bool:
    """Whether a step moves the pixels of all targets, and does nothing else."""
    return not step.steps and not step.target and kind_of(step) in ("window", "dihedral")


def _rewrite(steps: Steps, flow: Flow) -> Steps | None:
    del flow
    start = 0
    while start < len(steps):
        stop = start
        while stop < len(steps) and _moves(steps[stop]):
            stop += 1
        # Windows alone are views of what is there: nothing is copied as it is.
        if any(kind_of(step) == "dihedral" for step in steps[start:stop]):
            return (*steps[:start], join(OWED_MOVES, steps[start:stop]), *steps[stop:])
        start = max(stop, start + 1)
    return None


RULE = Rule(
    name="owe_moves",
    equation="Turn · Window = Window · Turn;  Turn · Sink = Sink(turned)   each target for itself",
    contract="EXACT",
    fires="[D4, {RandomCrop: {height: 8, width: 8}}, {GaussNoise: {target: lr}}]",
    leaves="[{RandomCrop: {height: 8, width: 8}}, {HorizontalFlip: {target: lr}}]",
    rewrite=_rewrite,
)
