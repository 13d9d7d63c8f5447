"""Reads a whole store and says which bytes are not what was written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One place of a store that is not what was written.

    Attributes:
        path: the file that is damaged.
        reason: what is wrong.
        target: name of the target, where the file belongs to one.
        row: row of the sample, where the place belongs to one.
        item: number of the item within its target.
        source: the file that the item was packed from, where the store says so.
    """

    path: str
    reason: str
    target: str | None = None
    row: int | None = None
    item: int | None = None
    source: str | None = None
