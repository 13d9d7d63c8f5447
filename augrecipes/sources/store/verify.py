"""Reads a whole store and says which bytes are not those that were written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from augrecipes.errors import StoreError
from augrecipes.progress import Progress
from augrecipes.sources.store.columns import Texts
from augrecipes.sources.store.disk import naming
from augrecipes.sources.store.intact import read_through
from augrecipes.sources.store.items import Items
from augrecipes.sources.store.store import Store, open_store


@dataclass(frozen=True, slots=True)
class Fault:
    """One place of a store that is not as it was written.

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


def verify_store(path: str | os.PathLike[str], progress: Progress | None = None) -> list[Fault]:
    """Everything in the store at `path` that is not as it was written; a store that cannot be opened is one fault.

    Args:
        path: the store.
        progress: called with the bytes and total.
    """
    try:
        store = open_store(path, verify=None)  # the index, the columns and all sizes
        total = sum(file.size for items in store.tables.values() for file in items.shards.files)
        faults, done = [], 0
        for name, items in store.tables.items():
            for fault, size in _target(store, name, items):
                faults += [fault] if fault else []
                done += size
                if progress is not None:
                    progress(done, total)
    except StoreError as error:
        return [Fault(error.path or str(path), error.reason)]
    return faults


def _target(store: Store, name: str, items: Items) -> Iterator[tuple[Fault | None, int]]:
    """Reads the files of one target from beginning to end: what each piece has wrong with it, and its bytes."""
    for stored in items.shards.files:
        with store.folder.at_hand(stored.name) as path, naming(store.path / stored.name):
            for piece in read_through(path, stored, items.table()):
                fault = None
                if piece.wrong:
                    reason = f"{piece.wrong} are not those that were written"
                    fault = Fault(str(store.path / stored.name), reason, name)
                    if piece.item is not None:
                        row = items.row_of(piece.item)
                        source = _source(store, name, row, piece.item)
                        fault = replace(fault, row=row, item=piece.item, source=source)
                yield fault, piece.size


def _source(store: Store, name: str, row: int, item: int) -> str | None:
    for column in (store.columns.get(f"source/{name}"), store.columns.get("source")):
        if isinstance(column, Texts) and len(column) == store.count(name) != store.rows:
            return column[item]
        if isinstance(column, Texts) and len(column) and store.rows % len(column) == 0:
            return column[row * len(column) // store.rows]
    return None
