"""The sink reads every pixel anyway: let it read them cropped and flipped."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, takewhile

from augrecipes.compiler.rewrite.rule import INTO_SINK, JOINED_CROPS, JOINED_FLIPS, Edit, Rule, Steps, join, kind_of
from augrecipes.flow import Flow
from augrecipes.recipe.model import Step


def _moves(step: Step) -> Steps:
    """The source steps of a step that only moves pixels, or nothing."""
    if step.name in (JOINED_CROPS, JOINED_FLIPS):
        return step.steps
    return (step,) if kind_of(step) in ("window", "dihedral") else ()


def _rewrite(steps: Steps, flow: Flow) -> Iterable[Edit]:
    del flow
    last = list(takewhile(bool, map(_moves, reversed(steps))))
    moves = tuple(chain(*reversed(last)))
    # A flip alone costs the sink as much as it costs cv2, and deferring it costs a little more (benchmarks/basics.py).
    if len(moves) > 1 or (moves and kind_of(moves[0]) == "window"):
        return [Edit(len(steps) - len(last), len(steps), (join(INTO_SINK, moves),))]
    return []


RULE = Rule(
    name="fold_sink",
    equation="Moves · Sink = Sink(moved)   normalisation, dtype, layout and the last moves in one pass",
    contract="EXACT",
    fires="[Blur, {RandomCrop: {height: 16, width: 16}}, HorizontalFlip]",
    leaves="[HorizontalFlip, Blur, VerticalFlip]",
    rewrite=_rewrite,
    outermost=True,
)
