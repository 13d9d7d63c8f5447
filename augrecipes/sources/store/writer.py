"""Writing a store: staged beside its place, resumed after an interruption, published by one rename."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.progress import Progress
from augrecipes.sources.store import index, journal
from augrecipes.sources.store.columns import Column, Texts, tables_of
from augrecipes.sources.store.disk import free_bytes
from augrecipes.sources.store.format import DTYPES, Contents, Role, StoreFormat
from augrecipes.sources.store.formats import FORMATS
from augrecipes.sources.store.item import Item, bytes_item, item_of
from augrecipes.sources.store.lock import Lock
from augrecipes.sources.store.publish import FinishedTarget, publish
from augrecipes.sources.store.stage import StagedStore, remove

SYNC_EVERY = 256 << 20
"""Bytes after which staged rows are made to outlive a power failure."""


class StoreWriter:
    """Takes rows in order, then publishes the store. Made by `StoreWriter.open`; use it in a ``with``.

    Leaving the ``with`` before `finish`, by an error or not, keeps what is staged: the next writer with the same
    arguments goes on behind it, and publishes the same bytes as if nothing had happened.

    Attributes:
        path: where the store will be.
    """

    def __init__(
        self, path: Path, stage: StagedStore, plan: Mapping[str, Any], kept: Mapping[str, StoreFormat]
    ) -> None:
        self.path, self._stage, self._plan, self._kept = path, stage, plan, kept
        self._unsynced = 0

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
        progress: Progress | None = None,
        shard_bytes: int | None = None,
    ) -> StoreWriter:
        """Begins a store, or goes on with one that was interrupted, after reading back and checking what is staged.

        Args:
            path: where the store will be; nothing may be there yet, and the folder around it must exist.
            format: ``raw``, ``lossless``, ``jpeg`` or ``hdf5``.
            kind: what the caller calls its rows; kept.
            targets: names (identifiers) and what each keeps: ``image`` (uint8 H×W×C) or ``mask`` (uint8, uint16 or
                int32 H×W).
            rows: how many there will be.
            about: what else to keep in the index, as JSON; keys come back sorted.
            quality: of jpeg, 1 to 100.
            expected_bytes: size of the store, where it is known: refused at once where the disk has not so much room.
            progress: called with the bytes and total while what is staged is read back.
            shard_bytes: keep each target in files of at most so many bytes, which are opened when they are read from
                (a single item that is larger has a file of its own); None: in one file.

        Raises:
            StoreError: the place is taken, another writer is at work, an interrupted run had other arguments, the
                disk is full, or the format needs a package that is missing.
        """
        place = Path(os.path.abspath(path))  # noqa: PTH100 (symbolic links are left as they are)
        kept = _kept(format, targets)
        if not isinstance(rows, int) or rows < 0 or not 1 <= quality <= 100:
            raise ValueError(f"rows must be a number from 0, quality one from 1 to 100: not {rows!r}, {quality!r}")
        if not place.parent.is_dir():
            raise StoreError("the folder that it should be in does not exist; make it first", path=str(place))
        heads = {name: how.head(name) if how.head else 0 for name, how in kept.items()}
        plan = {
            "about": index.as_json(about or {}),
            "format": format,
            "heads": heads,
            "kind": kind,
            "quality": quality if any(how.encode for how in kept.values()) else None,
            "rows": rows,
            "targets": [[name, role] for name, role in targets.items()],
            "version": index.ONE_FILE,
        }
        if shard_bytes is not None:
            if shard_bytes < 1:
                raise ValueError(f"shard_bytes must be at least 1, got {shard_bytes}")
            if any(how.frame for how in kept.values()):
                raise StoreError(f"{format} is one file a target: shards are of raw and jpeg", path=str(place))
            plan |= {"version": index.VERSION, "shard_bytes": shard_bytes}
        files = {how.file_name(name): heads[name] for name, how in kept.items()}
        stage = StagedStore(place, plan, files, progress, shard_bytes)
        writer = cls(place, stage, plan, kept)
        try:
            writer._check_room(expected_bytes)
        except StoreError:
            writer.close()
            raise
        return writer

    @staticmethod
    def discard(path: str | os.PathLike[str]) -> bool:
        """Removes what an interrupted run staged for a store at `path`; whether there was any. Raises StoreError."""
        root = index.stage_folder(Path(os.path.abspath(path)))  # noqa: PTH100
        if not root.exists():
            return False
        lock = Lock(root / "lock")
        try:
            remove(root)
        finally:
            lock.release()
        return True

    @property
    def done(self) -> int:
        """Rows that are staged, those of an interrupted run included: the next row's number."""
        return self._stage.rows

    @property
    def notes(self) -> dict[int, str]:
        """The notes of staged rows."""
        return self._stage.notes()

    def add(self, row: int, items: Mapping[str, Iterable[NDArray[Any] | Item]], note: str = "") -> None:
        """Writes the next row; all of it or, after an error, nothing.

        Args:
            row: its number: `done`.
            items: a target's arrays, or what `make_item` made of them: one, many (a bag; written as they come, so an
                iterator keeps memory small), or none. A target left out has none.
            note: a text kept until `finish`, for the caller of an interrupted and resumed run; not published.

        Raises:
            StoreError: the disk is full, or an array is nothing that the store keeps.
            ValueError: not the next row, or an unknown target.
        """
        if row != self.done or row >= self._plan["rows"]:
            raise ValueError(f"row {row} of {self._plan['rows']} was given where row {self.done} is next")
        if not items.keys() <= self._kept.keys():
            raise ValueError(f"targets {', '.join(items)} were given; the store has {', '.join(self._kept)}")
        ends = [blob.end for blob in self._stage.blobs]
        records = bytearray()
        try:
            for number, (name, role) in enumerate(self._plan["targets"]):
                for given in items.get(name, ()):
                    records += self._put(row, number, given, self._kept[name], role)
            if note:
                item = bytes_item(note.encode("utf-8", "surrogateescape"))
                start = self._stage.blobs[-1].put(item, 1)
                records += journal.record(row, len(self._kept), start, item)
            self._stage.append(bytes(records) + journal.end_of_row(row))
        except BaseException:
            if self.done == row:
                self._stage.rewind(ends)
            raise
        self._unsynced += sum(blob.end for blob in self._stage.blobs) - sum(ends)
        if self._unsynced >= SYNC_EVERY:
            self._stage.sync()
            self._unsynced = 0

    def keep(self, rows: int) -> None:
        """Forgets all rows but the first so many: they are to be written again."""
        self._stage.keep(rows)

    def finish(self, columns: Mapping[str, Column] | None = None, about: Mapping[str, Any] | None = None) -> None:
        """Publishes the store, once all rows are there: everything is synced, the index last, then one rename.

        Args:
            columns: arrays of numbers or booleans, and lists of str, by name. The text column ``source`` (one a row),
                or ``source/TARGET`` (one a row, one for so many rows side by side, or one an item), names files in what
                `Store.verify` finds.
            about: more of what `open` was told.

        Raises:
            StoreError: rows are missing, the disk is full, or a column cannot be kept. What is staged stays.
        """
        rows = self._plan["rows"]
        if self.done != rows:
            raise StoreError(f"only {self.done:,} of {rows:,} rows were written", path=str(self.path))
        tables = tables_of(columns or {})
        described = {key: self._plan[key] for key in ("format", "kind", "quality", "rows", "version")}
        described["about"] = {**self._plan["about"], **index.as_json(about or {})}
        records = self._stage.table()
        parts = [self._part(records[records["target"] == number], number, tables) for number in range(len(self._kept))]
        publish(self._stage.folder, self.path, parts, tables, described)
        remove(self._stage.root)
        self.close()

    def close(self) -> None:
        """Lets go of the store; what is staged stays. Done by leaving the ``with``."""
        self._stage.close()

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _put(self, row: int, number: int, given: NDArray[Any] | Item, kept: StoreFormat, role: Role) -> bytes:
        try:
            item = given if isinstance(given, Item) else item_of(given, kept, role, self._plan["quality"] or 0)
        except StoreError as error:
            raise StoreError(f"row {row}: {error.reason}", path=str(self.path)) from None
        if isinstance(item.data, bytes) != (kept.encode is not None):
            raise ValueError(f"row {row}: an item made for another format than {kept.name}")
        start = self._stage.blobs[number].put(item, max(kept.alignment, DTYPES[item.sample].itemsize))
        return journal.record(row, number, start, item)

    def _part(self, records: NDArray[Any], number: int, tables: Mapping[str, NDArray[Any] | Texts]) -> FinishedTarget:
        """What is published of one target, given the records of its items."""
        name, role = self._plan["targets"][number]
        blob, kept = self._stage.blobs[number], self._kept[name]
        table = {
            "checksum": records["checksum"],
            "rows": np.searchsorted(records["row"], np.arange(self.done + 1)).astype("<i8"),
            "sample": records["sample"].astype("u1"),
            "shape": np.stack([records["height"], records["width"], records["channels"]], axis=1),
            "size": records["size"],
            "start": records["start"],
        }
        frame = b"", b""
        if kept.frame is not None:
            frame = kept.frame(Contents(name, blob.head, blob.end, table, tables))
        return FinishedTarget(name, role, blob, table, frame)

    def _check_room(self, expected: int | None) -> None:
        if expected is None:
            return
        staged = sum(blob.end for blob in self._stage.blobs)
        free = free_bytes(self._stage.root)
        if expected - staged > free:
            raise StoreError(
                f"needs {expected - staged:,} more bytes, and {free:,} are free; make room, or take another disk",
                path=str(self.path),
            )


def _kept(format: str, targets: Mapping[str, Role]) -> dict[str, StoreFormat]:
    if format not in FORMATS:
        raise ValueError(f"format {format!r} is unknown; there are {', '.join(FORMATS)}")
    for name, role in targets.items():
        if not name.isidentifier() or role not in ("image", "mask"):
            raise ValueError(f"target {name!r}: {role!r}; names are identifiers, roles are image and mask")
    if not targets:
        raise ValueError("a store has at least one target")
    return {name: FORMATS[format].of(role) for name, role in targets.items()}
