"""What the ranges of a class's arguments say: what a step may draw, and where it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from augrecipes.ops.intervals import Meaning, interval
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import effective, takes
from augrecipes.ops.step import Step

# Arguments of two numbers that are no range, and what the numbers are.
_PAIRS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("size", "max_size_hw"), ("height", "width")),
    **dict.fromkeys(("grid", "tile_grid_size"), ("rows", "columns")),
    **dict.fromkeys(("holes_number_xy", "num_grid_xy", "shift_xy"), ("x", "y")),
    "padding": ("left, right", "top, bottom"),
}
_TWO = 2
_RANGE_WORDS = {"x-range", "x-nondecreasing"}


def meaning_of(name: str, argument: str) -> Meaning:
    """What one number means for an argument of a class that takes ranges.

    >>> meaning_of("Rotate", "limit"), meaning_of("GaussNoise", "std_range")
    ('symmetric', 'exact')
    """
    if (meaning := op_record(name).meanings.get(argument)) is not None:
        return meaning
    schema = takes(name).get(argument, {})
    return next((part["x-range"] for part in (schema, *schema.get("anyOf", ())) if "x-range" in part), "exact")


def pair_names(argument: str, schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """What the two numbers of an argument are called that is a pair but no range; None of every other argument.

    Args:
        argument: its name.
        schema: its JSON Schema, with the keywords of `class_schema`.

    >>> pair_names("size", takes("RandomResizedCrop")["size"]), pair_names("limit", takes("Rotate")["limit"])
    (('height', 'width'), None)
    """
    parts = (schema, *schema.get("anyOf", ()))
    items = next((one["prefixItems"] for one in parts if len(one.get("prefixItems", ())) == _TWO), None)
    if items is None or argument in _PAIRS:
        return items and _PAIRS[argument]
    # A range says so: by its validators, by one number that may stand for it, or by its name.
    said = any(_RANGE_WORDS & one.keys() or one.get("type") in ("number", "integer") for one in parts)
    whole = all("number" not in [part.get("type") for part in (one, *one.get("anyOf", ()))] for one in items)
    return ("first", "second") if whole and not said and not argument.endswith(("_range", "_limit")) else None


def is_neutral(step: Step) -> bool:
    """Whether every range of the step is the one value at which it changes nothing."""
    ranges = op_record(step.name).neutral
    if not ranges:
        return False
    values = effective(step)
    # `shift_limit` speaks only where its two halves are silent.
    given = {name: values[name] for name in ranges if values.get(name) is not None}
    spans = {name: interval(meaning_of(step.name, name), value) for name, value in given.items()}
    return bool(spans) and all(span == (ranges[name], ranges[name]) for name, span in spans.items())


def makes_draws(step: Step) -> bool:
    """Whether the step, when it acts, draws anything. A registered class is taken at its word: it does not."""
    record = op_record(step.name)
    if not record.is_known or is_neutral(step):
        return False
    values = effective(step)
    if not record.under(values).random:
        return False
    if not record.only_draws:
        return True
    given = {name: values[name] for name in record.only_draws if values.get(name) is not None}
    return not all(_is_one_value(meaning_of(step.name, name), value) for name, value in given.items())


def _is_one_value(meaning: Meaning, value: Any) -> bool:
    """Whether an argument leaves one value to draw; each axis of a mapping has its own."""
    if isinstance(value, Mapping):
        return all(_is_one_value(meaning, part) for part in value.values())
    span = interval(meaning, value)
    return span is not None and span[0] == span[1]
