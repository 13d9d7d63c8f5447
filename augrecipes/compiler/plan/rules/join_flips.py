"""Rule `join_flips`: flips, quarter turns and transpositions in a row are one of eight moves."""

from __future__ import annotations

from augrecipes.compiler.plan.nodes import Nodes
from augrecipes.compiler.plan.rule import Edit, Rule, join_runs
from augrecipes.flow import Flow


def _rewrite(steps: Nodes, flow: Flow) -> list[Edit]:
    del flow
    return join_runs(steps, "dihedral", "JoinedFlips")


RULE = Rule(
    name="join_flips",
    equation="g · h = gh   in the symmetry group of the square, D4",
    contract="EXACT",
    fires="[HorizontalFlip, VerticalFlip, RandomRotate90, Blur]",
    leaves="[HorizontalFlip, Blur, VerticalFlip, Blur]",
    rewrite=_rewrite,
)
