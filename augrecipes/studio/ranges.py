"""How far a slider goes: the bounds of an argument's schema, and where it has none, of its default."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Range:
    """What a control of an argument looks like.

    Attributes:
        type: `number`, `integer`, `boolean`, `choice`, `range` (two numbers), `list` or `any`.
        least: of a slider; None where there is none.
        most: the same.
        step: between two places of the slider.
        two_ended: two numbers, from and to, are given.
        one_number: of what takes two, one is enough.
        whole: numbers are whole.
        choices: what may be chosen.
    """

    type: str
    least: float | None = None
    most: float | None = None
    step: float | None = None
    two_ended: bool = False
    one_number: bool = False
    whole: bool = False
    choices: list[Any] | None = None


def range_of(name: str, part: Schema) -> Range:
    """The control of an argument, from its JSON Schema.

    >>> range_of("p", {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5})
    Range(type='number', least=0, most=1, step=0.01, two_ended=False, one_number=False, whole=False, choices=None)
    """
    either = part.get("anyOf", [part])
    pairs = [one for one in either if len(one.get("prefixItems", ())) == 2]
    alone = [one for one in either if one.get("type") in ("number", "integer")]
    if pairs or alone:
        ends = pairs[0]["prefixItems"] if pairs else alone[:1]
        whole = all(one.get("type") == "integer" for one in ends)
        least, most = _bounds(ends, part.get("default"), whole=whole)
        kind = "range" if pairs else "integer" if whole else "number"
        step = 1.0 if whole else _step(most - least)
        return Range(kind, least, most, step, bool(pairs), bool(pairs and alone), whole)
    choices = next((one["enum"] for one in either if "enum" in one), None)
    if choices is not None:
        # Constants have names; their numbers are for those who come from OpenCV.
        named = [one for one in choices if not isinstance(one, int) or isinstance(one, bool)]
        return Range("choice", choices=named or list(choices))
    types = [one.get("type") for one in either]
    for kind, shown in (("boolean", "boolean"), ("array", "list"), ("string", "text")):
        if kind in types:
            return Range(shown)
    return Range("any")


def _bounds(ends: list[Schema], default: Any, *, whole: bool) -> tuple[float, float]:
    """What the schema says; where it says nothing, a round number around what is usual."""
    least = min((_least(one, whole=whole) for one in ends), key=lambda value: (value is not None, value or 0))
    most = max((_most(one, whole=whole) for one in ends), key=lambda value: (value is None, value or 0))
    usual = [abs(float(value)) for value in _numbers(default)]
    reach = _round_up(2 * max(usual, default=0.5) or 1.0)
    if least is None:
        least = -reach if any(value < 0 for value in _numbers(default)) or not usual or not any(usual) else 0.0
        least = min(least, *(float(value) for value in _numbers(default)), 0.0)
    if most is None:
        most = max(reach, least + 1)
    return (math.floor(least), math.ceil(most)) if whole else (least, most)


def _least(one: Schema, *, whole: bool) -> float | None:
    if "exclusiveMinimum" in one:
        return float(one["exclusiveMinimum"]) + (1 if whole else 0)
    return one.get("minimum")


def _most(one: Schema, *, whole: bool) -> float | None:
    if "exclusiveMaximum" in one:
        return float(one["exclusiveMaximum"]) - (1 if whole else 0)
    return one.get("maximum")


def _numbers(default: Any) -> list[float]:
    given = default if isinstance(default, list | tuple) else [default]
    return [float(one) for one in given if isinstance(one, int | float) and not isinstance(one, bool)]


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, ..."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(part * power for part in (1, 2, 5, 10) if part * power >= value * (1 - 1e-9))


def _step(width: float) -> float:
    """A hundred places or so, at round numbers."""
    return 10.0 ** math.floor(math.log10(width / 50)) if width > 0 else 0.01
