"""What was found out about the files that a recipe would read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from augrecipes.errors import Lines
from augrecipes.sources.defects import Defect, report


@dataclass(frozen=True)
class Checked:
    """The files of some data, after they were looked at.

    Attributes:
        unit: what a sample is: `image`, `scene` or `bag`.
        listed: how many files each target has.
        fine: samples with which nothing is wrong.
        looked: what was looked at.
        defects: all that is wrong.
        notes: what is no defect and should be known all the same.
        more: that its kind alone has, as plain values.
        given: by a source, and not in files.
    """

    unit: str
    listed: Mapping[str, int]
    fine: int
    looked: str
    defects: tuple[Defect, ...] = ()
    notes: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    given: bool = False

    def report(self) -> Lines:
        """All that is wrong, as one text."""
        return report(self.defects, fine=self.fine, targets=list(self.listed), unit=self.unit)
