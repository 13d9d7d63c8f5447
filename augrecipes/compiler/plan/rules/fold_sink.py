"""Rule `fold_sink`: the sink, which reads every pixel anyway, does the last crops and flips."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, takewhile

from augrecipes.compiler.plan.nodes import Fused, Node, Nodes, Steps, action_of
from augrecipes.compiler.plan.rule import Edit, Rule
from augrecipes.flow import Flow
from augrecipes.recipe.model import Step


def _moves(node: Node) -> Steps:
    """The steps of a node that only moves pixels, or nothing."""
    if isinstance(node, Fused):
        return node.steps if node.kernel in ("JoinedCrops", "JoinedFlips", "JoinedResize") else ()
    return (node,) if isinstance(node, Step) and action_of(node) in ("window", "dihedral") else ()


def _rewrite(steps: Nodes, flow: Flow) -> Iterable[Edit]:
    del flow
    last = list(takewhile(bool, map(_moves, reversed(steps))))
    run = tuple(chain(*reversed(last)))
    # A flip alone costs the sink as much as it costs cv2, and deferring it costs a little more (benchmarks/basics.py).
    if len(run) > 1 or (run and action_of(run[0]) != "dihedral"):
        return [Edit(len(steps) - len(last), len(steps), (Fused("IntoSink", run),))]
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
