"""A colour step that commutes with the mean of some pixels changes fewer of them after a downscale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate

from augrecipes.compiler.rewrite.contracts import amplified, obstacles_from
from augrecipes.compiler.rewrite.nodes import Steps, action_of, after, is_single
from augrecipes.compiler.rewrite.rule import Edit, rule, swaps
from augrecipes.compiler.rewrite.rules.join_warps import arriving
from augrecipes.flow import Flow
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import effective, record_of
from augrecipes.ops.sizes import SizeBounds
from augrecipes.recipe.model import Step

# Of what an output pixel is a mean of input pixels: nothing is weighed below zero, and nothing beyond the edge is seen.
_MEANS = ("linear", "area", "nearest", "linear_exact", "nearest_exact")


def averages(step: Step) -> int | None:
    """By how many levels a step rounds differently after a mean of pixels; None where it does not commute with one."""
    if step.is_group:
        found = [averages(child) for child in step.steps]
        return None if None in found else sum(one or 0 for one in found)
    if not is_single(step):
        return None
    return record_of(step).averages


def is_downscale(step: Step) -> bool:
    """Whether a step is a window, or a resize of the whole image or of a window."""
    if not is_single(step):
        return False
    action = action_of(step)
    return action == "window" or (action == "warp" and op_record(step.name).resizes is not None)


def _leaves_means(step: Step, size: SizeBounds) -> bool:
    """Whether what a downscale, or a window, leaves is always a mean of fewer pixels."""
    if action_of(step) == "window":
        return not effective(step).get("pad_if_needed")  # the padding has colours of its own
    if effective(step).get("interpolation", "linear") not in _MEANS:
        return False  # it overshoots, and then saturates
    left = after(step, size)
    return left.high[0] * left.high[1] <= size.low[0] * size.low[1]


def _levels_apart(stretch: Steps, flow: Flow) -> float:
    """By how many levels images may be apart once all colours of a stretch were moved behind all its downscales.

    A step that commutes with means enlarges no difference; it adds what it rounds.
    """
    apart = waiting = 0.0  # so far; and if all colours so far are moved behind the next downscale
    colours = 0
    for step in stretch:
        rounds = amplified(0, (step,), flow)
        apart += rounds if apart else 0
        if (own := averages(step)) is None:
            apart += waiting
        else:
            waiting += colours * rounds + own
            colours += 1
    return apart


@rule(
    "LEVELS",
    fires="[{Resize: {height: 32, width: 32}}, InvertImg, {Resize: {height: 16, width: 20}}]",
    leaves="[InvertImg, {Resize: {height: 16, width: 20}}, Blur, RGBShift, {CenterCrop: {height: 8, width: 8}}]",
    outermost=True,
)
def shrink_first(steps: Steps, flow: Flow) -> Iterator[Edit]:
    """Colour · Mean = Mean · Colour   where a downscale, or a window, leaves fewer pixels to change"""
    if flow.boxes or flow.dtype is None:
        return
    colours = [averages(step) is not None for step in steps]
    sizes = accumulate(steps, lambda size, step: after(step, size), initial=arriving(flow))
    behind = obstacles_from(steps, flow, "LEVELS")
    passing = [
        is_downscale(step) and why is None and _leaves_means(step, size)
        for step, size, why in zip(steps, sizes, behind[1:], strict=False)
    ]
    for edit in swaps(steps, colours, passing):
        yield replace(edit, levels=_levels_apart(steps[edit.start : edit.stop], flow))
