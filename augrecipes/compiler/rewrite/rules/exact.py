"""Rules that change no bit: groups opened, steps without effect removed."""

from __future__ import annotations

from collections.abc import Iterator

from augrecipes.compiler.rewrite.nodes import Steps, action_of
from augrecipes.compiler.rewrite.rule import Edit, rule
from augrecipes.flow import Flow
from augrecipes.ops import groups
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
