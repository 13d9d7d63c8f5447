"""Rule `join_crops`: a crop of a crop is one crop."""

from __future__ import annotations

from augrecipes.compiler.plan.nodes import Nodes
from augrecipes.compiler.plan.rule import Edit, Rule, join_runs
from augrecipes.flow import Flow


def _rewrite(steps: Nodes, flow: Flow) -> list[Edit]:
    del flow
    return join_runs(steps, "window", "JoinedCrops")


RULE = Rule(
    name="join_crops",
    equation="Window(a) · Window(b) = Window(a + b)",
    contract="EXACT",
    fires="[{RandomCrop: {height: 24, width: 24}}, {CenterCrop: {height: 16, width: 16}}, Blur]",
    leaves="[{RandomCrop: {height: 24, width: 24}}, Blur, {CenterCrop: {height: 16, width: 16}}, Blur]",
    rewrite=_rewrite,
)
