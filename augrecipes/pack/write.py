"""Rows baked into a store, or into the store of a part, from where an interrupted run stopped."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from augrecipes.data.tables.packed_table import Unreadable
from augrecipes.errors import DataError, StoreError
from augrecipes.machine import cores
from augrecipes.pack.bake import Baker
from augrecipes.pack.packing import Packing
from augrecipes.pack.part import PackPart
from augrecipes.pack.store_plan import StorePlan
from augrecipes.pack.workers import baked
from augrecipes.progress import Progress
from augrecipes.sources.remote import Place
from augrecipes.sources.store import FORMATS, Store, StoreWriter, open_part
from augrecipes.sources.store.columns import Texts
from augrecipes.sources.store.disk import naming
from augrecipes.sources.store.index import NAME, as_json


def bake_rows(
    writer: StoreWriter, baker: Baker, rows: range, workers: int | None, on_error: str, advance: Progress | None
) -> None:
    """Writes rows of a packing, `rows`, which are all of a writer's.

    Raises:
        DataError: with `on_error` raise, an input that cannot be read.
    """
    writer.keep(_unchanged(baker, writer, rows))
    left = rows[writer.done :]
    made = baked(baker, left, cores() if workers is None else workers)
    for number, one in zip(range(writer.done, len(rows)), made, strict=True):
        if not one.items and on_error == "raise":
            lost = json.loads(one.note)
            raise DataError(lost["reason"], lost["path"])
        writer.add(number, one.items, note=one.note)
        if advance is not None:
            advance(number + 1, len(rows))


def write_part(
    packing: Packing, whole: StorePlan, part: PackPart, workers: int | None, on_error: str, advance: Progress | None
) -> tuple[Unreadable, ...]:
    """Writes one part of a packing, as a folder in its `out`; one that is there is looked at, and left as it is.

    A part is a store of its rows in shards. Beside them it holds their notes, and what the whole store will say of
    itself; the first part has the columns of the whole.

    Returns:
        The inputs without pixels.

    Raises:
        StoreError: another packing's part is there, or one of files that have changed since; or the parts are a store.
    """
    baker, rows, out = packing.baker, packing.mine, packing.out
    folder = out / part.name
    about = {"part": [part.number, part.of], "first": rows.start, "whole": whole.said}
    if isinstance(out, Path):
        _make(out)
    if _is_there(folder):
        with suppress(StoreError):
            StoreWriter.discard(folder)  # of a run that was killed once all was done
        notes = _found(folder, about, baker, rows)
    else:
        refuse_published(out)
        size = packing.size.bytes * len(rows) // max(1, packing.rows)
        arguments = {**whole.writer, "rows": len(rows), "about": about}
        with StoreWriter.open(folder, **arguments, expected_bytes=size, shard_bytes=packing.shard_bytes) as writer:
            bake_rows(writer, baker, rows, workers, on_error, advance)
            kept = writer.notes
            notes = [kept[row] for row in range(len(rows))]
            of_whole = {f"whole/{name}": column for name, column in whole.columns.items()} if part.number == 1 else {}
            writer.finish({"note": notes, **of_whole})
    reports = ((row, json.loads(note)) for row, note in zip(rows, notes, strict=True))
    return tuple(Unreadable(row, note["path"], note["reason"]) for row, note in reports if "reason" in note)


def refuse_published(out: Place) -> None:
    """StoreError where the folder of parts is a store by now."""
    with naming(out):
        there = (out / NAME).exists()
    if there:
        raise StoreError(
            f"is a store by now, and a published store is never modified: remove its {NAME} before a part is packed "
            "again, and merge afterwards",
            str(out),
        )


def refuse_parts(format: str, out: Any) -> None:
    """StoreError for a format that cannot be packed in parts."""
    if FORMATS[format].assemble is not None:
        raise StoreError(f"{format} is one file a target: pack it without parts, or the parts as raw", str(out))


def _is_there(folder: Place) -> bool:
    """Whether a part is there: of a folder of this machine its name is enough, since it is renamed when it is whole."""
    if isinstance(folder, Path):
        return os.path.lexists(folder)
    with naming(folder):
        return (folder / NAME).exists()


def _make(folder: Path) -> None:
    """The folder of the parts; whoever is first makes it."""
    if not folder.absolute().parent.is_dir():
        raise StoreError("the folder that it should be in does not exist; make it first", path=str(folder))
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot be made: {error.strerror or error}", path=str(folder)) from error


def _found(folder: Place, about: dict[str, Any], baker: Baker, rows: range) -> list[str]:
    """The notes of a part that is there already: the very part that would be written."""
    store, about = open_part(folder), as_json(about)
    if store.about != about:
        other = ", ".join(differences(store.about, about))
        raise StoreError(
            f"there is such a part of another packing (other: {other}); take another folder, or remove it", str(folder)
        )
    notes = list(notes_of(store))
    for row, note in zip(rows, notes, strict=True):
        if row % baker.times == 0 and json.loads(note).get("stamp") != baker.stamp(row):
            path = next(iter(baker.table.paths(row // baker.times).values()))
            raise StoreError(f"was made before {path} changed; remove it, and run again", str(folder))
    return notes


def notes_of(store: Store) -> Texts:
    """What is known of each row of a part, beside its pixels; StoreError where that is missing."""
    notes = store.columns.get("note")
    if not isinstance(notes, Texts) or len(notes) != store.rows:
        raise StoreError("no part of a packing: its rows have no notes; pack it again", str(store.path))
    return notes


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Names of what differs, the deepest that are objects in both."""
    found = []
    for name in sorted({*one, *other}):
        a, b = one.get(name), other.get(name)
        if a != b:
            found += differences(a, b) if isinstance(a, dict) and isinstance(b, dict) else [name]
    return found


def _unchanged(baker: Baker, writer: StoreWriter, rows: range) -> int:
    """How many rows at the beginning were made of the very files that are there now."""
    notes, stamp = writer.notes, None
    for number, row in enumerate(rows[: writer.done]):
        if number == 0 or row % baker.times == 0:
            stamp = baker.stamp(row)
        if json.loads(notes.get(number, "{}")).get("stamp") != stamp:
            return number
    return writer.done
