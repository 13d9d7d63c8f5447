"""Stage a store in a hidden folder beside its final place until it is published; an interrupted run resumes there.

    .NAME.partial/
      lock              held by the writer
      plan.json         the writer's arguments: a run resumes only with the same
      00000.npz         the item tables and notes of a shard; written once its files are complete
      store/            what will be published

A remote store is staged in the user's cache folder and uploaded in the end, the index last: a store without an index
cannot be opened.

An interrupted run resumes after its last complete shard. Nothing in here is trusted: the files of each shard are read
and compared with their checksums first.
"""

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
"""The size and checksum of each target's file, as the index records them."""


@dataclass(frozen=True, slots=True)
class StagedShard:
    """A complete shard.

    Attributes:
        files: size and checksum of each target's file.
        tables: each target's item table; `rows` and `start` count from the beginning of the shard.
        notes: one per row.
    """

    files: Records
    tables: Mapping[str, Mapping[str, NDArray[Any]]]
    notes: Texts

    def render(self) -> bytes:
        """Return the shard's tables and notes as the bytes of a file."""
        tables: dict[str, Any] = {"notes": self.notes}
        tables |= {f"{name}/{key}": table[key] for name, table in self.tables.items() for key in TABLE}
        tables |= {
            f"{name}/file": np.array([record["size"], record["checksum"]]) for name, record in self.files.items()
        }
        return columns.render(tables)


class OpenShard:
    """A shard that is being written: a file for each target.

    Args:
        folder: the staged store's folder.
        files: the names of its files, by target.
        formats: the format of each target.

    Attributes:
        notes: one per row.
    """

    def __init__(self, folder: Path, files: Mapping[str, str], formats: Mapping[str, StoreFormat]) -> None:
        self._formats, self._folder = formats, folder
        self._paths = {name: folder / file for name, file in files.items()}
        self._sums = {name: {"size": 0, "checksum": 0} for name in formats}
        self._records: dict[str, list[tuple[int, ...]]] = {name: [] for name in formats}
        self._counts: dict[str, list[int]] = {name: [0] for name in formats}
        self.notes: list[str] = []
        self._files: dict[str, BinaryIO] = {}
        with ExitStack() as stack:
            for name, path in self._paths.items():
                with store_errors(path):
                    path.unlink(missing_ok=True)
                    self._files[name] = stack.enter_context(path.open("xb", buffering=0))
            self.close = stack.pop_all().close

    def size_with(self, row: Mapping[str, Sequence[Item]]) -> int:
        """Return an upper bound of the size of the largest file once these items are added."""
        more = {name: sum(item.size + self._formats[name].alignment for item in items) for name, items in row.items()}
        return max(record["size"] + more[name] for name, record in self._sums.items())

    def add(self, row: Mapping[str, Sequence[Item]], note: str) -> None:
        """Write a row; all of it or, after an error, nothing."""
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

    def finish(self) -> StagedShard:
        """Sync and close the files, and return the complete shard; no row can follow."""
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
        """Append an item, aligned by a gap that reads as zeros; return its record."""
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
    """Return the complete shards of an interrupted run, up to the first incomplete one.

    Args:
        root: the hidden folder.
        suffixes: the suffix of each target's files.
    """
    shards: list[StagedShard] = []
    while (shard := _read_shard(root, len(shards), suffixes)) is not None:
        shards.append(shard)
    return shards


def forget(root: Path, count: int, names: Collection[str]) -> None:
    """Remove all staged files but those of the first `count` shards; tables first, as they mark shards complete."""
    for path in sorted(root.glob("?????*.npz")):
        if not path.stem.isdecimal() or int(path.stem) >= count:
            path.unlink()
    for path in list((root / "store").iterdir()):
        if path.name not in names:
            path.unlink()


def begin(root: Path, plan: dict[str, Any]) -> None:
    """Make the folder, or resume one that has the same plan, or no complete shard yet.

    Raises:
        StoreError: there are complete shards of another plan.
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
        if known is None:  # interrupted before plan.json was written: tables belong to another plan
            for old in root.glob("*.npz"):
                old.unlink()
        (root / "store").mkdir(exist_ok=True)
        if known != wanted:
            write_file(path, wanted.encode("ascii"), mode=READ_ONLY)


def remove(root: Path) -> None:
    """Remove the staging folder; the caller holds its lock, which goes last, so that nobody else begins meanwhile."""
    with suppress(OSError):
        for path in list(root.iterdir()):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != "lock":
                path.unlink()
        (root / "lock").unlink()
        root.rmdir()


def shard_files(number: int, suffixes: Mapping[str, str]) -> dict[str, str]:
    """Return the names of a shard's files, by target."""
    return {target: index.shard_name(target, number, suffix) for target, suffix in suffixes.items()}


def _read_shard(root: Path, number: int, suffixes: Mapping[str, str]) -> StagedShard | None:
    """Read a staged shard; None where its table or its files are missing or damaged."""
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
    except Exception:  # damaged zip files raise all kinds: such a shard is written again
        return None
