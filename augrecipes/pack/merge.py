"""Parts of a packing made one store: their rows copied into it, or its index written beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from augrecipes.data.tables.packed_table import Unreadable, unreadable_in
from augrecipes.errors import StoreError
from augrecipes.machine import bytes_of
from augrecipes.pack.outbox import Outbox
from augrecipes.pack.part import PackPart, part_named
from augrecipes.pack.store_plan import StorePlan
from augrecipes.pack.write import differences, format_of_parts, notes_of, refuse_published
from augrecipes.progress import Progress
from augrecipes.sources.remote.place import Place, place_of
from augrecipes.sources.store import Item, Store, StoreWriter, open_part, open_store, schema
from augrecipes.sources.store.index import NAME, VERSION, stage_folder
from augrecipes.sources.store.publish import publish_beside
from augrecipes.sources.store.schema import Fields, Size
from augrecipes.sources.store.shards import one_behind_another

_SHOWN = 6  # parts that are missing, named


class _Data(Fields):
    units: Size
    epochs: Size


class _PlanOfPart(Fields):
    about: _Data
    format: str
    kind: str
    points: list[Literal["boxes", "keypoints"]]
    quality: Annotated[int, Field(ge=1, le=100)]
    rows: Size
    targets: list[Annotated[list[str], Field(min_length=2, max_length=2)]]


class _AboutPart(Fields):
    """What a part says about itself."""

    part: Annotated[list[Size], Field(min_length=2, max_length=2)]
    first: Size
    whole: _PlanOfPart


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
    whole = _whole(parts)
    if out is None:
        if shard_size is not None:
            raise StoreError(
                "parts that stay where they are keep their files: give the size of shards with each part, or a store "
                "to copy them into",
                str(folder),
            )
        return Merged(place, len(parts), whole.said["rows"], _beside(place, parts, whole))
    most = None if shard_size is None else bytes_of(shard_size)
    to = place_of(out)
    if isinstance(to, Path):
        lost = _copied(to, None, parts, whole, most, advance)
    else:
        refuse_published(to)
        with Outbox(to) as box:
            lost = _copied(box.here, box, parts, whole, most, advance)
            box.send()
    return Merged(to, len(parts), whole.said["rows"], lost)


def find_parts(folder: Place) -> list[Place]:
    """The folders of the parts in a folder, in order: all of one packing, and each there.

    Raises:
        StoreError: they are not; it names those that are missing.
    """
    try:
        named: dict[Place, PackPart | None] = {path: part_named(path.name) for path in folder.iterdir()}
    except OSError as error:
        why = "no such folder" if isinstance(error, FileNotFoundError) else error.strerror or error
        raise StoreError(f"its parts cannot be listed: {why}", str(folder)) from None
    found = {part: path for path, part in named.items() if part is not None}
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
    paths = [found[part] for part in parts]
    whole = _opened(paths[0]).about["whole"]
    for path, other in zip(paths, _each(paths), strict=True):
        if other.about["whole"] != whole:
            names = ", ".join(differences(other.about["whole"], whole))
            raise StoreError(f"is of another packing than part 1 (other: {names}): pack it again", str(path))
    return paths


def _listed(parts: Sequence[PackPart]) -> str:
    shown = ", ".join(str(part.number) for part in parts[:_SHOWN])
    return f"{shown} and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else shown


def _each(paths: Sequence[Place]) -> Iterator[Store]:
    """The parts, of which one at a time is open: there may be more than files that a process may hold."""
    yield from map(_opened, paths)


def _opened(path: Place) -> Store:
    store, part = open_part(path), part_named(path.name)
    about = store.about
    schema.check(_AboutPart, about, str(path / NAME), "about")
    if part is None or about["part"] != list(part):
        number, of = about["part"]
        raise StoreError(f"is part {number} of {of} by what it says: name its folder so", str(path))
    said = about["whole"]
    times, all_units = max(1, said["about"]["epochs"]), said["about"]["units"]
    units = part.units(all_units)
    rows = units.start * times, len(units) * times, all_units * times
    if (about["first"], store.rows, said["rows"]) != rows:
        raise StoreError("holds other rows than this part of its packing: pack it again", str(path))
    whole = format_of_parts(said["format"]), said["kind"], dict(said["targets"])
    if (store.format, store.kind, store.targets) != whole:
        raise StoreError("has another format, kind or targets than it says of the whole: pack it again", str(path))
    notes_of(store)
    return store


def _whole(paths: Sequence[Place]) -> StorePlan:
    first, prefix = _opened(paths[0]), "whole/"
    return StorePlan(
        first.about["whole"],
        {name.removeprefix(prefix): column for name, column in first.columns.items() if name.startswith(prefix)},
    )


def _beside(folder: Place, paths: Sequence[Place], whole: StorePlan) -> tuple[Unreadable, ...]:
    """Writes the index of a store whose shards are those of the parts."""
    if whole.said["format"] == "hdf5":
        raise StoreError("parts of hdf5 become one file: give a store to copy them into, with --out", str(folder))
    roles: dict[str, Any] = dict(whole.said["targets"])
    notes: list[str] = []
    shards: dict[str, list[Any]] = {name: [] for name in roles}
    tables: dict[str, list[Any]] = {name: [] for name in roles}
    for part in _each(paths):
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


def _copied(
    out: Path,
    box: Outbox | None,
    paths: Sequence[Place],
    whole: StorePlan,
    most: int | None,
    advance: Progress | None,
) -> tuple[Unreadable, ...]:
    """Writes a store of the rows of the parts, as if they had just been made."""
    stamps = [] if box is None else [most, *(part.digest for part in _each(paths))]
    if box is not None and box.holds(stamps):
        return tuple(unreadable_in(open_store(out)).values())
    shards = (one for part in _each(paths) for said in part.index["targets"].values() for one in said["shards"])
    size = sum(shard["size"] for shard in shards)
    with StoreWriter.open(out, **whole.writer, expected_bytes=size, shard_bytes=most) as writer:
        writer.keep(_unchanged(writer, paths))
        total = whole.said["rows"]
        for part in _each(paths):
            first, notes = part.about["first"], notes_of(part)
            for row in range(max(0, writer.done - first), part.rows):
                items = {name: [_item(part, name, k) for k in part.items(name, row)] for name in part.targets}
                # Whoever goes on compares the stamps of rows, and these are of the part.
                note = json.dumps({**json.loads(notes[row]), "stamp": [part.digest]}, separators=(",", ":"))
                writer.add(first + row, items, note=note)
                if advance is not None:
                    advance(first + row + 1, total)
        columns, about, lost = whole.finished(writer.notes)
        if box is not None:
            box.seal(stamps)
        writer.finish(columns, about=about)
    return lost


def _item(part: Store, target: str, number: int) -> Item:
    """A picture or mask of a part as it was written: its bytes are compared with their checksum."""
    table = part.tables[target]
    data: Any = table.whole_data(number)
    data = table.array(number) if table.decode is None else bytes(data)
    height, width, channels = table.shapes[number].tolist()
    said = int(table.sample[number]), int(table.size[number]), int(table.checksum[number])
    return Item(data, (height, width, channels), *said)


def _unchanged(writer: StoreWriter, paths: Sequence[Place]) -> int:
    """How many rows at the beginning were copied of the very parts that are there now."""
    notes = writer.notes
    for part in _each(paths if notes else ()):
        for row in range(part.about["first"], min(part.about["first"] + part.rows, writer.done)):
            if json.loads(notes.get(row, "{}")).get("stamp") != [part.digest]:
                return row
    return writer.done
