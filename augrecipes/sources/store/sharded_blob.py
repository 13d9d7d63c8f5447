"""The files of one target while they grow, each up to so many bytes: what `Blob` is for one file."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.store.blob import READ_ONLY, Blob
from augrecipes.sources.store.disk import naming, sync_folder
from augrecipes.sources.store.item import Item
from augrecipes.sources.store.shards import Shard, base_behind, numbers_of, shard_name, shards_of


class ShardedBlob:
    """Items one after another, in files that are no larger than `most` bytes; a larger item has a file of its own.

    Args:
        path: what the file would be called, if it were one.
        most: bytes of a shard.

    Attributes:
        head: 0: nothing stands before the items.
        end: place where the last item ends.
    """

    def __init__(self, path: Path, most: int) -> None:
        self.path, self.most, self.head, self.end = path, most, 0, 0
        self._shards: list[Shard] = []  # the size of the last one is that of its file
        self._open: tuple[int, Blob] | None = None

    def lay(self, start: NDArray[np.int64], size: NDArray[np.int64]) -> None:
        """Says where items lie, before anything is read of an interrupted run."""
        self._shards = shards_of(start, size)
        self.end = sum(self._shards[-1]) if self._shards else 0

    def put(self, item: Item, step: int) -> int:
        """As `Blob.put`."""
        start = -(-self.end // step) * step
        if not self._shards:
            self._shards.append(Shard(start, 0))
        elif start + item.size - self._shards[-1].base > self.most:
            start, base = base_behind(self.end), self._shards[-1].base
            self._shards[-1:] = [Shard(base, self.end - base), Shard(start, 0)]
        number = len(self._shards) - 1
        self._blob(number).put(item, step)
        self.end = start + item.size
        return start

    def checksum(self, start: int, size: int) -> int | None:
        """As `Blob.checksum`."""
        number = self._number(start)
        return self._blob(number).checksum(start - self._shards[number].base, size)

    def read(self, start: int, size: int) -> bytes:
        """As `Blob.read`; what lies between shards is in no file."""
        number = self._number(start)
        if number < 0 or start >= sum(self._shards[number]):
            return b""
        return self._blob(number).read(start - self._shards[number].base, size)

    def cut(self, end: int) -> None:
        """Forgets what lies behind `end`, and what no item lies in."""
        self._shards = [shard for shard in self._shards if shard.base < end]
        for number, path in numbers_of(self.path.parent, self.path.name).items():
            if number >= len(self._shards):
                self._let_go()
                with naming(path):
                    path.unlink()
        for number, shard in enumerate(self._shards):
            last = number == len(self._shards) - 1
            size = end - shard.base if last else shard.size
            path = self._path(number)
            if last or not path.exists() or path.stat().st_size != size:
                self._blob(number).cut(size)
        self.end = end

    def finish(self, frame: Any) -> dict[str, Any]:
        """As `Blob.finish`; nothing stands around the items."""
        del frame
        self.close()
        sizes = []
        for number in range(len(self._shards)):
            path = self._path(number)
            with naming(path):
                path.chmod(READ_ONLY)
                sizes.append({"file": path.name, "size": path.stat().st_size})
        return {"shards": sizes}

    def sync(self) -> None:
        """As `Blob.sync`: of files before the last one this is done."""
        if self._open is not None:
            self._open[1].sync()

    def close(self) -> None:
        """As `Blob.close`."""
        self._let_go()

    def _path(self, number: int) -> Path:
        return self.path.with_name(shard_name(self.path.name, number))

    def _number(self, start: int) -> int:
        return bisect_right(self._shards, start, key=lambda shard: shard.base) - 1

    def _blob(self, number: int) -> Blob:
        """A shard's file; that of another is closed, once it would outlive a power failure."""
        if self._open is None or self._open[0] != number:
            self._let_go()
            self._open = number, Blob(self._path(number))
            base, size = self._shards[number]
            last = number == len(self._shards) - 1
            self._open[1].end = max(0, self.end - base) if last else size
        return self._open[1]

    def _let_go(self) -> None:
        if self._open is not None:
            self._open[1].sync()
            self._open[1].close()
            sync_folder(self.path.parent)
            self._open = None
