"""Shards: the files of one target, each with the items of some rows; mapped when they are first read from.

TARGET-00000.bin, TARGET-00001.bin, ...
"""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.store.index import shard_name

_MAPPED = 256
"""Shards of a target that are mapped at a time: each holds a file open, and systems allow about a thousand."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of a target, as a store's index and tables have it.

    Attributes:
        name: below the store.
        size: bytes.
        frame: CRC-32 of what stands before and behind its items.
        numbers: of its items.
    """

    name: str
    size: int
    frame: int
    numbers: range


def files_of(target: str, suffix: str, shards: Sequence[dict[str, Any]], rows: NDArray[np.int64]) -> list[StoredFile]:
    """The files of a target.

    Args:
        target: its name.
        suffix: of its format.
        shards: what the index says of all shards.
        rows: where the items of each row begin, in its table.
    """
    found: list[StoredFile] = []
    row, number, part = 0, 0, None
    for said in shards:
        number = number + 1 if found and said.get("part") == part else 0
        part, behind = said.get("part"), row + said["rows"]
        numbers = range(int(rows[row]), int(rows[behind]))
        frame = said.get("frames", {}).get(target, 0)
        found.append(StoredFile(shard_name(target, number, suffix, part), said["sizes"][target], frame, numbers))
        row = behind
    return found


class MappedShards:
    """The shards of a target, each mapped when it is first read from; at most some hundred at a time.

    Args:
        files: the shards, in order.
        open: maps one.
    """

    def __init__(self, files: Sequence[StoredFile], open: Callable[[StoredFile], mmap.mmap | bytes]) -> None:
        self.files, self._open = files, open
        self._firsts = [file.numbers.start for file in files]
        self._first_of = np.array(self._firsts, np.int64)
        self._maps: list[mmap.mmap | bytes | None] = [None] * len(files)
        self._kept: deque[int] = deque()  # those that are mapped, the oldest first
        self._asked = bytearray(len(files))

    def number(self, item: int) -> int:
        """The shard that an item is in."""
        return bisect_right(self._firsts, item) - 1

    def numbers(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """The shards that items are in."""
        return np.searchsorted(self._first_of, items, side="right") - 1

    def of(self, item: int) -> mmap.mmap | bytes:
        """The shard that an item is in, mapped."""
        return self.mapped(bisect_right(self._firsts, item) - 1)

    def addresses(self, items: NDArray[np.int64]) -> tuple[NDArray[np.int64] | int, list[mmap.mmap | bytes]]:
        """Where in memory the shards of items begin, and these: they stay there for as long as these are kept."""
        if not len(items):
            return 0, []
        if len(self.files) == 1:
            held = [self.mapped(0)]
            return address_of(held[0]), held
        shards, of_each = np.unique(self.numbers(items), return_inverse=True)
        held = [self.mapped(number) for number in shards.tolist()]
        return np.array([address_of(shard) for shard in held], np.int64)[of_each], held

    def mapped(self, number: int) -> mmap.mmap | bytes:
        """A shard, mapped."""
        # Without a lock, which a fork may leave locked for ever: at the worst two threads map the same shard.
        self._asked[number] = 1
        if (found := self._maps[number]) is not None:
            return found
        found = self._maps[number] = self._open(self.files[number])
        self._kept.append(number)
        if len(self._kept) > _MAPPED:
            self._let_go()
        return found

    def map_all(self) -> None:
        """Map them now, where they are few: whoever replaces the store then takes nothing from who reads it."""
        if len(self.files) <= _MAPPED // 4:
            for number in range(len(self.files)):
                self.mapped(number)

    def _let_go(self) -> None:
        """Keep the others mapped that were asked for since the last time: whoever has a view of this one keeps it."""
        while self._asked[oldest := self._kept.popleft()] and len(self._kept) > 1:
            self._asked[oldest] = 0
            self._kept.append(oldest)
        self._maps[oldest] = None


def address_of(mapped: mmap.mmap | bytes) -> int:
    """Of the first byte of a mapped file, which is not empty."""
    return int(np.frombuffer(mapped, np.uint8).ctypes.data)
