"""A warp that shrinks its image reads a reduced one: fewer pixels to gather, and none of them left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from augrecipes.compiler.rewrite.contracts import obstacles_from
from augrecipes.compiler.rewrite.nodes import Fused, Steps
from augrecipes.compiler.rewrite.rule import Edit, Rule
from augrecipes.flow import Flow


def _rewrite(steps: Steps, flow: Flow) -> Iterable[Edit]:
    behind = obstacles_from(steps, flow, "GEOMETRY")
    return [
        Edit(place, place + 1, (replace(step, reduces=True),))
        for place, step in enumerate(steps)
        if isinstance(step, Fused) and step.name == "JoinedWarps" and not step.reduces and behind[place + 1] is None
    ]


RULE = Rule(
    name="reduce_first",
    equation="Warp(A) = Reduce(k) · Warp(A / k)   k = 2, 4, 8, where a sample shrinks by 1.5 k or more",
    contract="GEOMETRY",
    fires="[{Rotate: {limit: 20, p: 1.0}}, {Resize: {height: 12, width: 16}}]",
    leaves="[{Resize: {height: 12, width: 16}}, Blur]",
    rewrite=_rewrite,
)
