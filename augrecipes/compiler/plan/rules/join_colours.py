"""Colour steps in a row are matrices: a few passes over the picture instead of several for each."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from augrecipes.compiler.plan.contracts import ALL, held_from
from augrecipes.compiler.plan.nodes import Fused, Nodes, Steps
from augrecipes.compiler.plan.rule import Edit, Rule, runs
from augrecipes.flow import Flow
from augrecipes.ops.amplify import jitter, turns_hue
from augrecipes.ops.capabilities import capability
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Step

# Alone, these are quick as they are: a table, or a matrix already.
_QUICK_ALONE = frozenset({"ToGray", "ToSepia", "ChannelShuffle", "PlanckianJitter", "RandomBrightnessContrast"})


def joins(step: Step) -> bool:
    """Whether a step, or every step of a group, is a list of colour operations."""
    if step.is_group:
        return all(joins(child) for child in step.steps)
    record = capability(step.name)
    if record is None or record.tint is None:
        return False
    return record.when is None or record.when(effective(step))  # otherwise it may read the picture to draw


def levels(run: Steps) -> int:
    """What joined steps may change: two levels for each matrix, ten for a turn of the hue, times later gains.

    OpenCV counts the hue of uint8 in steps of two degrees, so that a value which is one level off may come out of HSV a
    whole step away: 8.5 levels on a pure colour.
    """
    total, gains = 0.0, 1.0
    for leaf in (leaf for step in run for leaf in step.walk()):
        if leaf.name == "ColorJitter":
            total += 14 if turns_hue(effective(leaf)) else 4
            gains *= jitter(effective(leaf))
        elif not leaf.steps:
            total += 2
            record = capability(leaf.name)
            gains *= (record is not None and record.gain_for(effective(leaf))) or 1.0
    return ceil(min(total * gains, ALL))


def _pays(run: Steps) -> bool:
    leaves = [leaf for step in run for leaf in step.walk() if not leaf.is_group]
    return len(leaves) > 1 or any(leaf.name not in _QUICK_ALONE for leaf in leaves)


def _rewrite(steps: Nodes, flow: Flow) -> Iterator[Edit]:
    if flow.dtype is None:
        return
    behind = held_from(steps, flow, "LEVELS")
    for start, run in runs(steps, joins):
        stop = start + len(run)
        if behind[stop] is None and _pays(run):
            yield Edit(start, stop, (Fused("JoinedColours", run),), levels(run))


RULE = Rule(
    name="join_colours",
    equation="Colour(A) · Colour(B) = Colour(B·A)   where nothing saturates between them; hue through HSV",
    contract="LEVELS",
    fires="[{ColorJitter: {brightness: 0.2, contrast: 0.1, saturation: 0.1, hue: 0, p: 1.0}}, ToGray]",
    leaves="[ToGray, Blur, ToSepia]",
    rewrite=_rewrite,
)
