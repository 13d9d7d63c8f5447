"""A warp that shrinks its image reads a reduced one: fewer pixels to gather, and none of them left out.

An image that comes as a file is decoded so: a JPEG at a half, a quarter or an eighth is quicker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from augrecipes.compiler.rewrite.contracts import obstacle, obstacles_from
from augrecipes.compiler.rewrite.nodes import Fused, Steps, action_of, fuse, is_single
from augrecipes.compiler.rewrite.rule import Edit, rule
from augrecipes.compiler.rewrite.rules.join_warps import joins
from augrecipes.flow import Flow
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Step


@rule(
    "GEOMETRY",
    fires="[{Rotate: {limit: 20, p: 1.0}}, {Resize: {height: 12, width: 16}}]",
    leaves="[{Resize: {height: 12, width: 16}}, Blur]",
)
def reduce_first(steps: Steps, flow: Flow) -> Iterable[Edit]:
    """Warp(A) = Reduce(k) · Warp(A / k)   k = 2, 4, 8, where a sample shrinks by 1.5 k or more"""
    behind = obstacles_from(steps, flow, "GEOMETRY")
    return [
        Edit(place, place + 1, (replace(step, reduces=True),))
        for place, step in enumerate(steps)
        if isinstance(step, Fused) and step.name == "JoinedWarps" and not step.reduces and behind[place + 1] is None
    ]


def _scales(step: Step) -> bool:
    """Whether a step only scales a window: other warps seldom shrink."""
    return is_single(step) and action_of(step) == "warp" and joins(step) and "area_for_downscale" in effective(step)


@rule(
    "GEOMETRY",
    fires="[{Resize: {height: 12, width: 16}}, HorizontalFlip]",
    leaves="[{Rotate: {limit: 20, p: 1.0}}, {Resize: {height: 12, width: 16, interpolation: area}}]",
)
def read_scaled(steps: Steps, flow: Flow) -> Iterable[Edit]:
    """Warp(A) · Decode = Warp(A / k) · Decode(1/k)   k = 2, 4, 8, where a sample shrinks by 1.5 k or more"""
    if not flow.encoded or not steps or obstacle(steps[1:], flow, "GEOMETRY") is not None:
        return []
    first = steps[0]
    if _scales(first):
        first = fuse("JoinedWarps", (first,))
    elif not isinstance(first, Fused) or not first.reduces or first.scales:
        return []
    return [Edit(0, 1, (replace(first, reduces=True, scales=True),))]
