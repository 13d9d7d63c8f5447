"""Whether one file of a target has the bytes that were written: its items, the holes between them, what is around."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_READ = 1 << 22


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of a target, as a store's index and tables have it.

    Attributes:
        name: below the store.
        base: place of its first byte.
        head: bytes in front of its first item.
        size: of the file.
        frame: CRC-32 of what stands before and behind its items.
        numbers: of its items.
    """

    name: str
    base: int
    head: int
    size: int
    frame: int
    numbers: range


class Piece(NamedTuple):
    """A part of a file that was looked at.

    Attributes:
        size: bytes.
        item: number of the item, where it is one.
        wrong: which bytes are not those that were written; empty where they are.
    """

    size: int
    item: int | None = None
    wrong: str = ""


def files_of(name: str, about: dict[str, Any], start: NDArray[np.int64], shards: list[Any]) -> list[StoredFile]:
    """The files of a target.

    Args:
        name: of its one file.
        about: what the index says of the target.
        start: where its items begin.
        shards: where its shards lie; none of one file.
    """
    if "shards" not in about:
        return [StoredFile(name, 0, about["head"], about["size"], about["frame"], range(len(start)))]
    found = []
    for said, (base, size) in zip(about["shards"], shards, strict=True):
        first, last = np.searchsorted(start, [base, base + size]).tolist()
        found.append(StoredFile(said["file"], base, 0, size, 0, range(first, last)))
    return found


def read_through(path: Path, stored: StoredFile, table: dict[str, NDArray[Any]]) -> Iterator[Piece]:
    """Reads a file from beginning to end and compares it with the table of its target's items."""
    part = slice(stored.numbers.start, stored.numbers.stop)
    starts, sizes, checksums = (table[name][part].tolist() for name in ("start", "size", "checksum"))
    with path.open("rb", buffering=0) as file:
        frame = _checksum(file, stored.head)
        yield Piece(stored.head)
        end = stored.base + stored.head
        for item, start, size, checksum in zip(stored.numbers, starts, sizes, checksums, strict=True):
            gap = _read(file, start - end)
            wrong = "its bytes" if _checksum(file, size) != checksum else "the bytes before it" if any(gap) else ""
            yield Piece(start + size - end, item, wrong)
            end = start + size
        tail = stored.base + stored.size - end
        yield Piece(tail, None, "" if _checksum(file, tail, frame) == stored.frame else "the bytes around its items")


def wrong_in(path: Path, stored: StoredFile, table: dict[str, NDArray[Any]]) -> str | None:
    """What is wrong first in a file; None where it is what was written."""
    wrong = next((piece for piece in read_through(path, stored, table) if piece.wrong), None)
    if wrong is None:
        return None
    where = "" if wrong.item is None else f"item {wrong.item}: "
    return f"{where}{wrong.wrong} are not those that were written"


def _read(file: Any, size: int) -> bytes:
    return file.read(size) if size else b""


def _checksum(file: Any, size: int, before: int = 0) -> int:
    while size and (piece := file.read(min(size, _READ))):
        before, size = zlib.crc32(piece, before), size - len(piece)
    return before
