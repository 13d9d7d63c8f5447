"""Rule `crop_first`: pointwise steps run after a crop, where they have fewer pixels."""

from __future__ import annotations

from collections.abc import Iterable

from augrecipes.compiler.rewrite.nodes import Steps, action_of, is_single
from augrecipes.compiler.rewrite.rule import Edit, Rule, swaps
from augrecipes.flow import Flow
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Step


def _may_pad(step: Step) -> bool:
    """Padding has colours of its own, which the table before the crop must not see."""
    return bool(effective(step).get("pad_if_needed"))


def _rewrite(steps: Steps, flow: Flow) -> Iterable[Edit]:
    # Only tables commute with a window bit for bit, and albumentations runs tables on uint8 only.
    # Boxes are filtered after each step, so the first of the two would then be filtered at another size.
    if flow.dtype != "uint8" or flow.boxes:
        return []
    tables = [action_of(step) == "lookup" for step in steps]
    windows = [is_single(step) and action_of(step) == "window" and not _may_pad(step) for step in steps]
    return swaps(steps, tables, windows)


RULE = Rule(
    name="crop_first",
    equation="Table · Window = Window · Table   (uint8)",
    contract="EXACT",
    fires="[HorizontalFlip, RandomGamma, {RandomCrop: {height: 16, width: 16}}]",
    leaves="[RandomGamma, {RandomCrop: {height: 9, width: 9, pad_if_needed: true}}, CLAHE, {Crop: {x_max: 4}}, Blur]",
    rewrite=_rewrite,
)
