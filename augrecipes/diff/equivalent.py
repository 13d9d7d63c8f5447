"""Changes that change nothing: other arguments of which a class makes the same, as of a limit of 25 and of [-25, 25].

Only the class itself knows, so albumentations is imported here, and only where two values are to be compared. What a
change does depends on the arguments beside it, so it is tried among those of both steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from augrecipes.compat.guard import albumentations
from augrecipes.diff.differences import Change
from augrecipes.errors import RecipeError
from augrecipes.ops.fills import FILL_FIRST
from augrecipes.ops.registry import plain
from augrecipes.recipe.model import Arguments, Step

_FILL = "fill"
_RGB = 3


def equivalent(a: Step, b: Step, changes: Sequence[Change]) -> set[str]:
    """The keys of the changes from `a` to `b`, two steps of one class, that change nothing of what the class makes.

    >>> one, other = Arguments({"limit": 25}), Arguments({"limit": [-25, 25], "crop_border": True})
    >>> changes = [Change("limit", 25, [-25, 25]), Change("crop_border", False, True)]
    >>> equivalent(Step("Rotate", one), Step("Rotate", other), changes)
    {'limit'}
    """
    given = {*a.args, *b.args} if a.name == b.name else set()
    names = [name for name in dict.fromkeys(map(_argument, changes)) if name in given]
    b = replace(b, p=a.p)

    def changes_nothing(some: Sequence[str]) -> bool:
        return _alike(before, _state(_with(a, b, some))) and _alike(after, _state(_with(b, a, some)))

    try:
        before, after = (_state(step) for step in (a, b)) if names else ({}, {})
        if not _alike(before, after):
            names = [name for name in names if changes_nothing([name])]
            if not changes_nothing(names):
                return set()
    except RecipeError:
        return set()
    return {change.key for change in changes if _argument(change) in names}


def _argument(change: Change) -> str:
    return change.key.partition(".")[0]


def _with(step: Step, other: Step, names: Sequence[str]) -> Step:
    """The step with some arguments as they are in another one."""
    args = {name: value for name, value in step.args.plain().items() if name not in names}
    return replace(step, args=Arguments({**args, **{n: v for n, v in other.args.plain().items() if n in names}}))


def _state(step: Step) -> dict[str, Any]:
    """What a transform keeps beyond what every transform has; one number for three equal ones that fill pixels."""
    common = vars(albumentations().NoOp()).keys() - {"p"}
    kept = {name: value for name, value in vars(plain(step)).items() if name not in common}
    fill = kept.get(_FILL)
    if isinstance(fill, list | tuple) and len(fill) == _RGB and fill.count(fill[0]) == _RGB:
        kept[_FILL] = fill if fill[0] and step.name in FILL_FIRST else fill[0]
    return kept


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
