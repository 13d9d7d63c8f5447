"""Parts of a packing made one store: their rows copied into it, as they come, or its index written beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.data.tables.packed_table import Unreadable, unreadable_in
from augrecipes.errors import StoreError
from augrecipes.machine import bytes_of
from augrecipes.pack.found_parts import each_of, find_parts, size_of, whole_of
from augrecipes.pack.outbox import Outbox
from augrecipes.pack.store_plan import StorePlan
from augrecipes.pack.write import notes_of, refuse_published
from augrecipes.progress import Progress
from augrecipes.sources.remote.place import Place, RemotePath, place_of
from augrecipes.sources.store import Item, Store, StoreWriter, open_store
from augrecipes.sources.store.index import VERSION
from augrecipes.sources.store.publish import publish_beside
from augrecipes.sources.store.shards import one_behind_another


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


def merge_parts(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    shard_size: str | int | None = None,
    advance: Progress | None = None,
) -> Merged:
    """Make one store of the parts that `augrecipes pack --part` wrote, in any order and on any machine.

    An interrupted run goes on when it is called again. Every byte that is copied is compared with its checksum.

    Args:
        folder: where all parts are, `part-1-of-8` and so on; a folder, or an address.
        out: a store that does not exist yet, to copy them into: byte for byte what one process writes without parts;
            or its address. None: the parts stay where they are, and `folder` becomes the store: only its index is
            written.
        shard_size: `"2G"`: the largest file of a target in `out`; None: it has one file.
        advance: called with how many rows are done, and of how many.

    Raises:
        StoreError: parts are missing, damaged, or of different packings; or the store exists.
    """
    place = place_of(folder)
    parts = find_parts(place)
    whole = whole_of(next(each_of(parts)))
    if out is None:
        if shard_size is not None:
            raise StoreError(
                "parts that stay where they are keep their files: give the size of shards with each part, or a store "
                "to copy them into",
                str(folder),
            )
        return Merged(place, len(parts), whole.said["rows"], _beside(place, parts, whole))
    most = None if shard_size is None else bytes_of(shard_size)
    to, size = place_of(out), sum(map(size_of, each_of(parts)))
    lost = copy_parts(parts, to, size, most, advance) if isinstance(to, Path) else _sent(parts, to, size, most, advance)
    return Merged(to, len(parts), whole.said["rows"], lost)


def copy_parts(
    paths: Iterable[Place],
    out: Path,
    size: int,
    shard_bytes: int | None = None,
    advance: Progress | None = None,
    seal: Callable[[], None] | None = None,
) -> tuple[Unreadable, ...]:
    """Write a store of the rows of parts, as if they had just been made; where an interrupted run stopped, it goes on.

    Args:
        paths: of all parts, in order. They may be packed meanwhile: none is asked for before the last one is copied.
        out: a store that does not exist yet.
        size: in bytes, about.
        shard_bytes: of its largest file; None: one a target.
        advance: called with how many rows are done, and of how many.
        seal: called just before the store is whole.

    Returns:
        Inputs without pixels.

    Raises:
        StoreError: parts are damaged, or of different packings; or the store exists.
    """
    parts = each_of(paths)
    first = next(parts)
    whole = whole_of(first)
    with StoreWriter.open(out, **whole.writer, expected_bytes=size, shard_bytes=shard_bytes) as writer:
        staged = writer.notes
        for part in chain([first], parts):
            before, notes = part.about["first"], notes_of(part)
            kept = _kept(part, staged, writer.done - before)
            if before + kept < writer.done and kept < part.rows:
                writer.keep(before + kept)
            for row in range(kept, part.rows):
                items = {name: [_item(part, name, k) for k in part.items(name, row)] for name in part.targets}
                # Whoever goes on compares the stamps of rows, and these are of the part.
                note = json.dumps({**json.loads(notes[row]), "stamp": [part.digest]}, separators=(",", ":"))
                writer.add(before + row, items, note=note)
                if advance is not None:
                    advance(before + row + 1, whole.said["rows"])
        columns, about, lost = whole.finished(writer.notes)
        if seal is not None:
            seal()
        writer.finish(columns, about=about)
    return lost


def _beside(folder: Place, paths: Sequence[Place], whole: StorePlan) -> tuple[Unreadable, ...]:
    """Writes the index of a store whose shards are those of the parts."""
    if whole.said["format"] == "hdf5":
        raise StoreError("parts of hdf5 become one file: give a store to copy them into, with --out", str(folder))
    roles: dict[str, Any] = dict(whole.said["targets"])
    notes: list[str] = []
    shards: dict[str, list[Any]] = {name: [] for name in roles}
    tables: dict[str, list[Any]] = {name: [] for name in roles}
    for part in each_of(paths):
        notes += notes_of(part)
        quality = part.index["quality"]
        for name in roles:
            files = part.index["targets"][name]["shards"]
            shards[name] += [{"file": f"{part.path.name}/{one['file']}", "size": one["size"]} for one in files]
            tables[name].append({key: np.array(column) for key, column in part.tables[name].table().items()})
    columns, about, lost = whole.finished(dict(enumerate(notes)))
    targets = {
        name: ({"role": role, "shards": shards[name]}, one_behind_another(tables[name])) for name, role in roles.items()
    }
    said = {
        **{name: whole.said[name] for name in ("format", "kind", "rows")},
        "quality": quality,
        "version": VERSION,
        "about": {**whole.said["about"], **about},
    }
    publish_beside(folder, targets, columns, said)
    return lost


def _sent(
    paths: Sequence[Place], out: RemotePath, size: int, most: int | None, advance: Progress | None
) -> tuple[Unreadable, ...]:
    """Writes a store at an address, unless it waits here to be sent."""
    refuse_published(out)
    with Outbox(out) as box:
        stamps = [most, *(part.digest for part in each_of(paths))]
        if box.holds(stamps):
            lost = tuple(unreadable_in(open_store(box.here)).values())
        else:
            lost = copy_parts(paths, box.here, size, most, advance, lambda: box.seal(stamps))
        box.send()
    return lost


def _item(part: Store, target: str, number: int) -> Item:
    """A picture or mask of a part as it was written: its bytes are compared with their checksum."""
    table = part.tables[target]
    data: Any = table.whole_data(number)
    data = table.array(number) if table.decode is None else bytes(data)
    height, width, channels = table.shapes[number].tolist()
    said = int(table.sample[number]), int(table.size[number]), int(table.checksum[number])
    return Item(data, (height, width, channels), *said)


def _kept(part: Store, staged: Mapping[int, str], most: int) -> int:
    """How many rows at the beginning of a part, of `most` that are staged, were copied of what is there now."""
    rows = range(min(part.rows, most))
    stamps = (json.loads(staged[part.about["first"] + row]).get("stamp") for row in rows)
    return next((row for row, stamp in zip(rows, stamps, strict=True) if stamp != [part.digest]), len(rows))
