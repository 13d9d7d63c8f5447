"""Every capability record, by class name. Imports no albumentations: linting must be quick."""

from __future__ import annotations

from functools import cache

from augrecipes.ops import color, geometry, texture
from augrecipes.ops.capability import NOTHING, Capability

_BY_NAME = {record.name: record for family in (geometry, color, texture) for record in family.CAPABILITIES}
_NO_CLAIMS = Capability("", targets=NOTHING)


def capability(name: str) -> Capability | None:
    """The record of the class `name`, or None where nothing is known (a registered class, say).

    >>> capability("HorizontalFlip").action
    'dihedral'
    >>> capability("SomeClassOfYours") is None
    True
    """
    return _BY_NAME.get(name)


def claims(name: str) -> Capability:
    """The record of the class `name`, or one that claims nothing.

    >>> claims("RandomCrop").crops, claims("SomeClassOfYours").crops
    ('anywhere', None)
    """
    return _BY_NAME.get(name, _NO_CLAIMS)


def known() -> tuple[str, ...]:
    """The names that have a record, sorted."""
    return tuple(sorted(_BY_NAME))


@cache
def carried() -> tuple[str, ...]:
    """The names of those that resample and can be carried from one grid to another, sorted.

    Perspective rescales without the half pixel, and fields of displacements are drawn pixel by pixel: those cannot.

    >>> "Rotate" in carried(), "Perspective" in carried()
    (True, False)
    """
    return tuple(n for n in known() if _BY_NAME[n].action == "warp" and _BY_NAME[n].grids_for({}) == "same")
