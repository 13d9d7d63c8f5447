"""What tells two steps, or two settings, apart, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from augrecipes.diff.differences import Change, StepDifference
from augrecipes.errors import harmless


def of_step(one: StepDifference) -> str:
    """What differs in a step, or where it stands now."""
    placed = one.b or one.a
    if placed is not None and (one.a is None or one.b is None):
        arguments = {name: value for name, value in placed.arguments.items() if value is not None}
        return f"{one.what} at {_place(placed.place)}: {text(arguments)}"
    parts = [f"{change.key}: {of_change(change)}" for change in one.changes]
    if one.what == "moved" and one.a and one.b:
        now = f"behind {one.b.behind}" if one.b.behind else "to the front"
        parts.insert(0, f"moved {now}, from {_place(one.a.place)} to {_place(one.b.place)}")
    return ", ".join(parts) or "another label, so other draws"


def of_change(change: Change) -> str:
    """A value that was, and the one that is.

    >>> of_change(Change("p", 0.5, None))
    '0.5 → none'
    """
    # A value is one word when lines are broken.
    return " → ".join(_value(value) for value in (change.a, change.b))


def text(value: Any) -> str:
    """A value as recipes write it, without braces.

    >>> text({"size": (224, 224), "pad": None})
    'size: [224, 224], pad: null'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {text(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(text(part) for part in value)}]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return harmless(str(value))


def _place(place: Sequence[int]) -> str:
    return ".".join(map(str, place))


def _value(value: Any) -> str:
    return "none" if value is None else f"{{{text(value)}}}" if isinstance(value, Mapping) else text(value)
