"""Stores of augrecipes 0.1 (versions 1 and 2 of the layout), written again as they are today."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from augrecipes.errors import StoreError
from augrecipes.progress import Progress
from augrecipes.sources.store import schema
from augrecipes.sources.store.checksum import crc32
from augrecipes.sources.store.columns import OWN, Texts, are_texts
from augrecipes.sources.store.disk import map_file, naming
from augrecipes.sources.store.format import DTYPES
from augrecipes.sources.store.formats import FORMATS
from augrecipes.sources.store.index import MARK, NAME, OLD, is_its_own
from augrecipes.sources.store.item import Item
from augrecipes.sources.store.items import check
from augrecipes.sources.store.schema import Fields, Identifier, Size
from augrecipes.sources.store.staging import TABLE
from augrecipes.sources.store.store import Store, open_store
from augrecipes.sources.store.writer import StoreWriter

_COLUMNS = "columns.arrays"
_HOLE = 4096  # bytes between two items: where the older layout begins another file


class _OldFile(Fields):
    """One of the files of a target in shards."""

    file: Annotated[str, Field(pattern=r"^(part-\d+-of-\d+/)?\w+-\d{5,}\.\w+$")]
    size: Size


class _OldOneFile(Fields):
    """A target that has one file."""

    role: Literal["image", "mask"]
    size: Size


class _OldInShards(Fields):
    """A target that has several."""

    role: Literal["image", "mask"]
    shards: list[_OldFile]


class _OldArray(Fields):
    """Where an array lies in the file of columns."""

    at: Size
    dtype: Annotated[str, Field(pattern=r"^([|<]b1|[|<][iu]1|<[iuf][248])$")]
    shape: Annotated[list[Size], Field(max_length=32)]


class _OldColumns(schema.ColumnFile):
    """The file of columns: of each entry where its array lies, or its `text` and `offsets`."""

    entries: dict[str, dict[str, Any]]


class _OldIndex(Fields):
    """index.json."""

    format: str
    kind: str
    quality: Annotated[int, Field(ge=1, le=100)] | None
    rows: Size
    about: dict[str, Any]
    targets: Annotated[dict[Identifier, _OldOneFile | _OldInShards], Field(min_length=1)]
    columns: _OldColumns


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
    said_in = str(folder / NAME)
    with naming(folder / NAME):
        text = (folder / NAME).read_bytes()
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"not the index of a store, or a damaged one: {error}", said_in) from None
    if not isinstance(content, dict) or content.get("store") != MARK or content.get("version") not in OLD:
        raise StoreError("is no store of augrecipes 0.1: there is nothing to convert", str(folder))
    schema.check(_OldIndex, content, said_in)
    if "part" in content["about"]:
        raise StoreError("is a part of a store: pack it again", str(folder))
    if not is_its_own(content, text) or content["format"] not in FORMATS:
        raise StoreError("edited or damaged: its digest does not fit, or its format is unknown", said_in)
    rows, roles = content["rows"], {name: said["role"] for name, said in content["targets"].items()}
    try:
        columns = _columns_in(folder, content["columns"])
        items = {name: _OldItems(folder, name, content, columns) for name in roles}
    except (KeyError, TypeError, ValueError) as error:
        raise schema.wrong(said_in, "columns", str(error)) from None
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
        said = content["targets"][name]
        self._kept = FORMATS[content["format"]].of(said["role"])
        table = {field: columns[f"{OWN}{name}/{field}"] for field in TABLE}
        check(table, self._kept, said["role"], content["rows"])
        self._start, self._size, self._shape = table["start"], table["size"], table["shape"]
        self._sample, self._checksum, self._rows = table["sample"], table["checksum"], table["rows"]
        if "shards" in said:
            self._files = said["shards"]
            holes = self._start[1:] - self._start[:-1] - self._size[:-1] >= _HOLE
            self._bases = self._start[np.append(0, np.flatnonzero(holes) + 1)] if len(self._start) else self._start
        else:
            self._files = [{"file": f"{name}{self._kept.suffix}", "size": said["size"]}]
            self._bases = np.zeros(1, np.int64)
        if len(self._bases) > len(self._files) or (self._bases[1:] <= self._bases[:-1]).any():
            raise ValueError(f"{name}: its items lie in other shards than there are")
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
            if crc32(data) != self._checksum[k]:
                raise StoreError(
                    f"damaged: item {k} (row {row}) is not what was written", str(self._folder / file["file"])
                )
            height, width, channels = self._shape[k].tolist()
            sample = int(self._sample[k])
            shape = (height, width, channels) if channels else (height, width)
            kept: Any = np.frombuffer(data, DTYPES[sample]).reshape(shape) if self._kept.encode is None else bytes(data)
            yield Item(kept, (height, width, channels), sample, len(data), int(self._checksum[k]))


def _columns_in(folder: Path, said: Mapping[str, Any]) -> dict[str, NDArray[Any] | Texts]:
    blob = map_file(folder / _COLUMNS, said["size"])
    if crc32(blob) != said["checksum"]:
        raise StoreError("damaged: its checksum is not the one in the index", str(folder / _COLUMNS))

    def array(entry: Any) -> NDArray[Any]:
        schema.check(_OldArray, entry, str(folder / NAME), "columns.entries")
        return np.ndarray(tuple(entry["shape"]), np.dtype(entry["dtype"]), blob, entry["at"])

    def texts(text: NDArray[Any], offsets: NDArray[Any]) -> Texts:
        if not are_texts(text, offsets):
            raise ValueError("a column of text has no text where it says")
        return Texts(text, offsets)

    return {
        name: texts(array(entry["text"]), array(entry["offsets"])) if "text" in entry else array(entry)
        for name, entry in said["entries"].items()
    }
