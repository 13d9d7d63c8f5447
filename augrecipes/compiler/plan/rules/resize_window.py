"""What a crop cuts off of a resized, or padded, picture need not be made; turns are taken along."""

from __future__ import annotations

from collections.abc import Iterator

from augrecipes.compiler.plan.nodes import Fused, Nodes, Steps, action_of, is_single
from augrecipes.compiler.plan.rule import Edit, Rule, runs
from augrecipes.flow import Flow
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Step


def _makes(step: Step) -> bool:
    """Whether a step resizes the picture, or a window of it, or pads it."""
    return action_of(step) == "padding" or _resizes(step)


def _resizes(step: Step) -> bool:
    return action_of(step) == "warp" and claims(step.name).resizes in ("whole", "window")


def _joins(step: Step) -> bool:
    return is_single(step) and (action_of(step) in ("window", "dihedral") or _makes(step))


def _pays(run: Steps) -> bool:
    """Whether something that is made is cut afterwards, or something resized padded: it is made where it belongs."""
    made = resized = False
    for step in run:
        if made and (action_of(step) == "window" or claims(step.name).windowed):
            return True
        if resized and action_of(step) == "padding":
            return True
        made, resized = made or _makes(step), resized or _resizes(step)
    return False


def _rewrite(steps: Nodes, flow: Flow) -> Iterator[Edit]:
    del flow
    for start, run in runs(steps, _joins):
        if _pays(run):
            yield Edit(start, start + len(run), (Fused("JoinedResize", run),))


RULE = Rule(
    name="resize_window",
    equation="Window · Resize = Resize(window);  Window · Pad = Pad(window)   only what is left is made",
    contract="EXACT",
    fires="[{Resize: {height: 40, width: 30}}, {RandomCrop: {height: 16, width: 16}}, HorizontalFlip, Blur]",
    leaves="[{Resize: {height: 40, width: 30}}, HorizontalFlip, Blur, {RandomCrop: {height: 16, width: 16}}]",
    rewrite=_rewrite,
)
