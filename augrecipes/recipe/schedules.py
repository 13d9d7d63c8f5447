"""Schedules of a step while it is read: each is checked, and so are the numbers that it goes through."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from augrecipes.ops.frozen import Arguments
from augrecipes.ops.schedule import is_schedule, is_whole, last_epoch, schedules_in, value_in
from augrecipes.recipe.grammar import BY_EPOCH, RAMP
from augrecipes.recipe.keys import Context
from augrecipes.recipe.nodes import MappingNode, Node, from_value, plain, walk

_MOST = 64  # epochs in which a ramp is looked at


def bodies(
    context: Context, name: str, body: MappingNode, keys: Collection[str] | None = None
) -> tuple[Arguments, list[MappingNode]]:
    """What is scheduled of a step, as written, and its body as it is in the epochs to be checked, the last one last.

    A schedule that is none is noted as a problem, and its argument left out of the bodies.

    Args:
        context: of the recipe.
        name: of the step's class.
        body: its arguments, and the keys that any step may have.
        keys: that may have schedules; None: all.
    """
    may = [key for key in body.entries if key != "steps" and (keys is None or key in keys)]
    written = {key: value for key in may if schedules_in(value := plain(body.entries[key]))}
    if not written:
        return Arguments(), [body]
    schedules = {key: value for key, value in written.items() if _is_fine(context, f"{name}.{key}", body.entries[key])}
    others = {key: node for key, node in body.entries.items() if key not in written}

    def in_epoch(epoch: int) -> MappingNode:
        now = {
            key: from_value(value_in(value, epoch, whole=is_whole(name, key)), body.entries[key].place)
            for key, value in schedules.items()
        }
        every = {**others, **now}
        return replace(body, entries={key: every[key] for key in body.entries if key in every})

    return Arguments(schedules), [in_epoch(epoch) for epoch in epochs_of(schedules)]


def epochs_of(written: Mapping[str, Any]) -> list[int]:
    """The epochs in which a step is looked at, the last one last: of many those of new numbers, and some of ramps.

    >>> epochs_of({"p": {"by_epoch": [0.5, 0.5, 1]}}), len(epochs_of({"p": {"from": 0, "to": 1, "epochs": 999}}))
    ([0, 2], 65)
    """
    last, epochs = last_epoch(written), set[int]()
    for each in schedules_in(written):
        listed = each.get("by_epoch")
        if listed is None:
            epochs.update(int(each["epochs"]) * k // _MOST for k in range(_MOST + 1))
        else:
            epochs.update(listed.index(value) for value in set(listed))
    return [*sorted(epochs - {last}), last]


def _is_fine(context: Context, label: str, node: Node) -> bool:
    """Whether the schedules in an argument are some; what is wrong with others is noted."""
    is_fine = True
    for each in walk(node):
        if isinstance(each, MappingNode) and is_schedule(each.entries):
            is_fine &= context.value(each, BY_EPOCH if "by_epoch" in each.entries else RAMP, "E315", label)
    return is_fine
