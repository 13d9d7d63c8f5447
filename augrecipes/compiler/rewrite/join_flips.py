"""Flips, quarter turns and transpositions compose to one of eight moves."""

from __future__ import annotations

from augrecipes.compiler.rewrite.rule import JOINED_FLIPS, Edit, Rule, Steps, join_runs
from augrecipes.flow import Flow


def _rewrite(steps: Steps, flow: Flow) -> list[Edit]:
    del flow
    return join_runs(steps, "dihedral", JOINED_FLIPS)


RULE = Rule(
    name="join_flips",
    equation="g · h = gh   in the symmetry group of the square, D4",
    contract="EXACT",
    fires="[HorizontalFlip, VerticalFlip, RandomRotate90, Blur]",
    leaves="[HorizontalFlip, Blur, VerticalFlip, Blur]",
    rewrite=_rewrite,
)
