"""Parts of a packing made one store: an index is written beside them, and they stay as they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from augrecipes.data.tables.packed_table import Unreadable
from augrecipes.errors import StoreError
from augrecipes.pack.found_parts import each_of, find_parts, whole_of
from augrecipes.pack.write import notes_of
from augrecipes.sources.remote import Place, place_of
from augrecipes.sources.store.columns import tables_of
from augrecipes.sources.store.publish import joined, publish


@dataclass(frozen=True)
class Merged:
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


def merge_parts(folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Merged:
    """Make one store of the parts that `augrecipes pack --part` wrote, in any order and on any machine.

    Nothing is copied: the folder gets an index, and is the store. It can be done again.

    Args:
        folder: where all parts are, `part-1-of-8` and so on; a folder, or an address.
        out: must be left away: until 0.1 parts were copied into another store.

    Raises:
        StoreError: parts are missing, damaged, or of different packings; or the folder is another store already.
    """
    if out is not None:
        raise StoreError("parts become a store where they are: merge them without `out`, and move the folder", str(out))
    place = place_of(folder)
    parts = find_parts(place)
    whole = whole_of(next(each_of(parts)))
    notes: list[str] = []
    shards: list[dict[str, Any]] = []
    tables: dict[str, list[Any]] = {name: [] for name in dict(whole.said["targets"])}
    for part in each_of(parts):
        notes += notes_of(part)
        shards += [{**shard, "part": part.path.name} for shard in part.index["shards"]]
        for name, found in tables.items():
            found.append({key: np.array(column) for key, column in part.tables[name].table().items()})
        quality = part.index["quality"]
    columns, about, lost = whole.finished(dict(enumerate(notes)))
    said = {name: whole.said[name] for name in ("format", "kind", "rows")}
    said |= {"quality": quality, "targets": dict(whole.said["targets"]), "about": {**whole.said["about"], **about}}
    publish(place, {name: joined(found) for name, found in tables.items()}, tables_of(columns), said, shards)
    return Merged(place, len(parts), whole.said["rows"], lost)
