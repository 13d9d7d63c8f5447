"""The shard that is being written: a file for each target, to which rows are added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from augrecipes.sources.store.columns import Texts
from augrecipes.sources.store.disk import READ_ONLY, naming, sync, sync_folder, write_all
from augrecipes.sources.store.format import DTYPES, StoreFormat
from augrecipes.sources.store.item import Item, pieces
from augrecipes.sources.store.staging import StagedShard, table_of


class OpenShard:
    """A shard that grows.

    Args:
        folder: of the store.
        files: the names of its files, by target.
        kept: the format of each target.

    Attributes:
        notes: of its rows.
    """

    def __init__(self, folder: Path, files: Mapping[str, str], kept: Mapping[str, StoreFormat]) -> None:
        self._kept = kept
        self._paths = {name: folder / file for name, file in files.items()}
        self._ends = dict.fromkeys(self._kept, 0)
        self._records: dict[str, list[tuple[int, ...]]] = {name: [] for name in self._kept}
        self._counts: dict[str, list[int]] = {name: [0] for name in self._kept}
        self.notes: list[str] = []
        self._files: dict[str, BinaryIO] = {}
        with ExitStack() as opened:
            for name, path in self._paths.items():
                with naming(path):
                    path.unlink(missing_ok=True)
                    self._files[name] = opened.enter_context(path.open("xb", buffering=0))
            opened.pop_all()

    def would_be(self, made: Mapping[str, Sequence[Item]]) -> int:
        """The size of the largest file with these items."""
        ends = dict(self._ends)
        for name, items in made.items():
            for item in items:
                ends[name] = self._start(name, item, ends[name]) + item.size
        return max(ends.values())

    def add(self, made: Mapping[str, Sequence[Item]], note: str) -> None:
        """Writes a row."""
        ends = dict(self._ends)
        records: dict[str, list[tuple[int, ...]]] = {}
        try:
            for name, items in made.items():
                records[name] = [self._put(name, item) for item in items]
        except BaseException:
            for name, file in self._files.items():
                with naming(self._paths[name]):
                    file.truncate(ends[name])
                    file.seek(ends[name])
            self._ends = ends
            raise
        for name, found in records.items():
            self._records[name] += found
            self._counts[name].append(len(self._records[name]))
        self.notes.append(note)

    def finished(self) -> StagedShard:
        """What was written, once it would outlive a power failure; no row can follow."""
        for name, file in self._files.items():
            sync(file, self._paths[name])
            with naming(self._paths[name]):
                self._paths[name].chmod(READ_ONLY)
        self.close()
        sync_folder(next(iter(self._paths.values())).parent)
        tables = {name: table_of(self._records[name], self._counts[name]) for name in self._kept}
        return StagedShard(len(self.notes), self._ends, tables, Texts.of(self.notes))

    def close(self) -> None:
        """Lets go of the files."""
        for file in self._files.values():
            file.close()

    def _start(self, name: str, item: Item, end: int) -> int:
        """Where an item begins in a file that ends there."""
        step = max(self._kept[name].alignment, DTYPES[item.sample].itemsize)
        return -(-end // step) * step

    def _put(self, name: str, item: Item) -> tuple[int, ...]:
        """Writes an item behind a hole that reads as zeros; what is known of it."""
        start = self._start(name, item, self._ends[name])
        with naming(self._paths[name]):
            self._files[name].seek(start)
        for piece in pieces(item.data):
            write_all(self._files[name], piece, self._paths[name])
        self._ends[name] = start + item.size
        return start, item.size, *item.shape, item.sample, item.checksum
