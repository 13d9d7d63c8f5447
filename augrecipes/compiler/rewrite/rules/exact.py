"""Rules that change no bit: groups opened, steps without effect removed, tables behind crops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from augrecipes.compiler.rewrite.nodes import Steps, action_of, is_single
from augrecipes.compiler.rewrite.rule import Edit, rule, swaps
from augrecipes.flow import Flow
from augrecipes.ops import groups
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Step

# Albumentations filters boxes behind each step, also behind a group and behind a step that did nothing. A filter is not
# always idempotent (at min_visibility 1 rounding loses some boxes at every pass), and goes by the size of the image
# there: with boxes no rule of this file fires.


def _opens(step: Step) -> bool:
    """Whether a group only runs its steps: they keep their labels, so their draws."""
    if step.name != groups.SEQUENTIAL:
        return False
    return step.p in (None, 1) and step.share is None and not step.target


def _opened(step: Step) -> Steps:
    return tuple(leaf for child in step.steps for leaf in _opened(child)) if _opens(step) else (step,)


@rule(
    "EXACT",
    fires="[{Sequential: {p: 1.0, steps: [Blur, HorizontalFlip]}}, VerticalFlip]",
    leaves="[{Sequential: {p: 0.5, steps: [HorizontalFlip]}}, {OneOf: {p: 1.0, steps: [VerticalFlip]}}]",
    opens=True,
)
def open_groups(steps: Steps, flow: Flow) -> Iterator[Edit]:
    """Sequential(X · Y){p: 1} = X · Y"""
    if not flow.boxes:
        for place, step in enumerate(steps):
            if _opens(step):
                yield Edit(place, place + 1, _opened(step))


@rule("EXACT", fires="[HorizontalFlip, NoOp, {Blur: {p: 0}}]", leaves="[HorizontalFlip, {Blur: {p: 0.1}}]")
def drop_noops(steps: Steps, flow: Flow) -> Iterator[Edit]:
    """NoOp · X = X;  X{p: 0} · Y = Y"""
    if not flow.boxes:
        for place, step in enumerate(steps):
            if step.p == 0 or action_of(step) == "identity":
                yield Edit(place, place + 1, ())


def _may_pad(step: Step) -> bool:
    """Padding has colours of its own, which the table before the crop must not see."""
    return bool(effective(step).get("pad_if_needed"))


@rule(
    "EXACT",
    fires="[HorizontalFlip, RandomGamma, {RandomCrop: {height: 16, width: 16}}]",
    leaves="[RandomGamma, {RandomCrop: {height: 9, width: 9, pad_if_needed: true}}, CLAHE, {Crop: {x_max: 4}}, Blur]",
)
def crop_first(steps: Steps, flow: Flow) -> Iterable[Edit]:
    """Table · Window = Window · Table   (uint8)"""
    # Only tables commute with a window bit for bit, and albumentations runs tables on uint8 only.
    if flow.dtype != "uint8" or flow.boxes:
        return []
    tables = [action_of(step) == "lookup" for step in steps]
    windows = [is_single(step) and action_of(step) == "window" and not _may_pad(step) for step in steps]
    return swaps(steps, tables, windows)
