"""Equivalent arguments: written differently, they mean the same to their class, as a limit of 25 and of [-25, 25] do.

Only the class itself knows, so albumentations is imported here, and only where two values are to be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.compat.guard import albumentations
from augrecipes.diff.differences import Change
from augrecipes.errors import RecipeError
from augrecipes.ops.registry import plain
from augrecipes.recipe.model import Arguments, Step


def equivalent(step: Step, changes: Sequence[Change]) -> set[str]:
    """The keys of the changes after which the class of `step` builds the very same transform.

    >>> wide = Step("Rotate", Arguments({"limit": 25}))
    >>> equivalent(wide, [Change("limit", 25, [-25, 25]), Change("crop_border", False, True)])
    {'limit'}
    """
    asked = [change for change in changes if _form(change.a) != _form(change.b)]
    if not asked:
        return set()
    try:
        before = _state(step)
        found = [change for change in asked if _alike(before, _state(_with(step, [change])))]
        together = _alike(before, _state(_with(step, found)))
    except RecipeError:
        return set()
    return {change.key for change in found} if together else set()


def _form(value: Any) -> str:
    return "mapping" if isinstance(value, Mapping) else "list" if isinstance(value, list | tuple) else "scalar"


def _with(step: Step, changes: Sequence[Change]) -> Step:
    return replace(step, args=Arguments({**step.args.plain(), **{change.key: change.b for change in changes}}))


def _state(step: Step) -> dict[str, Any]:
    """What a transform keeps beyond what every transform has."""
    common = vars(albumentations().NoOp()).keys() - {"p"}
    return {name: value for name, value in vars(plain(step)).items() if name not in common}


def _alike(a: Any, b: Any) -> bool:
    """Whether two values are equal for certain; what cannot be compared is not."""
    if type(a) is not type(b):
        return False
    import numpy as np  # late: who only reads an explanation does not wait for it

    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_alike, a, b))
    return a is b or (isinstance(a, bool | int | float | str) and a == b)
