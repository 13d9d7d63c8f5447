"""Stores of augrecipes 0.1 (versions 1 and 2 of the layout), written again as they are today."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.progress import Progress
from augrecipes.store import index
from augrecipes.store.columns import DTYPES, OWN, TABLE, StoredFile, Texts, texts_of
from augrecipes.store.disk import crc32, map_file, naming
from augrecipes.store.formats import FORMATS, Item
from augrecipes.store.index import FILE, NAMED, SIZE
from augrecipes.store.items import Items, MappedShards
from augrecipes.store.reader import Store, check, check_files, open_store
from augrecipes.store.writer import StoreWriter

_COLUMNS = "columns.arrays"
_HOLE = 4096  # bytes between two items: where the older layout begins another file
_ARRAY = {"at": SIZE, "dtype": re.compile(r"[|<]b1|[|<][iu]1|<[iuf][248]"), "shape": [SIZE]}
_ROLES = ("image", "mask")
_FILE = {"file": re.compile(r"(part-\d+-of-\d+/)?\w+-\d{5,}\.\w+"), "size": SIZE}
_INDEX: dict[str, Any] = {key: index.INDEX[key] for key in ("format", "kind", "quality", "rows", "about")} | {
    "targets": {NAMED: ({"role": _ROLES, "size": SIZE}, {"role": _ROLES, "shards": [_FILE]})},
    "columns": {**FILE, "entries": {str: (_ARRAY, {"text": _ARRAY, "offsets": _ARRAY})}},
}


def convert_store(old: str | os.PathLike[str], new: str | os.PathLike[str], progress: Progress | None = None) -> Store:
    """Writes a store of augrecipes 0.1 again, as today's version reads it; the old one stays.

    An interrupted run goes on when it is called again. Every item is compared with its checksum.

    Args:
        old: the folder of the store.
        new: where it will be: a folder that does not exist yet, or an address.
        progress: called with how many rows are done, and of how many.

    Raises:
        StoreError: there is no such store, it is damaged, or is one of today already; or `new` exists.
    """
    folder = Path(old)
    path = folder / index.NAME
    with naming(path):
        path.stat()
    content, fits = index.read(path)
    if content.get("version") not in index.OLD:
        raise StoreError("is no store of augrecipes 0.1: there is nothing to convert", str(folder))
    index.check(content, _INDEX, str(path))
    if "part" in content["about"]:
        raise StoreError("is a part of a store: pack it again", str(folder))
    if not fits or content["format"] not in FORMATS or not content["targets"]:
        raise StoreError("edited or damaged: its digest does not fit, or its format is unknown", str(path))
    rows, roles = content["rows"], {name: said["role"] for name, said in content["targets"].items()}
    try:
        columns = _columns_in(folder, content["columns"])
        items = {name: _items_in(folder, name, content, columns) for name in roles}
    except (KeyError, TypeError, ValueError) as error:
        raise index.wrong(str(path), "columns", str(error)) from None
    with StoreWriter(
        new, format=content["format"], kind=content["kind"], targets=roles, rows=rows, about=content["about"],
        quality=content["quality"] or 95,
    ) as writer:  # fmt: skip
        for row in range(writer.done, rows):
            writer.add(row, {name: _row_of(found, row) for name, found in items.items()})
            if progress is not None:
                progress(row + 1, rows)
        writer.finish({name: column for name, column in columns.items() if not name.startswith(OWN)})
    return open_store(new)


def _items_in(folder: Path, name: str, content: Mapping[str, Any], columns: Mapping[str, Any]) -> Items:
    """The items of one target: their places count on from file to file, behind a hole of a page or more."""
    said = content["targets"][name]
    kept = FORMATS[content["format"]].of(said["role"])
    table = {field: columns[f"{OWN}{name}/{field}"] for field in TABLE}
    check(table, kept, said["role"], content["rows"])
    start, firsts, bases = table["start"], np.zeros(1, np.int64), np.zeros(1, np.int64)
    if "shards" in said and len(start):
        holes = start[1:] - start[:-1] - table["size"][:-1] >= _HOLE
        firsts = np.append(0, np.flatnonzero(holes) + 1)
        bases = start[firsts]
    files = said.get("shards", [{"file": f"{name}{kept.suffix}", "size": said.get("size")}])
    counts = np.diff(firsts, append=len(start))
    if len(start) and len(firsts) > len(files):
        raise ValueError(f"{name}: its items lie in other shards than there are")
    table["start"] = start - np.repeat(bases, counts)
    stored = [
        StoredFile(file["file"], file["size"], 0, range(first, first + count))
        for file, first, count in zip(files, firsts.tolist(), counts.tolist(), strict=False)
    ]
    check_files(table, stored)
    return Items(folder, kept, MappedShards(stored, lambda file: map_file(folder / file.name, file.size)), table, None)


def _row_of(items: Items, row: int) -> Iterator[Item]:
    """The items of a row. Raises StoreError where one is damaged."""
    for k in items.of_row(row):
        data, (height, width, channels), sample = items.whole_data(k), items.shapes[k].tolist(), int(items.sample[k])
        raw = items.decode is None
        kept: Any = np.frombuffer(data, DTYPES[sample]).reshape(items.shape(k)) if raw else bytes(data)
        yield Item(kept, (height, width, channels), sample, len(data), int(items.checksum[k]))


def _columns_in(folder: Path, said: Mapping[str, Any]) -> dict[str, NDArray[Any] | Texts]:
    blob = map_file(folder / _COLUMNS, said["size"])
    if crc32(blob) != said["checksum"]:
        raise StoreError("damaged: its checksum is not the one in the index", str(folder / _COLUMNS))

    def array(entry: Any) -> NDArray[Any]:
        return np.ndarray(tuple(entry["shape"]), entry["dtype"], blob, entry["at"])

    return {
        name: texts_of(array(entry["text"]), array(entry["offsets"])) if "text" in entry else array(entry)
        for name, entry in said["entries"].items()
    }
