"""Where a store grows until it is published: a hidden folder beside its place, which an interrupted run goes on with.

    .NAME.partial/
      lock              held by the writer
      plan.json         what the store is to be: another run goes on only with the same
      journal           one record an item and a row
      notes             texts that the caller keeps with rows until the end
      store/            what will be published

Nothing in here is believed: what the journal says is read back and compared with its checksums before a run goes on.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes import atomic
from augrecipes.errors import StoreError
from augrecipes.progress import Progress
from augrecipes.sources.store import journal
from augrecipes.sources.store.blob import Blob
from augrecipes.sources.store.disk import naming, sync, sync_folder, write_all
from augrecipes.sources.store.index import stage_folder
from augrecipes.sources.store.lock import Lock
from augrecipes.sources.store.sharded_blob import ShardedBlob


class StagedStore:
    """The staged part of a store, locked; checked, and cut to its whole rows.

    Args:
        store: where it will be published.
        plan: what it is to be, as JSON.
        files: names of the targets' files and the bytes to leave free at their beginning, in the targets' order.
        progress: called with the bytes read back and their total.
        most: bytes of a file of a target; None: each target has one.

    Attributes:
        folder: what will be published.
        blobs: the targets' files, in order, and that of the notes.
    """

    def __init__(
        self,
        store: Path,
        plan: dict[str, Any],
        files: dict[str, int],
        progress: Progress | None = None,
        most: int | None = None,
    ) -> None:
        self.root = stage_folder(store)
        self.folder = self.root / "store"
        self._path = self.root / "journal"
        with ExitStack() as opened:
            opened.callback(Lock(self.root / "lock").release)
            if os.path.lexists(store):
                if not self.folder.exists():
                    remove(self.root)
                raise StoreError("exists already, and a published store is never modified; remove it first", str(store))
            self._begin(plan)
            self.blobs: list[Blob | ShardedBlob] = [
                opened.enter_context(
                    closing(Blob(self.folder / name, head) if most is None else ShardedBlob(self.folder / name, most))
                )
                for name, head in files.items()
            ]
            self.blobs.append(opened.enter_context(closing(Blob(self.root / "notes"))))
            with naming(self._path):
                self._journal = opened.enter_context(self._path.open("a+b", buffering=0))
            self._resume(progress)
            self._opened = opened.pop_all()

    def append(self, records: bytes) -> None:
        """Writes down one more row."""
        write_all(self._journal, records, self._path)
        self._records += records

    @property
    def rows(self) -> int:
        """How many rows are staged."""
        return journal.last_row(self._records) + 1

    def table(self) -> NDArray[Any]:
        """The records of all rows; no row can be added while it is held."""
        return np.frombuffer(self._records, journal.RECORD)

    def notes(self) -> dict[int, str]:
        """What the caller noted of rows."""
        table = self.table()
        mine = table[table["target"] == len(self.blobs) - 1]
        places = zip(mine["row"].tolist(), mine["start"].tolist(), mine["size"].tolist(), strict=True)
        return {row: self.blobs[-1].read(start, size).decode("utf-8", "surrogateescape") for row, start, size in places}

    def rewind(self, ends: list[int]) -> None:
        """Cuts each file to its end of before, and the journal to its whole rows."""
        for blob, end in zip(self.blobs, ends, strict=True):
            blob.cut(end)
        with naming(self._path):
            self._journal.truncate(len(self._records))

    def keep(self, rows: int) -> None:
        """Forgets all rows but the first so many."""
        table = self.table()
        self._take(table[: np.searchsorted(table["row"], rows)])

    def sync(self) -> None:
        """Waits until all rows would outlive a power failure."""
        for blob in self.blobs:
            blob.sync()
        sync(self._journal, self._path)

    def close(self) -> None:
        """Lets go of the files and the lock; what is staged stays."""
        self._opened.close()

    def _begin(self, plan: dict[str, Any]) -> None:
        path, wanted = self.root / "plan.json", json.dumps(plan, sort_keys=True)
        with naming(path):
            begun = path.read_text() if path.exists() else None
            if begun is not None and begun != wanted:
                raise StoreError(_differences(begun, plan), path=str(self.root))
            if begun is None:  # also where a run was interrupted before it had begun
                shutil.rmtree(self.folder, ignore_errors=True)
                for name in ("journal", "notes"):
                    (self.root / name).unlink(missing_ok=True)
            self.folder.mkdir(exist_ok=True)
        if begun is None:
            with naming(path, len(wanted)):
                atomic.write(path, wanted.encode("ascii"))
            sync_folder(self.root)

    def _resume(self, progress: Progress | None) -> None:
        """Takes the rows whose records and bytes are whole, and cuts off the rest."""
        with naming(self._path):
            content = self._path.read_bytes()
        table = journal.parse(content)
        for number, blob in enumerate(self.blobs):
            mine = table[table["target"] == number]
            blob.lay(mine["start"], mine["size"])
        self._take(table[: _intact(table, self.blobs, progress)])

    def _take(self, good: NDArray[Any]) -> None:
        """Leaves these records and their bytes, and cuts off the rest."""
        self._records = bytearray(good.tobytes())
        ends = []
        for number, blob in enumerate(self.blobs):
            mine = good[good["target"] == number]
            blob.lay(mine["start"], mine["size"])
            ends.append(int(mine["start"][-1] + mine["size"][-1]) if len(mine) else blob.head)
        self.rewind(ends)


def remove(root: Path) -> None:
    """Removes all that is staged, for the holder of its lock; the lock last, so that nobody else begins meanwhile."""
    shutil.rmtree(root / "store", ignore_errors=True)
    for name in ("plan.json", "plan.new", "journal", "notes", "lock"):
        with suppress(OSError):
            (root / name).unlink()
    with suppress(OSError):
        root.rmdir()


def _intact(table: NDArray[Any], blobs: Sequence[Blob | ShardedBlob], progress: Progress | None) -> int:
    """How many records at the beginning belong to rows whose bytes are those that were written."""
    done, total, ends = 0, int(table["size"].sum()), [blob.head for blob in blobs]
    fields = (table[name].tolist() for name in ("row", "start", "size", "target", "checksum"))
    for row, start, size, target, checksum in zip(*fields, strict=True):
        if target != journal.END_OF_ROW:
            gap = blobs[target].read(ends[target], start - ends[target])
            if any(gap) or blobs[target].checksum(start, size) != checksum:
                return int(np.searchsorted(table["row"], row))
            ends[target] = start + size
        done += size
        if progress is not None:
            progress(done, total)
    return len(table)


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
