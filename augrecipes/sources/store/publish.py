"""The end of writing: the columns of a store, and its index, beside the shards that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.sources.remote import Place, RemotePath
from augrecipes.sources.store import columns, index
from augrecipes.sources.store.checksum import crc32
from augrecipes.sources.store.columns import Texts
from augrecipes.sources.store.disk import naming, write_file
from augrecipes.sources.store.staging import table_of


def publish(
    folder: Place,
    items: Mapping[str, Mapping[str, NDArray[Any]]],
    tables: Mapping[str, NDArray[Any] | Texts],
    said: Mapping[str, Any],
    shards: Sequence[Mapping[str, Any]],
) -> None:
    """Writes the columns and, last, the index of a folder in which all shards are.

    Args:
        folder: the store.
        items: what is known of each target's items.
        tables: the caller's columns.
        said: what the index says.
        shards: what it says of them.

    Raises:
        StoreError: the folder is another store already, or the disk is full.
    """
    own = {f"{columns.OWN}{name}/{key}": column for name, table in items.items() for key, column in table.items()}
    blob = columns.render({**tables, **own})
    described = {"size": len(blob), "checksum": crc32(blob)}
    last = index.render({**said, "shards": list(shards), "columns": described})
    with naming(folder / index.NAME):
        if (folder / index.NAME).exists() and (folder / index.NAME).read_bytes() != last:
            raise StoreError(
                "exists already, and a published store is never modified; remove it first", str(folder / index.NAME)
            )
    for path, data in ((folder / index.COLUMNS, blob), (folder / index.NAME, last)):
        if isinstance(path, RemotePath):
            with naming(path):
                path.write_bytes(data)
        else:
            write_file(path, data)


def joined(tables: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """What is known of the items of several shards or stores, one behind another."""
    if not tables:
        tables = [table_of([], [0])]
    firsts, count = [np.zeros(1, "<i8")], 0
    for table in tables:
        firsts.append(table["rows"][1:] + count)
        count += len(table["start"])
    found = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    return {**found, "rows": np.concatenate(firsts)}
