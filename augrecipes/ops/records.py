"""Every record, by class name. Imports no albumentations: linting must be quick."""

from functools import cache

from augrecipes.ops.families import colours, crops, filters, flips, levels, noise, overlays, resizes, warps
from augrecipes.ops.record import NOTHING, OpRecord

_FAMILIES = (flips, crops, resizes, warps, overlays, levels, colours, filters, noise)
_BY_NAME = {record.name: record for family in _FAMILIES for record in family.RECORDS}
_UNKNOWN = OpRecord("", targets=NOTHING)


def op_record(name: str) -> OpRecord:
    """The record of the class `name`; an unknown class has a record without facts.

    >>> op_record("RandomCrop").crops, op_record("SomeClassOfYours").is_known
    ('anywhere', False)
    """
    return _BY_NAME.get(name, _UNKNOWN)


def record_names() -> tuple[str, ...]:
    """The names of classes with a record, sorted."""
    return tuple(sorted(_BY_NAME))


def own_names() -> tuple[str, ...]:
    """The names of augrecipes' own classes, sorted."""
    return tuple(name for name in record_names() if _BY_NAME[name].module)


@cache
def rescalable() -> tuple[str, ...]:
    """The names of classes that resample and whose draws can be scaled to another grid, sorted.

    Perspective, which rescales without half-pixel shifts, and fields of displacements, drawn per pixel, cannot.

    >>> "Rotate" in rescalable(), "Perspective" in rescalable()
    (True, False)
    """
    return tuple(n for n in record_names() if _BY_NAME[n].action == "warp" and _BY_NAME[n].grids == "same")
