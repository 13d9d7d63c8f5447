"""Where a store grows until it is published: a hidden folder beside its place, which an interrupted run goes on with.

    .NAME.partial/
      lock              held by the writer
      plan.json         what the store is to be: another run goes on only with the same
      00000.npz         what is known of the items and rows of a shard; written once its files are whole
      store/            what will be published

An interrupted run goes on behind its last whole shard. Nothing in here is believed: the files of each shard are read
and compared with their checksums first.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.progress import Progress
from augrecipes.sources.store import columns
from augrecipes.sources.store.columns import Texts
from augrecipes.sources.store.disk import naming, write_file
from augrecipes.sources.store.index import shard_name
from augrecipes.sources.store.intact import wrong_in
from augrecipes.sources.store.shards import StoredFile

TABLE = ("checksum", "rows", "sample", "shape", "size", "start")
"""What is kept of each target's items: `augrecipes.sources.store.items.Items`."""


@dataclass(frozen=True, slots=True)
class StagedShard:
    """A shard that is whole.

    Attributes:
        rows: how many.
        sizes: bytes of each target's file.
        tables: of each target what is known of its items; `rows` and `start` count from the shard's own beginning.
        notes: of the rows.
    """

    rows: int
    sizes: Mapping[str, int]
    tables: Mapping[str, Mapping[str, NDArray[Any]]]
    notes: Texts

    def render(self) -> bytes:
        """As a file."""
        found: dict[str, Any] = {"notes": self.notes}
        found |= {f"{name}/{key}": table[key] for name, table in self.tables.items() for key in TABLE}
        return columns.render(found)


def table_of(records: Sequence[tuple[int, ...]], counts: Sequence[int]) -> dict[str, NDArray[Any]]:
    """What is known of items, as it is kept: of each start, size, shape, sample and checksum; and where rows begin."""
    found = np.array(records, np.int64).reshape(-1, 7)
    return {
        "checksum": found[:, 6].astype("<u4"),
        "rows": np.array(counts, "<i8"),
        "sample": found[:, 5].astype("u1"),
        "shape": found[:, 2:5].astype("<i4"),
        "size": found[:, 1].astype("<i8"),
        "start": found[:, 0].astype("<i8"),
    }


def staged_shards(
    root: Path, suffixes: Mapping[str, str], sent: Mapping[str, int] | None = None, progress: Progress | None = None
) -> list[StagedShard]:
    """The shards that an interrupted run left whole, up to the first that is not; what is left of others is removed.

    Args:
        root: the hidden folder.
        suffixes: of the targets' files.
        sent: the files that lie where the store will be, and their sizes; None: they are staged here.
        progress: called with the bytes read and their total.
    """
    found: list[StagedShard] = []
    known = {path.name for path in root.glob("?????*.npz")}
    total = sum(path.stat().st_size for path in (root / "store").iterdir() if path.is_file())
    done = 0
    while (name := f"{len(found):05}.npz") in known:
        shard = _opened(root, name, len(found), suffixes)
        if shard is None or not _whole(root / "store", shard, shard_files(len(found), suffixes), sent):
            break
        found.append(shard)
        done += sum(shard.sizes.values())
        if progress is not None:
            progress(done, total)
    forget(root, len(found), suffixes)
    return found


def forget(root: Path, first: int, suffixes: Mapping[str, str]) -> None:
    """Removes all that is staged but the first so many shards: what says that they are whole goes first."""
    for path in sorted(root.glob("?????*.npz")):
        if not path.stem.isdecimal() or int(path.stem) >= first:
            path.unlink()
    kept = {name for number in range(first) for name in shard_files(number, suffixes).values()}
    with naming(root / "store"):
        for path in list((root / "store").iterdir()):
            if path.name not in kept:
                path.unlink()


def begin(root: Path, plan: dict[str, Any]) -> None:
    """Makes the folder, or takes one up that was begun with the same plan. Raises StoreError where it is another."""
    path, wanted = root / "plan.json", json.dumps(plan, sort_keys=True)
    with naming(path):
        begun = path.read_text() if path.exists() else None
        if begun is not None and begun != wanted:
            raise StoreError(_differences(begun, plan), path=str(root))
        if begun is None:  # also where a run was interrupted before it had begun
            shutil.rmtree(root / "store", ignore_errors=True)
            for old in root.glob("*.npz"):
                old.unlink()
        (root / "store").mkdir(exist_ok=True)
    if begun is None:
        write_file(path, wanted.encode("ascii"))


def remove(root: Path) -> None:
    """Removes all that is staged, for the holder of its lock; the lock last, so that nobody else begins meanwhile."""
    with suppress(OSError):
        for path in list(root.iterdir()):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != "lock":
                path.unlink()
        (root / "lock").unlink()
        root.rmdir()


def shard_files(number: int, suffixes: Mapping[str, str]) -> dict[str, str]:
    """The names of a shard's files, by target."""
    return {target: shard_name(target, number, suffix) for target, suffix in suffixes.items()}


def _opened(root: Path, name: str, number: int, suffixes: Mapping[str, str]) -> StagedShard | None:
    """What is known of a shard; None where that is not what was written."""
    try:
        data = (root / name).read_bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if archive.testzip() is not None:
                return None
        found = columns.load(data, name)
        notes = cast("Texts", found["notes"])
        tables = {target: {key: found[f"{target}/{key}"] for key in TABLE} for target in suffixes}
        sizes = {
            target: int(table["start"][-1] + table["size"][-1]) if len(table["start"]) else 0
            for target, table in tables.items()
        }
    except (OSError, StoreError, KeyError, ValueError, IndexError, zipfile.BadZipFile, NotImplementedError):
        return None
    return StagedShard(len(notes), sizes, tables, notes)


def _whole(folder: Path, shard: StagedShard, files: Mapping[str, str], sent: Mapping[str, int] | None) -> bool:
    """Whether a shard's files are what was written; of those that were sent, whether they are there, and whole."""
    if sent is not None:
        return all(sent.get(file) == shard.sizes[target] for target, file in files.items())
    try:
        return all(
            (folder / file).stat().st_size == shard.sizes[target]
            and wrong_in(folder / file, _stored(file, shard, target), dict(shard.tables[target])) is None
            for target, file in files.items()
        )
    except OSError:
        return False


def _stored(file: str, shard: StagedShard, target: str) -> StoredFile:
    return StoredFile(file, shard.sizes[target], 0, range(len(shard.tables[target]["start"])))


def _differences(begun: str, plan: dict[str, Any]) -> str:
    """Says what an interrupted run was to do otherwise."""
    try:
        other = json.loads(begun)
        names = sorted(key for key in {*other, *plan} if other.get(key) != plan.get(key))
    except (ValueError, AttributeError, TypeError):
        names = []
    return (
        f"an interrupted run was to write another store here (other: {', '.join(names) or 'its plan cannot be read'}); "
        "go on with the same arguments, or discard what it wrote by removing this folder"
    )
