"""The meaning of ranges in a class's arguments: what a step may draw, and where it changes nothing."""

from collections.abc import Mapping
from typing import Any

from augrecipes.ops.intervals import Meaning, interval
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import effective, record_of, takes
from augrecipes.ops.step import Step


def meaning_of(name: str, argument: str) -> Meaning:
    """The range that a single number means for an argument of a class.

    >>> meaning_of("Rotate", "limit"), meaning_of("GaussNoise", "std_range")
    ('symmetric', 'exact')
    """
    if (meaning := op_record(name).meanings.get(argument)) is not None:
        return meaning
    schema = takes(name).get(argument, {})
    return next((part["x-range"] for part in (schema, *schema.get("anyOf", ())) if "x-range" in part), "exact")


def is_neutral(step: Step) -> bool:
    """Whether every range of the step is its neutral value, so that it changes nothing."""
    ranges = op_record(step.name).neutral
    if not ranges:
        return False
    values = effective(step)
    # An argument whose default is None counts only where it is written.
    written = [name for name in ranges if values.get(name) is not None]
    spans = {name: interval(meaning_of(step.name, name), values[name]) for name in written}
    return bool(spans) and all(span == (ranges[name], ranges[name]) for name, span in spans.items())


def makes_draws(step: Step) -> bool:
    """Whether the step draws anything when it acts; a registered class is assumed not to."""
    record = record_of(step)
    if not record.random or not record.is_known or is_neutral(step):
        return False
    if not record.only_draws:
        return True
    values = effective(step)
    drawn = (name for name in record.only_draws if values.get(name) is not None)
    return not all(_is_one_value(meaning_of(step.name, name), values[name]) for name in drawn)


def _is_one_value(meaning: Meaning, value: Any) -> bool:
    """Whether an argument allows a single value only; each axis of a mapping has its own."""
    if isinstance(value, Mapping):
        return all(_is_one_value(meaning, part) for part in value.values())
    span = interval(meaning, value)
    return span is not None and span[0] == span[1]
