"""Shards: a target's items in several files of bounded size instead of one.

    TARGET-00000.bin, TARGET-00001.bin, ...

The items of a target keep one line of places (`start`), as in a store of one file. Where a shard ends, a hole of more
than a page follows, as wide as no other between items: so the table of items says by itself where each shard begins,
and that its first item stands at its first byte. The index has only names and sizes.
"""

from __future__ import annotations

import mmap
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.store.disk import naming
from augrecipes.sources.store.intact import StoredFile

_PAGE = 4096
_MAPPED = 256
"""Shards of a target that are mapped at a time: each holds a file open, and systems allow about a thousand."""


class Shard(NamedTuple):
    """One shard, as a writer or an index has it.

    Attributes:
        base: place of its first byte.
        size: bytes.
    """

    base: int
    size: int


def base_behind(end: int) -> int:
    """Where the shard begins that follows one which ends at `end`.

    >>> base_behind(1), base_behind(4096)
    (8192, 8192)
    """
    return (-(-end // _PAGE) + 1) * _PAGE


def shards_of(start: NDArray[np.int64], size: NDArray[np.int64]) -> list[Shard]:
    """The shards in which items lie, by their places and sizes.

    >>> shards_of(np.array([0, 64, 8192]), np.array([10, 10, 99]))
    [Shard(base=0, size=74), Shard(base=8192, size=99)]
    """
    if not len(start):
        return []
    ends = start + size
    last = np.append(np.flatnonzero(start[1:] - ends[:-1] >= _PAGE), len(start) - 1)
    bases = start[np.append(0, last[:-1] + 1)]
    return [Shard(base, end - base) for base, end in zip(bases.tolist(), ends[last].tolist(), strict=True)]


def one_behind_another(tables: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The tables of items of several stores as that of one: their shards follow each other, in their order."""
    tables, at, rows = list(tables), 0, 0
    starts, firsts = [], [np.zeros(1, "<i8")]
    for table in tables:
        starts.append(table["start"] + at)
        firsts.append(table["rows"][1:] + rows)
        rows += len(table["start"])
        if len(table["start"]):
            at = base_behind(int(starts[-1][-1] + table["size"][-1]))
    joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    return {**joined, "start": np.concatenate(starts), "rows": np.concatenate(firsts)}


def shard_name(file: str, number: int) -> str:
    """Name of a shard of what would else be one file.

    >>> shard_name("image.bin", 3)
    'image-00003.bin'
    """
    stem, dot, suffix = file.partition(".")
    return f"{stem}-{number:05}{dot}{suffix}"


def numbers_of(folder: Path, file: str) -> dict[int, Path]:
    """The shards of `file` that are in a folder, by number."""
    stem, dot, suffix = file.partition(".")
    form = re.compile(rf"{re.escape(stem)}-(\d{{5,}}){re.escape(dot + suffix)}")
    with naming(folder):
        found = [(form.fullmatch(path.name), path) for path in folder.iterdir()]
    return {int(match[1]): path for match, path in found if match}


class MappedShards:
    """The shards of a target, each mapped when it is first read from; at most some hundred at a time.

    Args:
        files: the shards, in order.
        open: maps one.
    """

    def __init__(self, files: Sequence[StoredFile], open: Callable[[StoredFile], mmap.mmap | bytes]) -> None:
        self.files, self._open = files, open
        self._bases = [file.base for file in files]
        self._base_of = np.array(self._bases, np.int64)
        self._maps: list[mmap.mmap | bytes | None] = [None] * len(files)
        self._kept: deque[int] = deque()  # those that are mapped, the oldest first
        self._asked = bytearray(len(files))

    def __len__(self) -> int:
        return len(self.files)

    def number(self, start: int) -> int:
        """The shard that holds the item which begins at a place."""
        return bisect_right(self._bases, start) - 1

    def at(self, start: int) -> tuple[mmap.mmap | bytes, int]:
        """A place: the shard, mapped, and how far it is in it."""
        number = bisect_right(self._bases, start) - 1
        return self._mapped(number), start - self._bases[number]

    def addresses(self, starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[mmap.mmap | bytes]]:
        """Places in memory, and the shards that they are in: they stay there for as long as these are kept."""
        numbers, of_each = np.unique(np.searchsorted(self._base_of, starts, side="right") - 1, return_inverse=True)
        held = [self._mapped(number) for number in numbers.tolist()]
        first = [address_of(shard) - self._bases[n] for n, shard in zip(numbers.tolist(), held, strict=True)]
        return starts + np.array(first, np.int64)[of_each], held

    def _mapped(self, number: int) -> mmap.mmap | bytes:
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

    def _let_go(self) -> None:
        """Keep the others mapped that were asked for since the last time: whoever has a view of this one keeps it."""
        while self._asked[oldest := self._kept.popleft()] and len(self._kept) > 1:
            self._asked[oldest] = 0
            self._kept.append(oldest)
        self._maps[oldest] = None


def address_of(mapped: mmap.mmap | bytes) -> int:
    """Of the first byte of a mapped file, which is not empty."""
    return int(np.frombuffer(mapped, np.uint8).ctypes.data)
