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


def refusals(steps: Steps, flow: Flow) -> dict[int, str | None]:
    """Why steps stay before the downscale, or the window, behind them, by place; None: they may be moved.

    >>> from augrecipes.recipe.model import Arguments
    >>> refusals((Step("RGBShift"), Step("Resize", Arguments({"height": 9, "width": 9}))), Flow(least=(9, 9)))
    {0: 'may saturate, or is not linear: after the downscale behind it, it would give other values'}
    """
    if flow.boxes or flow.dtype is None:
        why = "stays before what changes the size: boxes are filtered at the size that they have then"
        return {place: why for place, behind in enumerate(steps[1:]) if is_downscale(behind)}
    curved = "may saturate, or is not linear: after the downscale behind it, it would give other values"
    return {
        place - 1: curved if averages(steps[place - 1]) is None else why
        for place, why in _downscales(steps, flow).items()
        if place
    }


def is_downscale(step: Step) -> bool:
    """Whether a step is a window, or a resize of the whole image or of a window."""
    if not is_single(step):
        return False
    action = action_of(step)
    return action == "window" or (action == "warp" and op_record(step.name).resizes is not None)


def _downscales(steps: Steps, flow: Flow) -> dict[int, str | None]:
    """Why no colour step may be moved behind a downscale, or a window, by its place; None: it may."""
    sizes = accumulate(steps, lambda size, step: after(step, size), initial=arriving(flow))
    behind = obstacles_from(steps, flow, "LEVELS")
    found = {}
    for place, (step, size) in enumerate(zip(steps, sizes, strict=False)):
        if is_downscale(step):
            why = behind[place + 1]
            rounds = why and f"stays before what changes the size, for it would round differently then: {why}"
            found[place] = _no_mean(step, size) or rounds
    return found


def _no_mean(step: Step, size: SizeBounds) -> str | None:
    """Why what a downscale, or a window, leaves is not always a mean of fewer pixels."""
    if action_of(step) == "window":
        pads = effective(step).get("pad_if_needed")
        return "stays before a window that may pad: the padding has colours of its own" if pads else None
    if effective(step).get("interpolation", "linear") not in _MEANS:
        return "stays before a resize that is no mean of pixels: it overshoots, and then saturates"
    left = after(step, size)
    if left.high[0] * left.high[1] <= size.low[0] * size.low[1]:
        return None
    return "stays before a resize that may enlarge: `inputs: {image: {min_size: ...}}` says how large images are"


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
    passing = {place for place, why in _downscales(steps, flow).items() if why is None}
    for edit in swaps(steps, colours, [place in passing for place in range(len(steps))]):
        yield replace(edit, levels=_levels_apart(steps[edit.start : edit.stop], flow))
