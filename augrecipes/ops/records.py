"""Every record, by class name. Imports no albumentations: linting must be quick."""

from functools import cache

from augrecipes.ops.families import colours, crops, filters, flips, levels, noise, overlays, resizes, warps
from augrecipes.ops.record import NOTHING, OpRecord

_FAMILIES = (flips, crops, resizes, warps, overlays, levels, colours, filters, noise)
_BY_NAME = {record.name: record for family in _FAMILIES for record in family.RECORDS}
_UNKNOWN = OpRecord("", targets=NOTHING)


def op_record(name: str) -> OpRecord:
    """The record of the class `name`; of a class of which nothing is known one that says nothing.

    >>> op_record("RandomCrop").crops, op_record("SomeClassOfYours").is_known
    ('anywhere', False)
    """
    return _BY_NAME.get(name, _UNKNOWN)


def record_names() -> tuple[str, ...]:
    """The names that have a record, sorted."""
    return tuple(sorted(_BY_NAME))


def own_names() -> tuple[str, ...]:
    """The names of augrecipes' own classes, sorted."""
    return tuple(name for name in record_names() if _BY_NAME[name].module)


@cache
def rescalable() -> tuple[str, ...]:
    """The names of those that resample and can be carried from one grid to another, sorted.

    Perspective rescales without the half pixel, and fields of displacements are drawn pixel by pixel: those cannot.

    >>> "Rotate" in rescalable(), "Perspective" in rescalable()
    (True, False)
    """
    return tuple(n for n in record_names() if _BY_NAME[n].action == "warp" and _BY_NAME[n].grids == "same")
