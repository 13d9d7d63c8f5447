"""Rule `open_groups`: the steps of a Sequential that always acts stand among those around it."""

from __future__ import annotations

from collections.abc import Iterator

from augrecipes.compiler.rewrite.nodes import Steps
from augrecipes.compiler.rewrite.rule import Edit, Rule
from augrecipes.flow import Flow
from augrecipes.ops import groups
from augrecipes.recipe.model import Step


def _opens(step: Step) -> bool:
    """Whether a group only runs its steps: they keep their labels, so their draws."""
    if step.name != groups.SEQUENTIAL:
        return False
    return step.p in (None, 1) and step.share is None and not step.target


def _opened(step: Step) -> Steps:
    return tuple(one for inside in step.steps for one in _opened(inside)) if _opens(step) else (step,)


def _rewrite(steps: Steps, flow: Flow) -> Iterator[Edit]:
    # Behind a group albumentations filters boxes once more, and a filter is not always idempotent.
    if not flow.boxes:
        for place, step in enumerate(steps):
            if _opens(step):
                yield Edit(place, place + 1, _opened(step))


RULE = Rule(
    name="open_groups",
    equation="Sequential(X · Y){p: 1} = X · Y",
    contract="EXACT",
    fires="[{Sequential: {p: 1.0, steps: [Blur, HorizontalFlip]}}, VerticalFlip]",
    leaves="[{Sequential: {p: 0.5, steps: [HorizontalFlip]}}, {OneOf: {p: 1.0, steps: [VerticalFlip]}}]",
    rewrite=_rewrite,
    opens=True,
)
