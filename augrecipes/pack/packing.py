"""A store that is going to be written, or was: what is packed, where, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass

from augrecipes.data.reading.sample import RecipeSource
from augrecipes.data.tables.packed_table import Unreadable
from augrecipes.errors import counted
from augrecipes.pack.bake import Baker
from augrecipes.pack.part import PackPart
from augrecipes.pack.plan import BakedSteps
from augrecipes.pack.size import StoreSize
from augrecipes.redact import redact
from augrecipes.sources.remote import Place


@dataclass(frozen=True)
class Packing:
    """A store that is going to be written, or was.

    Attributes:
        plan: which steps are baked.
        given: the data.
        out: the store's folder, or its address.
        rows: pictures, scenes or tiles, times the epochs that are baked.
        baker: makes the rows.
        size: on disk.
        unreadable: inputs without pixels; filled by `write`.
        part: of several, in folders of their own in `out`; None: all.
        shard_bytes: of a file of a target; None: it has one file.
    """

    plan: BakedSteps
    given: RecipeSource
    out: Place
    rows: int
    baker: Baker
    size: StoreSize
    unreadable: tuple[Unreadable, ...] = ()
    part: PackPart | None = None
    shard_bytes: int | None = None

    def __repr__(self) -> str:
        size = f"{'' if self.size.exact else 'about '}{self.size.bytes:,} bytes"
        lost = [f"{len(self.unreadable):,} unreadable"] if self.unreadable else []
        facts = ", ".join([self.baker.format, counted(self.rows, "row"), size, *lost])
        return f"<Packing to {redact(str(self.place))}: {facts}>"

    @property
    def place(self) -> Place:
        """Of what is written: the store, or the folder of its part."""
        return self.out if self.part is None else self.out / self.part.name

    @property
    def mine(self) -> range:
        """The rows that are made here."""
        times = self.plan.times
        units = range(self.rows // times) if self.part is None else self.part.units(self.rows // times)
        return range(units.start * times, units.stop * times)
