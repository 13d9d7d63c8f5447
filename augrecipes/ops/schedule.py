"""Schedules: numbers that change from epoch to epoch.

A schedule replaces a number: `{from: 0.1, to: 0.5, epochs: 30}` goes from one number, in epoch 0, to the other, in
epoch 30, and stays there, along a `curve` that is `linear`, `cosine` (half a wave: slow, fast, slow) or a `step` at the
end; `{by_epoch: [0, 0.1, 0.3]}` lists the numbers of the epochs, the last one for all that follow.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from numbers import Integral
from typing import Any, TypeVar

from augrecipes.errors import RecipeError
from augrecipes.ops.groups import GROUPS
from augrecipes.ops.registry import chance, takes
from augrecipes.ops.step import Arguments, Step

CURVES: Mapping[str, Callable[[float], float]] = {
    "linear": lambda share: share,
    "cosine": lambda share: (1 - math.cos(math.pi * share)) / 2,
    "step": lambda share: float(share >= 1),
}
S = TypeVar("S")
_WORDS = frozenset({"from", "by_epoch"})


def is_schedule(value: Any) -> bool:
    """Whether a value, as written, is a schedule.

    >>> is_schedule({"from": 0, "to": 30, "epochs": 5}), is_schedule({"x": [0, 1]})
    (True, False)
    """
    return isinstance(value, Mapping) and not _WORDS.isdisjoint(value)


def schedules_in(value: Any) -> list[Any]:
    """The schedules in a value: the value itself, or those inside it.

    >>> schedules_in([0, {"by_epoch": [1, 2]}])
    [{'by_epoch': [1, 2]}]
    """
    return [value] if is_schedule(value) else [schedule for part in _nested(value) for schedule in schedules_in(part)]


def value_in(value: Any, epoch: int, *, whole: bool = False) -> Any:
    """A value, as written, in an epoch; `whole`: scheduled numbers are rounded to integers.

    >>> value_in([0, {"from": 0, "to": 30, "epochs": 4}], 1)
    [0, 7.5]
    >>> value_in({"by_epoch": [3, 5, 7]}, 9)
    7
    """
    if is_schedule(value):
        number = _number(value, epoch)
        return round(number) if whole else number
    if isinstance(value, Mapping):
        return {key: value_in(part, epoch, whole=whole) for key, part in value.items()}
    return [value_in(part, epoch, whole=whole) for part in value] if isinstance(value, list | tuple) else value


def last_epoch(value: Any) -> int:
    """The epoch from which on nothing changes; 0 without schedules.

    >>> last_epoch([{"from": 0, "to": 30, "epochs": 4}, {"by_epoch": [1, 2, 3]}])
    4
    """
    return max(
        (len(s["by_epoch"]) - 1 if "by_epoch" in s else int(s["epochs"]) for s in schedules_in(value)), default=0
    )


def ends(steps: Iterable[Step]) -> list[int]:
    """The epochs in which a scheduled number of the steps, or of their children, is least or greatest.

    >>> ends([Step("Blur", schedule=Arguments({"p": {"by_epoch": [0.5, 0, 1, 0.2]}}))])
    [1, 2]
    """
    epochs = set[int]()
    for schedule in (found for top in steps for step in top.walk() for found in schedules_in(step.schedule)):
        row = schedule.get("by_epoch")
        epochs |= {0, int(schedule["epochs"])} if row is None else {row.index(min(row)), row.index(max(row))}
    return sorted(epochs)


def in_epoch(step: S, epoch: int) -> S:
    """The step with the numbers that it has in an epoch; the step itself where nothing in it is scheduled.

    Works for any object with `steps`. A OneOf whose steps all have weight 0 in the epoch gets `p` 0.

    Raises:
        RecipeError: the epoch is not a whole number from 0.

    >>> ramp = Arguments({"p": {"from": 0, "to": 1, "epochs": 10}})
    >>> in_epoch(Step("Blur", p=1.0, schedule=ramp), 3).p
    0.3
    """
    original: Any = step
    epoch = epoch_number(epoch)
    fields: dict[str, Any] = {"steps": tuple(in_epoch(child, epoch) for child in original.steps)}
    if (written := getattr(original, "written", None)) is not None:
        fields["written"] = in_epoch(written, epoch)
    if isinstance(original, Step) and original.schedule:
        schedules = original.schedule.plain().items()
        values = {key: value_in(value, epoch, whole=is_whole(original.name, key)) for key, value in schedules}
        p, arguments = values.pop("p", original.p), {**original.args.plain(), **values}
        fields |= {"p": p, "args": Arguments(arguments), "schedule": Arguments()}
    if all(getattr(original, key) == value for key, value in fields.items()):
        return step
    changed: Any = replace(original, **fields)
    return replace(changed, p=0.0) if isinstance(original, Step) and not chance(changed) else changed


def epoch_number(epoch: Any) -> int:
    """An epoch as an int; RecipeError where it is not a whole number from 0 (tensors and True are not).

    >>> epoch_number(-1)
    Traceback (most recent call last):
    augrecipes.errors.RecipeError: an epoch is a whole number from 0 to 2⁶³ − 1, such as 3; got -1
    """
    if isinstance(epoch, bool) or not isinstance(epoch, Integral) or not 0 <= int(epoch) < 1 << 63:
        raise RecipeError(f"an epoch is a whole number from 0 to 2⁶³ − 1, such as 3; got {epoch!r}")
    return int(epoch)


def over_epochs(values: Sequence[Any]) -> Any:
    """Merge the values of epochs 0, 1, ... into one value, with schedules for the numbers that differ.

    Raises:
        ValueError: the values differ in more than numbers.

    >>> over_epochs([{"x": [0, 1.5]}, {"x": [0, 2.5]}])
    {'x': [0, {'by_epoch': [1.5, 2.5]}]}
    """
    first = values[0]
    differs = next((epoch for epoch, value in enumerate(values) if value != first), None)
    if differs is None:
        return first
    if all(isinstance(value, dict) and [*value] == [*first] for value in values):
        return {key: over_epochs([value[key] for value in values]) for key in first}
    if all(isinstance(value, list) and len(value) == len(first) for value in values):
        return [over_epochs(parts) for parts in zip(*values, strict=True)]
    if not isinstance(first, int | float):
        raise ValueError(f"a policy keeps its steps: in epoch {differs} it would have others than in epoch 0")
    return {"by_epoch": list(values)}


@cache
def is_whole(name: str, key: str) -> bool:
    """Whether an argument of a class takes integers only.

    >>> is_whole("MedianBlur", "blur_limit"), is_whole("Rotate", "limit"), is_whole("Rotate", "p")
    (True, False, False)
    """
    if name in GROUPS:
        return key != "p"
    kinds = set(_kinds(takes(name).get(key, {})))
    return "integer" in kinds and "number" not in kinds


def _kinds(schema: Any) -> list[str]:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    own = [kind] if isinstance(kind, str) else []
    return own + [kind for part in _nested(schema) for kind in _kinds(part)]


def _nested(value: Any) -> list[Any]:
    return [*value.values()] if isinstance(value, Mapping) else [*value] if isinstance(value, list | tuple) else []


def _number(schedule: Mapping[str, Any], epoch: int) -> Any:
    if "by_epoch" in schedule:
        return schedule["by_epoch"][min(epoch, len(schedule["by_epoch"]) - 1)]
    start, end = schedule["from"], schedule["to"]
    share = CURVES[schedule.get("curve", "linear")](min(epoch / schedule["epochs"], 1.0))
    return start if share == 0 else end if share == 1 else start + (end - start) * share
