"""The last word on a step's arguments, after the schema: our checks, and of registered classes the constructor.

Every class of albumentations whose constructor refuses more than its schema does has a check in its record: importing
it takes longer than everything else that `augrecipes check` does.
"""

from __future__ import annotations

from augrecipes.ops import bounds, registry
from augrecipes.ops.readable import Refusal
from augrecipes.ops.records import op_record
from augrecipes.ops.step import Step


def verdict(step: Step, max_bytes: int | None = bounds.MOST_BYTES) -> Refusal | None:
    """Why the class of `step` refuses its arguments, or None where it takes them. The schema has accepted them.

    `max_bytes`: of the largest image that it may make.

    >>> from augrecipes.ops.frozen import Arguments
    >>> from augrecipes.ops.step import Step
    >>> verdict(Step("Crop", Arguments({"x_min": 9, "x_max": 5}))).argument
    'x_max'
    """
    if registry.is_registered(step.name):
        return _ask(step)
    merged = {name: part.get("default") for name, part in registry.takes(step.name).items()} | step.args.plain()
    # Bounds first: a check reckons with numbers that make sense.
    record = op_record(step.name)
    fault = bounds.fault(record, merged, max_bytes)
    if fault is None and record.check is not None:
        fault = record.check(merged)
    return None if fault is None else Refusal(fault[1], fault[0])


def _ask(step: Step) -> Refusal | None:
    """What the constructor says: a class of the program's own may change from run to run."""
    try:
        registry.build(registry.get_class(step.name), registry.keywords(step))
    except Refusal as refusal:
        return Refusal(refusal.message, refusal.argument)  # without the traceback's frames
    return None
