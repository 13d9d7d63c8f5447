"""Rule `drop_noops`: steps that cannot act are removed."""

from __future__ import annotations

from collections.abc import Iterable

from augrecipes.compiler.rewrite.nodes import Steps, action_of
from augrecipes.compiler.rewrite.rule import Edit, Rule
from augrecipes.flow import Flow
from augrecipes.recipe.model import Step


def _is_noop(step: Step) -> bool:
    return step.p == 0 or action_of(step) == "identity"


def _rewrite(steps: Steps, flow: Flow) -> Iterable[Edit]:
    # Albumentations filters boxes after each step, also after one that did nothing, and a filter is not always
    # idempotent: at min_visibility 1 rounding loses some boxes at every pass.
    if flow.boxes:
        return []
    return [Edit(place, place + 1, ()) for place, step in enumerate(steps) if _is_noop(step)]


RULE = Rule(
    name="drop_noops",
    equation="NoOp · X = X;  X{p: 0} · Y = Y",
    contract="EXACT",
    fires="[HorizontalFlip, NoOp, {Blur: {p: 0}}]",
    leaves="[HorizontalFlip, {Blur: {p: 0.1}}]",
    rewrite=_rewrite,
)
