"""Writing a store: staged beside its place, resumed after an interruption, published by one rename."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.sources.store import columns, index, journal
from augrecipes.sources.store.columns import Column
from augrecipes.sources.store.disk import free_bytes, naming, sync, sync_folder, write_all, write_file
from augrecipes.sources.store.format import Role
from augrecipes.sources.store.formats import FORMATS
from augrecipes.sources.store.item import DTYPES, Item, item_of, pieces
from augrecipes.sources.store.lock import Lock


class StoreWriter:
    """Takes rows in order, then publishes the store. Made by `StoreWriter.open`; use it in a ``with``."""

    def __init__(self, stage: Path, path: Path, plan: dict[str, Any], lock: Lock) -> None:
        self.path, self._stage, self._plan, self._lock = path, stage, plan, lock
        self._kept = {name: FORMATS[plan["format"]].of(role) for name, role in plan["targets"].items()}
        self._names = list(self._kept)
        self._paths = {name: stage / "store" / kept.file_name(name) for name, kept in self._kept.items()}
        self._files: dict[str, BinaryIO] = {}
        self._ends = {name: kept.head for name, kept in self._kept.items()}
        self._records = bytearray()
        self.done = 0
        for name, file in self._paths.items():
            self._files[name] = file.open("w+b", buffering=0)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        format: str,
        kind: str,
        targets: Mapping[str, Role],
        rows: int,
        about: Mapping[str, Any] | None = None,
        quality: int = 95,
        expected_bytes: int | None = None,
    ) -> StoreWriter:
        """Begins a store, or goes on with one that was interrupted."""
        place = Path(path)
        stage = place.parent / f".{place.name}.partial"
        if os.path.lexists(place):
            raise StoreError(
                "exists already; a published store is never modified: remove it, or name another", str(place)
            )
        with naming(stage):
            stage.mkdir(exist_ok=True)
        lock = Lock(stage / "lock")
        (stage / "store").mkdir(exist_ok=True)
        plan = {
            "format": format,
            "kind": kind,
            "targets": dict(targets),
            "rows": rows,
            "about": index.as_json(about or {}),
            "quality": quality,
        }
        if expected_bytes is not None and expected_bytes > free_bytes(stage):
            raise StoreError("not enough room", str(stage))
        return cls(stage, place, plan, lock)

    def add(self, row: int, items: Mapping[str, Iterable[NDArray[Any] | Item]]) -> None:
        """Writes the next row."""
        if row != self.done:
            raise ValueError(f"row {row} was given where row {self.done} is next: rows are written in order")
        records = bytearray()
        for number, name in enumerate(self._names):
            for given in items.get(name, ()):
                records += self._put(row, number, name, given)
        self._records += records + journal.end_of_row(row)
        self.done += 1

    def finish(self, extra: Mapping[str, Column]) -> None:
        """Publishes the store."""
        store = self._stage / "store"
        records = np.frombuffer(bytes(self._records), journal.RECORD)
        targets: dict[str, Any] = {}
        tables: dict[str, Column] = dict(extra)
        for number, (name, role) in enumerate(self._plan["targets"].items()):
            tables.update({f"items/{name}/{key}": c for key, c in self._table(records, number).items()})
            size = self._files[name].seek(0, 2)
            targets[name] = {"role": role, "size": size}
            sync(self._files[name], self._paths[name])
        blob, described = columns.render(tables)
        write_file(store / index.COLUMNS, blob)
        content = {key: self._plan[key] for key in ("format", "kind", "rows", "about", "quality")}
        write_file(store / index.NAME, index.render({**content, "targets": targets, "columns": described}))
        sync_folder(store)
        with naming(self.path):
            store.rename(self.path)
        sync_folder(self.path.parent)
        self.close()
        shutil.rmtree(self._stage, ignore_errors=True)

    def close(self) -> None:
        """Lets go of the files and the lock; what is staged stays."""
        for file in self._files.values():
            file.close()
        self._lock.release()

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _put(self, row: int, number: int, name: str, given: NDArray[Any] | Item) -> bytes:
        kept, role = self._kept[name], self._plan["targets"][name]
        item = given if isinstance(given, Item) else item_of(given, kept, role, self._plan["quality"])
        step = max(kept.alignment, DTYPES[item.sample].itemsize)
        start = -(-self._ends[name] // step) * step
        file = self._files[name]
        file.seek(start)
        for piece in pieces(item.data):
            write_all(file, piece, self._paths[name])
        self._ends[name] = start + item.size
        return journal.record(row, number, start, item.size, item.shape, item.sample, item.checksum)

    def _table(self, records: NDArray[Any], number: int) -> dict[str, NDArray[Any]]:
        mine = records[records["target"] == number]
        rows = np.searchsorted(mine["row"], np.arange(self.done + 1)).astype("<i8")
        shape = np.stack([mine["height"], mine["width"], mine["channels"]], axis=1)
        plain = {name: np.ascontiguousarray(mine[name]) for name in ("start", "size", "checksum")}
        return {**plain, "shape": shape, "sample": mine["sample"].astype("u1"), "rows": rows}
