"""A colour step that commutes with the mean of some pixels changes fewer of them after a downscale."""

from __future__ import annotations

from itertools import pairwise

from augrecipes.compiler.rewrite.contracts import held
from augrecipes.compiler.rewrite.rule import Rule, Steps, kind_of
from augrecipes.flow import Flow
from augrecipes.lint.sizes import UNKNOWN, Size, after
from augrecipes.ops import warps
from augrecipes.ops.capabilities import capability
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Step

# Of what an output pixel is a mean of input pixels: nothing is weighed below zero, and nothing beyond the edge is seen.
_RESIZES = (warps.resize, warps.by_scale, warps.resized_crop)
_MEANS = ("linear", "area", "nearest", "linear_exact", "nearest_exact")


def averages(step: Step) -> int | None:
    """By how many levels a step rounds differently after a mean of pixels; None where it does not commute with one."""
    if step.is_group:
        found = [averages(child) for child in step.steps]
        return None if None in found else sum(one or 0 for one in found)
    record = capability(step.name)
    return None if record is None else record.averages_for(effective(step))


def refusal(steps: Steps, place: int, flow: Flow) -> str | None:
    """Why the step at `place` stays before the downscale, or the window, behind it; None where it may be moved.

    >>> from augrecipes.recipe.model import Arguments
    >>> refusal((Step("RGBShift"), Step("Resize", Arguments({"height": 9, "width": 9}))), 0, Flow(least=(9, 9)))
    'may saturate, or is not linear: after the downscale behind it, it would give other values'
    """
    step, behind = steps[place], steps[place + 1]
    if flow.boxes or flow.dtype is None:
        return "stays before what changes the size: boxes are filtered at the size that they have then"
    if averages(step) is None:
        return "may saturate, or is not linear: after the downscale behind it, it would give other values"
    if kind_of(behind) == "window":
        if effective(behind).get("pad_if_needed"):
            return "stays before a window that may pad: the padding has colours of its own"
    elif effective(behind).get("interpolation", "linear") not in _MEANS:
        return "stays before a resize that is no mean of pixels: it overshoots, and then saturates"
    elif not _shrinks(steps[:place], behind, flow):
        return "stays before a resize that may enlarge: `inputs: {image: {min_size: ...}}` says how large images are"
    why = held(steps[place + 2 :], flow, "LEVELS")
    return None if why is None else f"stays before what changes the size, for it would round differently then: {why}"


def is_downscale(step: Step) -> bool:
    """Whether a step is a window, or a resize of the whole picture or of a window."""
    record = capability(step.name)
    return not step.steps and record is not None and (kind_of(step) == "window" or record.warp in _RESIZES)


def _shrinks(before: Steps, resize: Step, flow: Flow) -> bool:
    """Whether a resize never gives more pixels than it takes."""
    size = UNKNOWN if flow.least is None else Size(flow.least, declared=True)
    for step in before:
        size = after(step, size)
    left = after(resize, size)
    return left.high[0] * left.high[1] <= size.low[0] * size.low[1]


def levels(step: Step) -> int:
    """What moving a colour step may change; nothing for the downscale that it has changed places with."""
    return averages(step) or 0


def _rewrite(steps: Steps, flow: Flow) -> Steps | None:
    for place, (step, behind) in enumerate(pairwise(steps)):
        if averages(step) is not None and is_downscale(behind) and refusal(steps, place, flow) is None:
            return (*steps[:place], behind, step, *steps[place + 2 :])
    return None


RULE = Rule(
    name="shrink_first",
    equation="Colour · Mean = Mean · Colour   where a downscale, or a window, leaves fewer pixels to change",
    contract="LEVELS",
    fires="[{Resize: {height: 32, width: 32}}, InvertImg, {Resize: {height: 16, width: 20}}]",
    leaves="[InvertImg, {Resize: {height: 16, width: 20}}, Blur, RGBShift, {CenterCrop: {height: 8, width: 8}}]",
    rewrite=_rewrite,
    outermost=True,
    levels=levels,
)
