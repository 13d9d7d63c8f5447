"""What the first windows of a pair cut off need not be read: of each target the drawn cells go to the decoder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from augrecipes.compiler.plan.nodes import Fused, Nodes, action_of
from augrecipes.compiler.plan.rule import Edit, Rule
from augrecipes.flow import Flow
from augrecipes.recipe.model import Step


def _rewrite(nodes: Nodes, flow: Flow) -> Iterable[Edit]:
    if not flow.encoded or not nodes:
        return []
    first = nodes[0]
    if isinstance(first, Step) and action_of(first) == "window" and not first.target:
        first = Fused("DeferredMoves", (first,))
    if not isinstance(first, Fused) or first.reads or "window" not in map(action_of, first.steps):
        return []
    return [Edit(0, 1, (replace(first, reads=True),))]


RULE = Rule(
    name="read_windows",
    equation="Window · Decode = Decode(window)   of every target that comes as a file",
    contract="EXACT",
    fires="[{RandomCrop: {height: 8, width: 8}}, {GaussNoise: {target: lr}}]",
    leaves="[{GaussNoise: {target: lr}}, {RandomCrop: {height: 8, width: 8}}]",
    rewrite=_rewrite,
    outermost=True,
)
