"""The end of writing: what is staged becomes a store, by one rename, once it would outlive a power failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

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


def _write(path: Path, data: bytes) -> None:
    write_file(path, data)
    with naming(path):
        path.chmod(READ_ONLY)
