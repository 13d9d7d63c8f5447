"""Parts of a packing made one store: an index is written next to them, and they stay as they are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from augrecipes.errors import StoreError
from augrecipes.packing.content import StorePlan
from augrecipes.packing.parts import PackPart, part_named
from augrecipes.remote import Place, place_of
from augrecipes.sources.packed_columns import POINTS, Unreadable
from augrecipes.store import Store, index, open_store
from augrecipes.store.columns import Texts, tables_of
from augrecipes.store.index import NAME, SIZE, differences, publish, stage_folder
from augrecipes.store.tables import joined

_SHOWN = 6  # parts that are missing, named
_WHOLE = "whole/"  # what names of the whole store's columns begin with in its first part
_ABOUT: dict[str, Any] = {
    "part": [SIZE],
    "first": SIZE,
    "whole": {
        "about": {"units": SIZE, "epochs": SIZE},
        "format": str,
        "kind": str,
        "points": [POINTS],
        "quality": range(1, 101),
        "rows": SIZE,
        "targets": index.INDEX["targets"],
    },
}


class Merged(NamedTuple):
    """A store made of parts.

    Attributes:
        out: the store.
        parts: how many.
        rows: in all.
        unreadable: inputs without pixels.
    """

    out: Place
    parts: int
    rows: int
    unreadable: tuple[Unreadable, ...]


def about_part(part: PackPart, first: int, whole: StorePlan) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the index of a part says, and which columns of the whole store it has."""
    about = {"part": [*part], "first": first, "whole": whole.said}
    return about, {_WHOLE + name: column for name, column in whole.columns.items()} if part.number == 1 else {}


def merge_parts(folder: str | os.PathLike[str]) -> Merged:
    """Makes one store of the parts that `augrecipes pack --part` wrote, in any order and on any machine.

    Nothing is copied: the folder gets an index, and is the store. It can be done again.

    Args:
        folder: where all parts are, `part-1-of-8` and so on; a folder, or an address.

    Raises:
        StoreError: parts are missing, damaged, or of different packings; or the folder is another store already.
    """
    place = place_of(folder)
    notes, shards, tables, whole, quality = list[str](), list[Any](), dict[str, list[Any]](), None, None
    paths = _paths_in(place)
    for path in paths:  # one at a time is open: there may be more than files that a process may hold
        part = _opened(path)
        said = part.about["whole"]
        if whole is None:
            columns = {name.removeprefix(_WHOLE): column for name, column in part.columns.items() if name != "note"}
            whole, quality = StorePlan(said, columns), part.index["quality"]
        if said != whole.said:
            names = ", ".join(differences(said, whole.said))
            raise StoreError(f"is of another packing than part 1 (other: {names}): pack it again", str(path))
        notes += notes_of(part)
        shards += [{**shard, "part": path.name} for shard in part.index["shards"]]
        for name, items in part.tables.items():
            found = {key: np.array(column) for key, column in items.table.items()}
            tables.setdefault(name, []).append(found)
    assert whole is not None
    more, about, lost = whole.finished(notes)
    said = {name: whole.said[name] for name in ("format", "kind", "rows", "targets")} | {"quality": quality}
    said["about"] = {**whole.said["about"], **about}
    publish(place, {name: joined(found) for name, found in tables.items()}, tables_of(more), said, shards)
    return Merged(place, len(paths), said["rows"], lost)


def _paths_in(folder: Place) -> list[Place]:
    """The folders of all parts, in order. StoreError where some are missing, or there are others."""
    try:
        found = {part: path for path in folder.iterdir() if (part := part_named(path.name)) is not None}
    except OSError as error:
        why = "no such folder" if isinstance(error, FileNotFoundError) else error.strerror or error
        raise StoreError(f"its parts cannot be listed: {why}", str(folder)) from None
    if not found:
        raise StoreError("has no part of a store in it: augrecipes pack ... --part 1/8 --out writes one", str(folder))
    counts = sorted({part.of for part in found})
    if len(counts) > 1:
        several = " and ".join(map(str, counts))
        raise StoreError(f"has parts of {several}: keep those of one packing in a folder of their own", str(folder))
    parts = [PackPart(number, counts[0]) for number in range(1, counts[0] + 1)]
    if missing := [part for part in parts if part not in found]:
        begun = [part for part in missing if isinstance(folder, Path) and stage_folder(folder / part.name).exists()]
        more = f" (begun, and not finished: {_listed(begun)})" if begun else ""
        raise StoreError(
            f"has no part {_listed(missing)} of {counts[0]}{more}: pack them, and merge again", str(folder)
        )
    return [found[part] for part in parts]


def _listed(parts: Sequence[PackPart]) -> str:
    shown = ", ".join(str(part.number) for part in parts[:_SHOWN])
    return f"{shown} and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else shown


def _opened(path: Place) -> Store:
    """A part, compared with what it says of itself and of the whole."""
    store, part = open_store(path, part=True), part_named(path.name)
    about = store.about
    index.check(about, _ABOUT, str(path / NAME), "about")
    if part is None or about["part"] != [*part]:
        number = " of ".join(map(str, about["part"]))
        raise StoreError(f"is part {number} by what it says: name its folder so", str(path))
    said = about["whole"]
    times, all_units = max(1, said["about"]["epochs"]), said["about"]["units"]
    units = part.units(all_units)
    rows = units.start * times, len(units) * times, all_units * times
    if (about["first"], store.rows, said["rows"]) != rows:
        raise StoreError("holds other rows than this part of its packing: pack it again", str(path))
    if (store.format, store.kind, store.targets) != (said["format"], said["kind"], said["targets"]):
        raise StoreError("has another format, kind or targets than it says of the whole: pack it again", str(path))
    return store


def notes_of(store: Store) -> Texts:
    """What is known of each row of a part, besides its pixels; StoreError where that is missing."""
    notes = store.columns.get("note")
    if not isinstance(notes, Texts) or len(notes) != store.rows:
        raise StoreError("no part of a packing: its rows have no notes; pack it again", str(store.path))
    return notes
