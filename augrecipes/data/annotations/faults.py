"""What is wrong with records of annotations, each with its place."""

from __future__ import annotations

from augrecipes.data.tables.problems import listed
from augrecipes.errors import DataError

_KEPT = 1_000  # the rest is counted


class Faults:
    """What is wrong with records, each with its place."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, str]] = []
        self.count = 0

    def add(self, where: str, what: str) -> None:
        """Something is wrong at a place: a file, or a file and a record."""
        self.count += 1
        if len(self.kept) < _KEPT:
            self.kept.append((where, what))

    def take(self, other: Faults) -> None:
        """Those of another."""
        self.count += other.count
        self.kept = [*self.kept, *other.kept][:_KEPT]

    def refuse(self) -> None:
        """DataError of all that is wrong; nothing where there is nothing."""
        if self.count == 1:
            where, what = self.kept[0]
            raise DataError(what, where)
        if self.count:
            more = [f"and {self.count - len(self.kept):,} more"] if self.count > len(self.kept) else []
            lines = listed([*(f"{where}: {what}" for where, what in self.kept), *more])
            raise DataError(f"{self.count:,} problems in the annotations:{lines}")
