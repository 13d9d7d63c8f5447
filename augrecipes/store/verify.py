"""Verify a store: read all of it, and report the bytes that differ from what was written."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from augrecipes.errors import StoreError
from augrecipes.progress import Progress
from augrecipes.remote import RemotePath
from augrecipes.store import columns, disk, reader


@dataclass(frozen=True, slots=True)
class Fault:
    """A damaged place in a store.

    Attributes:
        path: the file that is damaged.
        reason: what is wrong.
        target: name of the target, where the file belongs to one.
        row: row of the sample, where the place belongs to one.
        item: number of the item within its target.
    """

    path: str
    reason: str
    target: str | None = None
    row: int | None = None
    item: int | None = None


def verify_store(path: str | os.PathLike[str], progress: Progress | None = None) -> list[Fault]:
    """List the damaged places of the store at `path`; a store that cannot be opened is one fault.

    Args:
        path: the store.
        progress: called with the bytes that are verified, and their total.
    """
    try:
        store = reader.open_store(path, verify=None)  # checks the index, the columns and all file sizes
        files = [(name, file) for name, items in store.tables.items() for file in items.shards.files]
        total, done, faults = sum(file.size for _, file in files), 0, list[Fault]()
        for name, file in files:
            faults += _faults(store, name, file)
            done += file.size
            if progress is not None:
                progress(done, total)
    except StoreError as error:
        return [Fault(error.path or str(path), error.reason)]
    return faults


def _faults(store: reader.Store, name: str, stored: columns.StoredFile) -> Iterator[Fault]:
    """Read a whole file and, where its checksum differs, yield its damaged items."""
    items, place = store.tables[name], str(store.path / stored.name)
    with tempfile.TemporaryDirectory(prefix="augrecipes-") as folder, disk.store_errors(store.path / stored.name):
        path = Path(place)
        if isinstance(store.path, RemotePath):  # not the cached copy
            path = Path(folder, "file")
            (store.path / stored.name).fetch(path)
        if disk.file_record(path) == {"size": stored.size, "checksum": stored.checksum}:
            return
        whole = True
        with path.open("rb") as file:
            for item in stored.numbers:
                file.seek(int(items.start[item]))
                if disk.crc32(file.read(int(items.size[item]))) != items.checksum[item]:
                    row, reason = items.row_of(item), "its bytes are not those that were written"
                    yield Fault(place, reason, name, row, item)
                    whole = False
    if whole:
        yield Fault(place, "the bytes around its items are not those that were written", name)
