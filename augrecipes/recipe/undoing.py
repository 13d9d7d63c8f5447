"""Which steps keep predictions from coming back to the source's grid: test-time augmentation undoes the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from augrecipes.ops import groups
from augrecipes.ops.ranges import makes_draws
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import chance, plain, record_of
from augrecipes.ops.step import Step


def obstacles(steps: Iterable[Step]) -> Iterator[tuple[Step, str]]:
    """The steps that put pixels where no matrix brings them back from, or by chance; and why.

    >>> [(step.name, why) for step, why in obstacles([Step("Transpose", p=1), Step("ElasticTransform", p=1)])]
    [('ElasticTransform', 'draws where pixels go')]
    """
    for step in steps:
        if step.name == groups.SEQUENTIAL and chance(step) == 1:
            yield from obstacles(step.steps)
        elif step.name != groups.DEGRADE and chance(step) > 0 and any(map(_moves, step.walk())) and (why := _why(step)):
            yield step, why


def _moves(step: Step) -> bool:
    """Whether the step may put pixels elsewhere; a registered class is asked what it acts on."""
    record = op_record(step.name)
    return record.moves if record.is_known else not step.is_group and "mask" in plain(step).targets


def _why(step: Step) -> str:
    record = op_record(step.name)
    if step.is_group:
        return "leaves to chance whether steps in it move pixels"
    if not record.is_known:
        return "is a class of your own: nothing is known of where it puts pixels"
    if chance(step) < 1:
        return "moves pixels in some samples only"
    if makes_draws(step):
        return "draws where pixels go"
    known = record_of(step).action != "opaque" or record.effect == "padding"
    return "" if known else "bends the image by no matrix"
