"""Every capability record, by class name. Imports no albumentations: linting must be quick."""

from __future__ import annotations

from augrecipes.ops import color, geometry, texture
from augrecipes.ops.capability import Capability

_BY_NAME = {record.name: record for family in (geometry, color, texture) for record in family.CAPABILITIES}


def capability(name: str) -> Capability | None:
    """The record of the class `name`, or None where nothing is known (a registered class, say).

    >>> capability("HorizontalFlip").kind
    'dihedral'
    >>> capability("SomeClassOfYours") is None
    True
    """
    return _BY_NAME.get(name)


def known() -> tuple[str, ...]:
    """The names that have a record, sorted."""
    return tuple(sorted(_BY_NAME))
