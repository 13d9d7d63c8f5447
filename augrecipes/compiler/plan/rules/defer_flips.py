"""Flips and turns of a pair wait until a target's pixels are read: behind every window, for the sink if they can."""

from __future__ import annotations

from collections.abc import Iterator

from augrecipes.compiler.plan.nodes import Fused, Nodes, action_of, is_single
from augrecipes.compiler.plan.rule import Edit, Rule, runs
from augrecipes.flow import Flow
from augrecipes.recipe.model import Step


def _moves(step: Step) -> bool:
    """Whether a step moves the pixels of all targets, and does nothing else."""
    return is_single(step) and not step.target and action_of(step) in ("window", "dihedral")


def _rewrite(steps: Nodes, flow: Flow) -> Iterator[Edit]:
    del flow
    for start, run in runs(steps, _moves):
        # Windows alone are views of what is there: nothing is copied as it is.
        if any(action_of(step) == "dihedral" for step in run):
            yield Edit(start, start + len(run), (Fused("DeferredMoves", run),))


RULE = Rule(
    name="defer_flips",
    equation="Turn · Window = Window · Turn;  Turn · Sink = Sink(turned)   each target for itself",
    contract="EXACT",
    fires="[D4, {RandomCrop: {height: 8, width: 8}}, {GaussNoise: {target: lr}}]",
    leaves="[{RandomCrop: {height: 8, width: 8}}, {HorizontalFlip: {target: lr}}]",
    rewrite=_rewrite,
)
