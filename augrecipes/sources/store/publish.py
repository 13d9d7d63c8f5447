"""The end of writing: what is staged becomes a store, by one rename, once it would outlive a power failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from augrecipes import atomic
from augrecipes.errors import StoreError
from augrecipes.sources.remote.place import Place, RemotePath
from augrecipes.sources.store import columns, index
from augrecipes.sources.store.blob import READ_ONLY, Blob
from augrecipes.sources.store.columns import Texts
from augrecipes.sources.store.disk import naming, sync_folder, write_file
from augrecipes.sources.store.format import Frame, Role
from augrecipes.sources.store.sharded_blob import ShardedBlob


@dataclass(frozen=True, slots=True)
class FinishedTarget:
    """One target of a store that is complete.

    Attributes:
        name: of the target.
        role: image or mask.
        blob: its file, or files.
        table: what is known of each item.
        frame: what stands before and behind the items.
    """

    name: str
    role: Role
    blob: Blob | ShardedBlob
    table: Mapping[str, NDArray[Any]]
    frame: Frame


def publish(
    folder: Path,
    path: Path,
    parts: Sequence[FinishedTarget],
    tables: Mapping[str, NDArray[Any] | Texts],
    said: Mapping[str, Any],
) -> None:
    """Completes the files in `folder` and makes it the store at `path`; every step can be done again.

    Args:
        folder: where the targets' files are staged.
        path: the store.
        parts: the targets.
        tables: the caller's columns.
        said: more for the index.
    """
    targets = {part.name: {"role": part.role, **part.blob.finish(part.frame)} for part in parts}
    own = {f"{columns.OWN}{part.name}/{key}": column for part in parts for key, column in part.table.items()}
    blob, described = columns.render({**tables, **own})
    _write(folder / index.COLUMNS, blob)
    sync_folder(folder)
    _write(folder / index.NAME, index.render({**said, "targets": targets, "columns": described}))
    sync_folder(folder)
    with naming(path):
        folder.rename(path)
    sync_folder(path.parent)


def publish_beside(
    folder: Place,
    targets: Mapping[str, tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]],
    tables: Mapping[str, NDArray[Any] | Texts],
    said: Mapping[str, Any],
) -> None:
    """Makes a store of a folder in which the shards are already, in folders of their own; can be done again.

    Args:
        folder: it becomes the store once its index is there.
        targets: what the index says of each, and its table.
        tables: the caller's columns.
        said: more for the index.

    Raises:
        StoreError: the folder is another store already, or the disk is full.
    """
    own = {
        f"{columns.OWN}{name}/{key}": column for name, (_, table) in targets.items() for key, column in table.items()
    }
    blob, described = columns.render({**tables, **own})
    last = index.render({**said, "targets": {name: of for name, (of, _) in targets.items()}, "columns": described})
    there = folder / index.NAME
    with naming(there):
        if there.exists() and there.read_bytes() != last:
            raise StoreError("exists already, and a published store is never modified; remove it first", str(there))
    for path, data in ((folder / index.COLUMNS, blob), (there, last)):
        with naming(path):
            if isinstance(path, RemotePath):
                path.write_bytes(data)
                continue
            atomic.write(path, data)
            path.chmod(READ_ONLY)
        sync_folder(path.parent)


def _write(path: Path, data: bytes) -> None:
    write_file(path, data)
    with naming(path):
        path.chmod(READ_ONLY)
