"""Write a store shard by shard beside its final place, resume after an interruption, and publish by one rename.

A remote store is written in the cache folder, and uploaded in the end, the index last.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from augrecipes import cache, paths
from augrecipes.errors import StoreError
from augrecipes.remote import Place, RemotePath, place_of
from augrecipes.store import disk, formats, index
from augrecipes.store.columns import Column, as_tables, join_tables
from augrecipes.store.index import publish
from augrecipes.store.staging import OpenShard, StagedShard, begin, forget, remove, shard_files, staged_shards

SHARD_BYTES = 512 << 20
"""The default for the largest file of a target; a row that is larger has a file of its own."""


class StoreWriter:
    """Writes rows in order, then publishes the store; resumes an interrupted run. Use it in a ``with``.

    Leaving the ``with`` before `finish`, by an error or not, keeps the complete shards: the next writer with the same
    arguments continues after them, and publishes the same bytes as an uninterrupted run.

    Args:
        path: where the store will be, or its address; nothing may be there yet, and the folder around it exists.
        format: ``raw``, ``lossless`` or ``jpeg``.
        kind: the caller's name for the kind of its rows; stored in the index.
        targets: names (identifiers) and what each keeps: ``image`` (uint8, uint16 or float32 H×W×C) or ``mask``
            (uint8, uint16, int32 or float32 H×W).
        rows: the total number of rows.
        about: more to keep in the index, as JSON; keys come back sorted.
        quality: the quality of jpeg, 1 to 100.
        expected_bytes: size of the store, where it is known: StoreError at once where the disk has less room.
        shard_bytes: the largest file of a target (a row that is larger has a file of its own); None: `SHARD_BYTES`.

    Attributes:
        path: where the store will be.

    Raises:
        StoreError: the place is taken, another writer is at work, an interrupted run had other arguments, the disk is
            full, or the format needs a package that is missing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        format: str,
        kind: str,
        targets: Mapping[str, formats.Role],
        rows: int,
        about: Mapping[str, Any] | None = None,
        quality: int = 95,
        expected_bytes: int = 0,
        shard_bytes: int | None = None,
    ) -> None:
        place = place_of(path)
        if format not in formats.FORMATS:
            raise ValueError(f"format {format!r} is unknown; there are {', '.join(formats.FORMATS)}")
        if not 1 <= quality <= 100 or (shard_bytes is not None and shard_bytes < 1):
            raise ValueError(f"quality is 1 to 100, and shard_bytes at least 1: not {quality}, {shard_bytes}")
        if isinstance(place, Path):
            place = Path(os.path.abspath(place))  # noqa: PTH100 (links stay)
            if not place.parent.is_dir():
                raise StoreError("the folder that it should be in does not exist; make it first", path=str(place))
        self.path: Place = place
        self._targets = dict(targets)
        self._formats = {name: formats.FORMATS[format].for_role(role) for name, role in targets.items()}
        self._plan: dict[str, Any] = {
            "about": index.to_json(about or {}),
            "format": format,
            "kind": kind,
            "quality": quality if any(how.encode for how in self._formats.values()) else None,
            "rows": rows,
            "shard_bytes": shard_bytes or SHARD_BYTES,
            "targets": [[name, role] for name, role in targets.items()],
            "version": index.VERSION,
        }
        self._root = index.stage_folder(place) if isinstance(place, Path) else _local_stage(place)
        self._folder = self._root / "store"
        self._suffixes = {name: how.suffix for name, how in self._formats.items()}
        self._shards: list[StagedShard] = []
        self._open: OpenShard | None = None
        with self._errors():
            self._lock = disk.locked(self._root / "lock")
        try:
            with self._errors():
                self._begin(expected_bytes)
        except BaseException:
            self.close()
            raise

    @property
    def notes(self) -> list[str]:
        """The notes of all staged rows, including those of an interrupted run."""
        return [text for shard in (*self._shards, self._open) if shard is not None for text in shard.notes]

    @property
    def done(self) -> int:
        """The number of staged rows, which is the next row's number."""
        return sum(len(shard.notes) for shard in (*self._shards, self._open) if shard is not None)

    def add(self, row: int, items: Mapping[str, Iterable[NDArray[Any] | formats.Item]], note: str = "") -> None:
        """Write the next row; all of it or, after an error, nothing.

        Args:
            row: its number, which is `done`.
            items: each target's arrays, or items that `make_item` made: one, many (a bag), or none. A target left out
                has none.
            note: a text of the caller's, which a resumed run finds in `notes`; not published.

        Raises:
            StoreError: the disk is full, or the store cannot keep an array.
            ValueError: not the next row.
        """
        if row != self.done or row >= self._plan["rows"]:
            raise ValueError(f"row {row} of {self._plan['rows']} was given where row {self.done} is next")
        stored = {name: [self._item(row, name, value) for value in items.get(name, ())] for name in self._formats}
        with self._errors():
            if self._open is not None and self._open.notes and self._open.size_with(stored) > self._plan["shard_bytes"]:
                self._close_shard()
            if self._open is None:
                self._open = OpenShard(self._folder, shard_files(len(self._shards), self._suffixes), self._formats)
            self._open.add(stored, note)

    def keep(self, rows: int) -> None:
        """Keep the first `rows` staged rows at most: remove each shard that reaches beyond them."""
        while self._shards and self.done > rows:
            self._shards.pop()
        with self._errors():
            self._forget()

    def finish(self, columns: Mapping[str, Column] | None = None, about: Mapping[str, Any] | None = None) -> None:
        """Publish the store once all rows are written: sync everything, the index last, then rename the folder.

        Args:
            columns: arrays of numbers or booleans, and lists of str, by name.
            about: more entries for the index's `about`.

        Raises:
            StoreError: rows are missing, the disk is full, or a column cannot be kept. Staged rows are kept.
        """
        if self.done != self._plan["rows"]:
            raise StoreError(f"only {self.done:,} of {self._plan['rows']:,} rows were written", path=str(self.path))
        tables = as_tables(columns or {})
        with self._errors():
            self._close_shard()
            fields = {key: self._plan[key] for key in ("format", "kind", "quality", "rows")} | {
                "targets": self._targets
            }
            fields["about"] = {**self._plan["about"], **index.to_json(about or {})}
            shards = [{"rows": len(shard.notes), "files": dict(shard.files)} for shard in self._shards]
            items = {name: join_tables([shard.tables[name] for shard in self._shards]) for name in self._formats}
            publish(self._folder, items, tables, fields, shards)
            if isinstance(self.path, RemotePath):
                self._send(self.path)
            else:
                with disk.store_errors(self.path):
                    self._folder.rename(self.path)
                    paths.sync_folder(self.path.parent)
            remove(self._root)
            self.close()

    def close(self) -> None:
        """Close the files and release the lock; complete shards stay. Leaving the ``with`` calls this."""
        if self._open is not None:
            self._open.close()
            self._open = None
        self._lock.release()

    def __enter__(self) -> "StoreWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn an OSError in the staging folder into a StoreError that says how to mend it."""
        try:
            with disk.store_errors(self._root):
                yield
        except StoreError as error:
            is_local = error.__cause__ is not None and (error.path or "").startswith(str(self._root))
            if isinstance(self.path, Path) or not is_local:
                raise
            why = f"what is sent elsewhere is packed in the cache folder first; {cache.CACHE} names another one"
            raise StoreError(f"{error.reason}: {why}", error.path) from error.__cause__

    def _begin(self, expected: int) -> None:
        if isinstance(self.path, Path) and not self._folder.exists() and os.path.lexists(self.path):
            remove(self._root)  # published already; the run was killed before it removed the staging folder
        self._refuse_taken()
        begin(self._root, self._plan)
        self._shards = staged_shards(self._root, self._suffixes)
        self._forget()
        expected -= sum(record["size"] for shard in self._shards for record in shard.files.values())
        if expected > (free := shutil.disk_usage(self._root).free):
            why = f"needs {expected:,} more bytes, and {free:,} are free; make room, or take another disk"
            raise StoreError(why, path=str(self.path))

    def _refuse_taken(self) -> None:
        place = self.path if isinstance(self.path, Path) else self.path / index.NAME
        with disk.store_errors(place):
            if os.path.lexists(place) if isinstance(place, Path) else place.exists():
                why = "exists already, and a published store is never modified; remove it first"
                raise StoreError(why, str(self.path))

    def _forget(self) -> None:
        """Remove all staged files but those of complete shards."""
        names = {file for k in range(len(self._shards)) for file in shard_files(k, self._suffixes).values()}
        forget(self._root, len(self._shards), names)

    def _send(self, place: RemotePath) -> None:
        """Upload all files, the index last. StoreError where a store was published there meanwhile."""
        self._refuse_taken()
        for file in sorted(self._folder.iterdir(), key=lambda file: file.name == index.NAME):
            with disk.store_errors(place / file.name):
                (place / file.name).send(file)

    def _item(self, row: int, name: str, value: NDArray[Any] | formats.Item) -> formats.Item:
        if isinstance(value, formats.Item):
            return value
        try:
            return formats.encode_item(value, self._formats[name], self._targets[name], self._plan["quality"] or 0)
        except StoreError as error:
            raise StoreError(f"row {row}: {error.reason}", path=str(self.path)) from None

    def _close_shard(self) -> None:
        """Complete the open shard, after which an interrupted run can resume."""
        if self._open is not None:
            number, shard = len(self._shards), self._open.finish()
            table, data = self._root / f"{number:05}.npz", shard.render()
            with disk.store_errors(table, len(data)):
                paths.write_file(table, data, mode=disk.READ_ONLY)
            self._shards.append(shard)
            self._open = None


def _local_stage(place: RemotePath) -> Path:
    """Return the folder that a remote store is staged in."""
    try:
        return cache.cache_folder() / "packing" / blake2b(place.url.encode()).hexdigest()[:24]
    except OSError as error:
        raise StoreError(f"there is no cache folder to pack in ({error}): say one with {cache.CACHE}") from None
