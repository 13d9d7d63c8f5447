"""Parts of a packing: the rows and folder of each, and merging all of them into one store in place."""

import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from augrecipes.errors import StoreError
from augrecipes.remote import Place, place_of
from augrecipes.store import Store, index, open_store
from augrecipes.store.columns import Texts, as_tables, join_tables
from augrecipes.store.index import NAME, publish

_SHOWN = 6  # missing parts that an error names
WHOLE = "whole/"  # prefix of the whole store's columns, which the first part holds
_OWN = ("part", "points")  # keys of `about` that only parts have


class PackPart(NamedTuple):
    """One of `total` parts of a packing, counted from 1.

    >>> PackPart(2, 3).units(10), PackPart(2, 3).name
    (range(3, 6), 'part-2-of-3')
    """

    number: int
    total: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"part-{self.number}-of-{self.total}"

    def units(self, count: int) -> range:
        """Return which of `count` images, scenes or tiles are in the part."""
        return range(count * (self.number - 1) // self.total, count * self.number // self.total)


def parse_part(text: str) -> PackPart:
    """Parse a part such as `3/8`. StoreError where it is none.

    >>> parse_part("3/8")
    PackPart(number=3, total=8)
    >>> parse_part("9/8")
    Traceback (most recent call last):
    augrecipes.errors.StoreError: part 9/8: give a part as i/n, from 1/8 to 8/8
    """
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
    part = PackPart(int(match[1]), int(match[2])) if match else PackPart(0, 8)
    if not 1 <= part.number <= part.total:
        n = max(1, part.total)
        raise StoreError(f"part {text}: give a part as i/n, from 1/{n} to {n}/{n}")
    return part


def part_in_folder(name: str) -> PackPart | None:
    """Return the part whose folder has this name; None for other names."""
    match = re.fullmatch(r"part-(\d{1,6})-of-(\d{1,6})", name)
    part = PackPart(int(match[1]), int(match[2])) if match else None
    return part if part is not None and 1 <= part.number <= part.total else None


class MergedStore(NamedTuple):
    """A store that was merged from parts.

    Attributes:
        out: the store.
        parts: the number of parts.
        rows: the number of rows.
        unreadable: inputs that could not be read: `augrecipes.sources.packed_columns.Unreadable`.
    """

    out: Place
    parts: int
    rows: int
    unreadable: tuple[Any, ...]


def merge_parts(folder: str | os.PathLike[str]) -> MergedStore:
    """Merge the parts that `augrecipes pack --part` wrote, in any order and on any machine, into one store.

    Nothing is copied: the folder that holds the parts gets an index, and is then the store. Merging again is safe.

    Args:
        folder: the folder or address that holds all parts, `part-1-of-8` and so on.

    Raises:
        StoreError: parts are missing, damaged, or of different packings; or the folder is another store already.
    """
    from augrecipes.packing.bake import StorePlan  # late: it is slow to import, and imports torch

    place, whole = place_of(folder), StorePlan({}, (), {})
    notes, shards, tables = list[str](), list[Any](), dict[str, list[Any]]()
    paths = _paths_in(place)
    for path in paths:  # one at a time: the shards of all may exceed the limit of open files
        part = _open_part(path)
        about = {name: fields for name, fields in part.about.items() if name not in _OWN}
        fields: dict[str, Any] = {"about": about, "format": part.format, "kind": part.kind, "targets": part.targets}
        fields |= {"quality": part.index["quality"], "rows": about["units"] * max(1, about["epochs"])}
        if not whole.arguments:
            columns = {name.removeprefix(WHOLE): column for name, column in part.columns.items() if name != "note"}
            whole = StorePlan(fields, part.about["points"], columns)
        if fields != whole.arguments:
            raise StoreError("is of another packing than part 1: pack it again", str(path))
        notes += notes_of(part)
        shards += [{**shard, "part": path.name} for shard in part.index["shards"]]
        for name, items in part.tables.items():
            columns_of = {key: np.array(column) for key, column in items.table.items()}
            tables.setdefault(name, []).append(columns_of)
    more, about, unreadable = whole.with_notes(notes)
    fields = {**whole.arguments, "about": {**whole.arguments["about"], **about}}
    publish(
        place, {name: join_tables(columns_of) for name, columns_of in tables.items()}, as_tables(more), fields, shards
    )
    return MergedStore(place, len(paths), len(notes), unreadable)


def _paths_in(folder: Place) -> list[Place]:
    """List the folders of all parts, in order. StoreError where parts are missing, or belong to other packings."""
    try:
        folders = {part: path for path in folder.iterdir() if (part := part_in_folder(path.name)) is not None}
    except OSError as error:
        why = "no such folder" if isinstance(error, FileNotFoundError) else error.strerror or error
        raise StoreError(f"its parts cannot be listed: {why}", str(folder)) from None
    if not folders:
        raise StoreError("has no part of a store in it: augrecipes pack ... --part 1/8 --out writes one", str(folder))
    counts = sorted({part.total for part in folders})
    if len(counts) > 1:
        numbers = " and ".join(map(str, counts))
        raise StoreError(f"has parts of {numbers}: keep those of one packing in a folder of their own", str(folder))
    parts = [PackPart(number, counts[0]) for number in range(1, counts[0] + 1)]
    if missing := [part for part in parts if part not in folders]:
        raise StoreError(f"has no part {_part_list(missing)} of {counts[0]}: pack them, and merge again", str(folder))
    return [folders[part] for part in parts]


def _part_list(parts: Sequence[PackPart]) -> str:
    shown = ", ".join(str(part.number) for part in parts[:_SHOWN])
    return f"{shown} and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else shown


def _open_part(path: Place) -> Store:
    """Open a part, and check its folder's name and its number of rows."""
    store, part = open_store(path, part=True), part_in_folder(path.name)
    about = store.about
    index.check(about, "part", str(path / NAME), "about.")
    if part is None or about["part"] != [*part]:
        number = " of ".join(map(str, about["part"]))
        raise StoreError(f"holds part {number}, and its folder is called otherwise: rename the folder", str(path))
    times = max(1, about["epochs"])
    if store.rows != len(part.units(about["units"])) * times:
        raise StoreError("holds other rows than this part of its packing: pack it again", str(path))
    return store


def notes_of(store: Store) -> Texts:
    """Return the notes of a part's rows; StoreError where it has none."""
    notes = store.columns.get("note")
    if not isinstance(notes, Texts) or len(notes) != store.rows:
        raise StoreError("not a part of a packing: its rows have no notes; pack it again", str(store.path))
    return notes
