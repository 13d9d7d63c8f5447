"""Sites: the labels that key the steps' random parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from augrecipes.recipe.model import Step


def label(steps: Sequence[Step], group: str = "") -> tuple[Step, ...]:
    """The steps with `site` filled in, inside groups too.

    A step with an `id` has that id as its site, wherever it stands. Otherwise its site is its group's site, its class
    and its ordinal (from 1) among the steps of that class without id in the same group: adding an unlike step changes
    no other step's site.

    >>> blur = Step("GaussianBlur")
    >>> [step.site for step in label([Step("HorizontalFlip"), Step("OneOf", steps=(blur,)), Step("HorizontalFlip")])]
    ['HorizontalFlip#1', 'OneOf#1', 'HorizontalFlip#2']
    >>> label([Step("OneOf", id="noise", steps=(blur,))])[0].steps[0].site
    'noise/GaussianBlur#1'
    """
    if not steps:
        return ()
    seen: Counter[str] = Counter()
    labelled = []
    for step in steps:
        if step.id is not None:
            site = step.id
        else:
            seen[step.name] += 1
            site = f"{group}/{step.name}#{seen[step.name]}" if group else f"{step.name}#{seen[step.name]}"
        labelled.append(replace(step, site=site, steps=label(step.steps, site)))
    return tuple(labelled)
