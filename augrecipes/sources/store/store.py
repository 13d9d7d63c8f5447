"""Opening and reading a packed store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.sources.store import columns, index, items, schema
from augrecipes.sources.store.disk import map_file
from augrecipes.sources.store.format import Role
from augrecipes.sources.store.formats import FORMATS
from augrecipes.sources.store.items import Items, Verify
from augrecipes.sources.store.shards import MappedShards, shards_of

_PART = "part"  # what a part says about itself, and a store does not


class Store:
    """A published store, mapped. Made by `open_store`; pickles as its path, and is opened again where it arrives.

    Safe to share between threads, and cheap to share with forked processes: tables are arrays in mapped files.

    Attributes:
        path: the folder.
        version: of the layout.
        format: ``raw``, ``jpeg`` or ``hdf5``.
        kind: what the caller called its rows.
        targets: name to role (``image`` or ``mask``).
        rows: number of rows.
        about: what the caller said about the store, as JSON gives it back.
        columns: the caller's columns: read-only arrays, and `Texts`.
        digest: stands for everything in the store (sha256 of its index).
        tables: where each target's items lie, as arrays: `augrecipes.sources.store.items.Items`.
        index: what index.json says.
        checks: when items are compared with their checksums.
    """

    def __init__(self, path: Path, content: dict[str, Any], verify: Verify | None = None) -> None:
        self.path = Path(os.path.abspath(path))  # noqa: PTH100 (symbolic links are left as they are)
        self.version: int = content["version"]
        self.format: str = content["format"]
        self.kind: str = content["kind"]
        self.rows: int = content["rows"]
        self.about: dict[str, Any] = content["about"]
        self.digest: str = content["digest"]
        self.targets: dict[str, Role] = {name: about["role"] for name, about in content["targets"].items()}
        self.index, self.checks = content, verify
        if self.format not in FORMATS:
            known = ", ".join(FORMATS)
            raise schema.wrong(str(path / index.NAME), "format", f"should be one of {known}, not {self.format!r}")
        table = columns.load(path / index.COLUMNS, content["columns"], str(path / index.NAME))
        self.columns = {name: column for name, column in table.items() if not name.startswith(columns.OWN)}
        self.tables = {name: self._open(name, about, table) for name, about in content["targets"].items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return reopen_store, (self.path, self.digest, self.checks)

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}, {self.format}, {self.rows:,} rows of {', '.join(self.targets)})"

    def items(self, target: str, row: int) -> range:
        """Numbers of the items that a row has of a target: one, many (bags) or none (could not be read)."""
        return self.tables[target].of_row(row)

    def count(self, target: str) -> int:
        """Number of items of a target, in all rows."""
        return len(self.tables[target])

    def shape(self, target: str, item: int) -> tuple[int, ...]:
        """Height, width and channels of a picture; height and width of a mask."""
        return self.tables[target].shape(item)

    def array(self, target: str, item: int) -> NDArray[Any]:
        """One item: uint8 H×W×C, 0 to 255, or a mask H×W. Read-only view of the file; decoded from jpeg.

        A view holds no copy: copy what is to be changed, or kept for long. Raises StoreError where a JPEG is damaged.
        """
        return self.tables[target].array(item)

    def data(self, target: str, item: int) -> memoryview:
        """The bytes of one item as they lie in the file: samples, or a JPEG file."""
        return self.tables[target].data(item)

    def block(self, target: str) -> NDArray[Any] | None:
        """All items as one read-only N×H×W×C (masks N×H×W) view, where all are of one shape; else None."""
        return self.tables[target].block()

    def encoded(self, target: str, item: int) -> Any:
        """A picture that is not decoded yet, where the format is jpeg (an `Encoded`: parts of it are read by `region`).

        Of other formats, and of masks, the array: parts of a mapped one are read by slicing.
        """
        table = self.tables[target]
        if table.decode is None:
            return table.array(item)
        from augrecipes.sources.encoded import encoded

        height, width, channels = table.shape(item)
        name = f"{table.path}: item {item}"
        data = bytes(table.whole_data(item))
        return encoded(data, name=name, channels=channels, max_pixels=height * width)

    def _open(self, name: str, about: dict[str, Any], found: dict[str, Any]) -> Items:
        kept = FORMATS[self.format].of(about["role"])
        path = self.path / kept.file_name(name)
        prefix = f"{columns.OWN}{name}/"
        table = {key.removeprefix(prefix): column for key, column in found.items() if key.startswith(prefix)}
        in_shards = "shards" in about
        blob = b"" if in_shards else map_file(path, about["size"])
        head, end = (0, schema.LARGEST) if in_shards else (about["head"], min(about["end"], about["size"]))
        try:
            items.check(table, kept, about["role"], self.rows, head, end)
            shards = shards_of(table["start"], table["size"]) if in_shards else []
            if [shard.size for shard in shards] != [shard["size"] for shard in about.get("shards", ())]:
                raise ValueError("start, size: the items do not lie in the shards that the index names")
        except ValueError as error:
            raise schema.wrong(str(self.path / index.COLUMNS), prefix, str(error)) from None
        if in_shards:
            files = [self.path / shard["file"] for shard in about["shards"]]
            return Items(str(self.path), kept, MappedShards(files, shards), table, self.checks)
        return Items(str(path), kept, blob, table, self.checks)


def reopen_store(path: str | os.PathLike[str], digest: str, verify: Verify | None = None) -> Store:
    """Opens the store of this digest again, as a worker does. StoreError where another is in its place by now.

    >>> reopen_store("nowhere", "1a2b")
    Traceback (most recent call last):
    augrecipes.errors.StoreError: nowhere: no such store
    """
    store = open_store(path, verify)
    if store.digest != digest:
        raise StoreError("was replaced by another store since it was opened: open it again", path=str(path))
    return store


def is_store(path: str | os.PathLike[str]) -> bool:
    """Whether a folder looks like a store, or is one in the making; `open_store` says whether it is whole.

    >>> is_store("nowhere")
    False
    """
    place = Path(path)
    return (place / index.NAME).is_file() and (place / index.COLUMNS).is_file()


def open_store(path: str | os.PathLike[str], verify: Verify | None = None) -> Store:
    """Opens a published store; checks its index, its columns and the size of every file, but reads no pixels.

    A published store is never modified, and the process that does so regardless (cuts a file short under a running
    reader) is beyond what can be caught: the system ends the reader. Reading by calls instead of a map would catch it,
    and takes about a microsecond longer for 50 kB; copy a store that lies where others cut files to a disk of your own.
    Replacing it by another is safe: a reader keeps the files that it opened.

    Args:
        path: the folder.
        verify: compare the pixels of each item with their checksum at its `first` read in this process, or `always`;
            None: only what is decoded anyway (`Store.verify` reads them all at once).

    Raises:
        StoreError: not a store, a newer version, or not whole; names the file.

    >>> open_store("nowhere")
    Traceback (most recent call last):
    augrecipes.errors.StoreError: nowhere: no such store
    """
    place = Path(path)
    if verify not in (None, "first", "always"):
        raise ValueError(f"verify must be None, 'first' or 'always', got {verify!r}")
    content = index.load(place)
    if _PART in content["about"]:
        raise StoreError(
            "is a part of a store: augrecipes pack --merge makes a store of the folder that all parts are in",
            str(place),
        )
    return Store(place, content, verify)


def open_part(path: str | os.PathLike[str]) -> Store:
    """Opens a part of a store as `open_store` does stores, which refuses parts.

    Raises:
        StoreError: no part, or not whole; names the file.
    """
    place = Path(path)
    content = index.load(place)
    if _PART not in content["about"]:
        raise StoreError("is a store, and no part of one", str(place))
    return Store(place, content)
