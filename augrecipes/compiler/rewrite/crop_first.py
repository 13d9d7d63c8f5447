"""A table looks up fewer pixels after a crop than before it."""

from __future__ import annotations

from itertools import pairwise

from augrecipes.compiler.rewrite.rule import Rule, Steps, kind_of
from augrecipes.flow import Flow
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Step


def _may_pad(step: Step) -> bool:
    """Padding has colours of its own, which the table before the crop must not see."""
    return bool(effective(step).get("pad_if_needed"))


def _rewrite(steps: Steps, flow: Flow) -> Steps | None:
    # Only tables commute with a window bit for bit, and albumentations runs tables on uint8 only.
    # Boxes are filtered after each step, so the first of the two would then be filtered at another size.
    if flow.dtype != "uint8" or flow.boxes:
        return None
    for i, (before, after) in enumerate(pairwise(steps)):
        if kind_of(before) == "lookup" and kind_of(after) == "window" and not _may_pad(after):
            return (*steps[:i], after, before, *steps[i + 2 :])
    return None


RULE = Rule(
    name="crop_first",
    equation="Table · Window = Window · Table   (uint8)",
    contract="EXACT",
    fires="[HorizontalFlip, RandomGamma, {RandomCrop: {height: 16, width: 16}}]",
    leaves="[RandomGamma, {RandomCrop: {height: 9, width: 9, pad_if_needed: true}}, CLAHE, {Crop: {x_max: 4}}, Blur]",
    rewrite=_rewrite,
)
