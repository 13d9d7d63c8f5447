"""Where a store grows until it is published: a hidden folder beside its place, which an interrupted run goes on with.

    .NAME.partial/
      lock              held by the writer
      plan.json         what the store is to be: another run goes on only with the same
      00000.npz         what is known of the items and rows of a shard; written once its files are whole
      store/            what will be published

Of a store that is to be elsewhere it is in the user's cache folder, and sent in the end, the index last: nobody opens a
store without one.

An interrupted run goes on behind its last whole shard. Nothing in here is believed: the files of each shard are read
and compared with their checksums first.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.images.lossless import DTYPES
from augrecipes.paths import sync_folder, write_file
from augrecipes.store import columns, index
from augrecipes.store.columns import TABLE, Texts, item_table
from augrecipes.store.disk import READ_ONLY, crc32, file_record, store_errors, sync, write_all
from augrecipes.store.formats import Item, StoreFormat, pieces

Records = Mapping[str, dict[str, int]]
"""Of each target the size and checksum of its file, as an index has them."""


@dataclass(frozen=True, slots=True)
class StagedShard:
    """A shard that is whole.

    Attributes:
        files: size and checksum of each target's file.
        tables: of each target what is known of its items; `rows` and `start` count from the shard's own beginning.
        notes: of the rows.
    """

    files: Records
    tables: Mapping[str, Mapping[str, NDArray[Any]]]
    notes: Texts

    def render(self) -> bytes:
        """Returns it as the bytes of a file."""
        tables: dict[str, Any] = {"notes": self.notes}
        tables |= {f"{name}/{key}": table[key] for name, table in self.tables.items() for key in TABLE}
        tables |= {
            f"{name}/file": np.array([record["size"], record["checksum"]]) for name, record in self.files.items()
        }
        return columns.render(tables)


class OpenShard:
    """A shard that grows: a file for each target.

    Args:
        folder: of the store.
        files: the names of its files, by target.
        kept: the format of each target.

    Attributes:
        notes: of its rows.
    """

    def __init__(self, folder: Path, files: Mapping[str, str], formats: Mapping[str, StoreFormat]) -> None:
        self._formats, self._folder = formats, folder
        self._paths = {name: folder / file for name, file in files.items()}
        self._sums = {name: {"size": 0, "checksum": 0} for name in formats}
        self._records: dict[str, list[tuple[int, ...]]] = {name: [] for name in formats}
        self._counts: dict[str, list[int]] = {name: [0] for name in formats}
        self.notes: list[str] = []
        self._files: dict[str, BinaryIO] = {}
        with ExitStack() as opened:
            for name, path in self._paths.items():
                with store_errors(path):
                    path.unlink(missing_ok=True)
                    self._files[name] = opened.enter_context(path.open("xb", buffering=0))
            self.close = opened.pop_all().close

    def size_with(self, row: Mapping[str, Sequence[Item]]) -> int:
        """Returns the size of the largest file with these items, or a little more."""
        more = {name: sum(item.size + self._formats[name].alignment for item in items) for name, items in row.items()}
        return max(record["size"] + more[name] for name, record in self._sums.items())

    def add(self, row: Mapping[str, Sequence[Item]], note: str) -> None:
        """Writes a row; all of it or, after an error, nothing."""
        before = {name: dict(record) for name, record in self._sums.items()}
        try:
            records = {name: [self._put(name, item) for item in items] for name, items in row.items()}
        except BaseException:
            for name, file in self._files.items():
                with store_errors(self._paths[name]):
                    file.truncate(before[name]["size"])
            self._sums = before
            raise
        for name, rows in records.items():
            self._records[name] += rows
            self._counts[name].append(len(self._records[name]))
        self.notes.append(note)

    def finished(self) -> StagedShard:
        """Returns what was written, once it would outlive a power failure; no row can follow."""
        for name, file in self._files.items():
            sync(file, self._paths[name])
            with store_errors(self._paths[name]):
                self._paths[name].chmod(READ_ONLY)
        self.close()
        with store_errors(self._folder):
            sync_folder(self._folder)
        tables = {name: item_table(self._records[name], self._counts[name]) for name in self._formats}
        return StagedShard(self._sums, tables, Texts.of(self.notes))

    def _put(self, name: str, item: Item) -> tuple[int, ...]:
        """Writes an item behind a hole that reads as zeros; what is known of it."""
        record, file = self._sums[name], self._files[name]
        step = max(self._formats[name].alignment, DTYPES[item.sample].itemsize)
        start = -(-record["size"] // step) * step
        checksum = crc32(bytes(start - record["size"]), record["checksum"])
        with store_errors(self._paths[name]):
            file.seek(start)
        for piece in pieces(item.data):
            write_all(file, piece, self._paths[name])
            checksum = crc32(piece, checksum)
        self._sums[name] = {"size": start + item.size, "checksum": checksum}
        return start, item.size, *item.shape, item.sample, item.checksum


def staged_shards(root: Path, suffixes: Mapping[str, str]) -> list[StagedShard]:
    """The shards that an interrupted run left whole, up to the first that is not.

    Args:
        root: the hidden folder.
        suffixes: of the targets' files.
    """
    shards: list[StagedShard] = []
    while (shard := _opened(root, len(shards), suffixes)) is not None:
        shards.append(shard)
    return shards


def forget(root: Path, count: int, names: Collection[str]) -> None:
    """Removes all that is staged but so many shards, and their files: what says that they are whole goes first."""
    for path in sorted(root.glob("?????*.npz")):
        if not path.stem.isdecimal() or int(path.stem) >= count:
            path.unlink()
    for path in list((root / "store").iterdir()):
        if path.name not in names:
            path.unlink()


def begin(root: Path, plan: dict[str, Any]) -> None:
    """Makes the folder, or takes one up that was begun with the same plan, or in which no shard is whole yet.

    Raises:
        StoreError: shards of another plan are whole.
    """
    path, wanted = root / "plan.json", json.dumps(plan, sort_keys=True)
    with store_errors(path):
        known = path.read_text() if path.exists() else None
        if known not in (None, wanted) and any(root.glob("*.npz")):
            raise StoreError(
                "an interrupted run was to write another store here; go on with the same arguments, or discard what it "
                "wrote by removing this folder",
                path=str(root),
            )
        if known is None:  # a run was interrupted before it had begun: what says that shards are whole is of another
            for old in root.glob("*.npz"):
                old.unlink()
        (root / "store").mkdir(exist_ok=True)
        if known != wanted:
            write_file(path, wanted.encode("ascii"), mode=READ_ONLY)


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
    """Returns the names of a shard's files, by target."""
    return {target: index.shard_name(target, number, suffix) for target, suffix in suffixes.items()}


def _opened(root: Path, number: int, suffixes: Mapping[str, str]) -> StagedShard | None:
    """A shard, where its files, and what is known of it, are what was written."""
    try:
        data = (root / f"{number:05}.npz").read_bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if archive.testzip() is not None:
                return None
        arrays = columns.load(data, "")
        records = {
            name: dict(zip(("size", "checksum"), arrays[f"{name}/file"].tolist(), strict=True)) for name in suffixes
        }
        tables = {name: {key: arrays[f"{name}/{key}"] for key in TABLE} for name in suffixes}
        for name, file in shard_files(number, suffixes).items():
            if file_record(root / "store" / file) != records[name]:
                return None
        return StagedShard(records, tables, cast("Texts", arrays["notes"]))
    except Exception:  # whatever zip files that are damaged raise: such a shard is written again
        return None
