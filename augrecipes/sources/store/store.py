"""Opening and reading a packed store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.sources.store import columns, index
from augrecipes.sources.store.disk import map_file
from augrecipes.sources.store.format import Role
from augrecipes.sources.store.formats import FORMATS
from augrecipes.sources.store.items import Items


class Store:
    """A published store, mapped. Made by `open_store`; pickles as its path, and is opened again where it arrives.

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
    """

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        self.path = path
        self.version: int = content["version"]
        self.format: str = content["format"]
        self.kind: str = content["kind"]
        self.rows: int = content["rows"]
        self.about: dict[str, Any] = content["about"]
        self.digest: str = content["digest"]
        self.targets: dict[str, Role] = {name: about["role"] for name, about in content["targets"].items()}
        blob = map_file(path / index.COLUMNS, content["columns"]["size"])
        try:
            found = columns.parse(blob, content["columns"])
        except ValueError as error:
            raise StoreError(f"damaged: {error}; pack the store again", path=str(path / index.COLUMNS)) from None
        self.columns = {name: column for name, column in found.items() if not name.startswith("items/")}
        self._items = {name: self._open(name, about, found) for name, about in content["targets"].items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return open_store, (self.path,)

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}, {self.format}, {self.rows:,} rows of {', '.join(self.targets)})"

    def items(self, target: str, row: int) -> range:
        """Numbers of the items that a row has of a target: one, many (bags) or none (could not be read)."""
        return self._items[target].of_row(row)

    def count(self, target: str) -> int:
        """Number of items of a target, in all rows."""
        return len(self._items[target])

    def shape(self, target: str, item: int) -> tuple[int, ...]:
        """Height, width and channels of a picture; height and width of a mask."""
        return self._items[target].shape(item)

    def array(self, target: str, item: int) -> NDArray[Any]:
        """One item: uint8 H×W×C, 0 to 255, or a mask H×W. Read-only view of the file; decoded from jpeg."""
        return self._items[target].array(item)

    def data(self, target: str, item: int) -> memoryview:
        """The bytes of one item as they lie in the file."""
        return self._items[target].data(item)

    def block(self, target: str) -> NDArray[Any] | None:
        """All items as one read-only N×H×W×C (masks N×H×W) view, where all are of one shape; else None."""
        return self._items[target].block()

    def _open(self, name: str, about: dict[str, Any], found: dict[str, Any]) -> Items:
        kept = FORMATS[self.format].of(about["role"])
        prefix = f"items/{name}/"
        table = {key.removeprefix(prefix): column for key, column in found.items() if key.startswith(prefix)}
        return Items(kept, map_file(self.path / kept.file_name(name), about["size"]), table)


def open_store(path: str | os.PathLike[str]) -> Store:
    """Opens a published store; checks its index, its columns and the size of every file, but reads no pixels.

    Raises:
        StoreError: not a store, a newer version, or not whole; names the file.
    """
    place = Path(path)
    return Store(place, index.load(place))
