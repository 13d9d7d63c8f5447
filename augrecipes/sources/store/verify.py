"""Reads a whole store and says which bytes are not those that were written."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from augrecipes.errors import StoreError
from augrecipes.progress import Progress
from augrecipes.sources.store.columns import Texts
from augrecipes.sources.store.disk import naming
from augrecipes.sources.store.items import Items
from augrecipes.sources.store.store import Store, open_store

_READ = 1 << 22


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
        store = open_store(path)  # the index, the columns and all sizes
        files = (said.get("shards", [said]) for said in store.index["targets"].values())
        total = sum(file["size"] for several in files for file in several)
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
    about, numbers = store.index["targets"][name], range(len(items))
    if items.shards is None:
        how = _File(Path(items.path), 0, about["head"], about["size"], about["frame"])
        yield from _file(store, name, items, numbers, how)
        return
    for path, (base, size) in zip(items.shards.paths, items.shards.shards, strict=True):
        first, last = np.searchsorted(items.start, [base, base + size]).tolist()
        yield from _file(store, name, items, numbers[first:last], _File(path, base, 0, size, 0))


class _File(NamedTuple):
    """One file of a target: the place of its first byte, and as the index has it."""

    path: Path
    base: int
    head: int
    size: int
    frame: int


def _file(store: Store, name: str, items: Items, numbers: range, how: _File) -> Iterator[tuple[Fault | None, int]]:
    """The same of one file, which holds the items of these numbers."""
    part = slice(numbers.start, numbers.stop)
    starts, sizes, checksums = items.start[part].tolist(), items.size[part].tolist(), items.checksum[part].tolist()
    with naming(how.path), how.path.open("rb", buffering=0) as file:
        frame = _checksum(file, how.head)
        yield None, how.head
        end = how.base + how.head
        for item, start, size, checksum in zip(numbers, starts, sizes, checksums, strict=True):
            gap = _read(file, start - end)
            reason = "its bytes" if _checksum(file, size) != checksum else "the bytes before it" if any(gap) else ""
            yield _fault(store, name, items, item, reason) if reason else None, start + size - end
            end = start + size
        tail = how.base + how.size - end
        if _checksum(file, tail, frame) != how.frame:
            reason = "the bytes around its items are not those that were written"
            yield Fault(str(how.path), reason, name), tail
        else:
            yield None, tail


def _fault(store: Store, name: str, items: Items, item: int, what: str) -> Fault:
    row = items.row_of(item)
    reason = f"{what} are not those that were written"
    return Fault(items.file_of(item), reason, name, row, item, _source(store, name, row, item))


def _source(store: Store, name: str, row: int, item: int) -> str | None:
    for column in (store.columns.get(f"source/{name}"), store.columns.get("source")):
        if isinstance(column, Texts) and len(column) == store.count(name) != store.rows:
            return column[item]
        if isinstance(column, Texts) and len(column) and store.rows % len(column) == 0:
            return column[row * len(column) // store.rows]
    return None


def _read(file: Any, size: int) -> bytes:
    return file.read(size) if size else b""


def _checksum(file: Any, size: int, before: int = 0) -> int:
    while size and (piece := file.read(min(size, _READ))):
        before, size = zlib.crc32(piece, before), size - len(piece)
    return before
