"""A picture that is made much smaller is decoded smaller: a JPEG at a half, a quarter or an eighth is quicker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from augrecipes.compiler.rewrite.contracts import held
from augrecipes.compiler.rewrite.join_warps import joins
from augrecipes.compiler.rewrite.rule import JOINED_WARPS, REDUCES, SCALES, Edit, Rule, Steps, join, kind_of
from augrecipes.flow import Flow
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Arguments, Step


def _scales(step: Step) -> bool:
    """Whether a step only scales a window: other warps seldom shrink."""
    return not step.steps and kind_of(step) == "warp" and joins(step) and "area_for_downscale" in effective(step)


def _rewrite(steps: Steps, flow: Flow) -> Iterable[Edit]:
    if not flow.encoded or not steps or held(steps[1:], flow, "GEOMETRY") is not None:
        return []
    first = steps[0]
    if _scales(first):
        first = join(JOINED_WARPS, (first,))
    elif first.name != JOINED_WARPS or REDUCES not in first.args or SCALES in first.args:
        return []
    return [Edit(0, 1, (replace(first, args=Arguments({**first.args, REDUCES: True, SCALES: True})),))]


RULE = Rule(
    name="read_scaled",
    equation="Warp(A) · Decode = Warp(A / k) · Decode(1/k)   k = 2, 4, 8, where a sample shrinks by 1.5 k or more",
    contract="GEOMETRY",
    fires="[{Resize: {height: 12, width: 16}}, HorizontalFlip]",
    leaves="[{Rotate: {limit: 20, p: 1.0}}, {Resize: {height: 12, width: 16, interpolation: area}}]",
    rewrite=_rewrite,
)
