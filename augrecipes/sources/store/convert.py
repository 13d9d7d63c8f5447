"""Stores of augrecipes 0.1 (versions 1 and 2 of the layout), written again as they are today."""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.progress import Progress
from augrecipes.sources.store.columns import OWN, Texts
from augrecipes.sources.store.disk import map_file, naming
from augrecipes.sources.store.format import DTYPES
from augrecipes.sources.store.formats import FORMATS
from augrecipes.sources.store.index import NAME
from augrecipes.sources.store.item import Item
from augrecipes.sources.store.store import Store, open_store
from augrecipes.sources.store.writer import StoreWriter

_COLUMNS = "columns.arrays"
_HOLE = 4096  # bytes between two items: where the older layout begins another file


def convert_store(old: str | os.PathLike[str], new: str | os.PathLike[str], progress: Progress | None = None) -> Store:
    """Write a store of augrecipes 0.1 again, as today's version reads it; the old one stays.

    An interrupted run goes on when it is called again. Every item is compared with its checksum.

    Args:
        old: the folder of the store.
        new: where it will be: a folder that does not exist yet, or an address.
        progress: called with how many rows are done, and of how many.

    Raises:
        StoreError: there is no such store, it is damaged, or is one of today already; or `new` exists.
    """
    folder = Path(old)
    with naming(folder / NAME):
        text = (folder / NAME).read_bytes()
    try:
        content = json.loads(text)
        if content["store"] != "augrecipes" or content["version"] not in (1, 2):
            raise StoreError("is no store of augrecipes 0.1: there is nothing to convert", str(folder))
        if "part" in content["about"]:
            raise StoreError("is a part of a store: pack it again", str(folder))
        columns = _columns_in(folder, content["columns"])
        roles = {name: said["role"] for name, said in content["targets"].items()}
        items = {name: _OldItems(folder, name, content, columns) for name in roles}
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise StoreError(f"not the index of a store, or a damaged one: {error}", str(folder / NAME)) from None
    rows = content["rows"]
    with StoreWriter.open(
        new, format=content["format"], kind=content["kind"], targets=roles, rows=rows, about=content["about"],
        quality=content["quality"] or 95,
    ) as writer:  # fmt: skip
        for row in range(writer.done, rows):
            writer.add(row, {name: found.of_row(row) for name, found in items.items()})
            if progress is not None:
                progress(row + 1, rows)
        writer.finish({name: column for name, column in columns.items() if not name.startswith(OWN)})
    return open_store(new)


class _OldItems:
    """The items of one target: their places count on from file to file, behind a hole of a page or more."""

    def __init__(self, folder: Path, name: str, content: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
        said, self._name = content["targets"][name], name
        self._kept = FORMATS[content["format"]].of(said["role"])
        fields = ("start", "size", "shape", "sample", "checksum", "rows")
        self._start, self._size, self._shape, self._sample, self._checksum, self._rows = (
            columns[f"{OWN}{name}/{field}"] for field in fields
        )
        self._files = said.get("shards") or [{"file": f"{name}{self._kept.suffix}", "size": said["size"]}]
        holes = self._start[1:] - self._start[:-1] - self._size[:-1] >= _HOLE
        firsts = np.append(0, np.flatnonzero(holes) + 1) if "shards" in said else np.zeros(1, np.int64)
        self._bases = self._start[firsts] if "shards" in said and len(self._start) else np.zeros(1, np.int64)
        self._folder = folder
        self._mapped: tuple[int, mmap.mmap | bytes] | None = None

    def of_row(self, row: int) -> Iterator[Item]:
        """The items of a row. Raises StoreError where one is damaged."""
        for k in range(int(self._rows[row]), int(self._rows[row + 1])):
            number = int(np.searchsorted(self._bases, self._start[k], side="right")) - 1
            file = self._files[number]
            if self._mapped is None or self._mapped[0] != number:
                self._mapped = number, map_file(self._folder / file["file"], file["size"])
            at = int(self._start[k] - self._bases[number])
            data = memoryview(self._mapped[1])[at : at + int(self._size[k])]
            if zlib.crc32(data) != self._checksum[k]:
                raise StoreError(f"item {k} (row {row}) is damaged", str(self._folder / file["file"]))
            height, width, channels = self._shape[k].tolist()
            sample = int(self._sample[k])
            shape = (height, width, channels) if channels else (height, width)
            kept: Any = np.frombuffer(data, DTYPES[sample]).reshape(shape) if self._kept.encode is None else bytes(data)
            yield Item(kept, (height, width, channels), sample, len(data), int(self._checksum[k]))


def _columns_in(folder: Path, said: Mapping[str, Any]) -> dict[str, NDArray[Any] | Texts]:
    blob = map_file(folder / _COLUMNS, said["size"])
    if zlib.crc32(blob) != said["checksum"]:
        raise StoreError("damaged: its checksum is not the one in the index", str(folder / _COLUMNS))

    def array(entry: Mapping[str, Any]) -> NDArray[Any]:
        return np.ndarray(tuple(entry["shape"]), np.dtype(entry["dtype"]), blob, entry["at"])

    return {
        name: Texts(array(entry["text"]), array(entry["offsets"])) if "text" in entry else array(entry)
        for name, entry in said["entries"].items()
    }
