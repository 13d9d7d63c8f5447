"""Whether one file of a target has the bytes that were written: its items, the holes between them, what is around."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from augrecipes.sources.store.checksum import crc32
from augrecipes.sources.store.shards import StoredFile

_READ = 1 << 22


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


def read_through(path: Path, stored: StoredFile, table: dict[str, NDArray[Any]]) -> Iterator[Piece]:
    """Reads a file from beginning to end and compares it with the table of its target's items."""
    part = slice(stored.numbers.start, stored.numbers.stop)
    starts, sizes, checksums = (table[name][part].tolist() for name in ("start", "size", "checksum"))
    with path.open("rb", buffering=0) as file:
        end = starts[0] if starts else 0
        frame = _checksum(file, end)
        yield Piece(end)
        for item, start, size, checksum in zip(stored.numbers, starts, sizes, checksums, strict=True):
            gap = file.read(start - end) if start > end else b""
            wrong = "its bytes" if _checksum(file, size) != checksum else "the bytes before it" if any(gap) else ""
            yield Piece(start + size - end, item, wrong)
            end = start + size
        tail = stored.size - end
        yield Piece(tail, None, "" if _checksum(file, tail, frame) == stored.frame else "the bytes around its items")


def wrong_in(path: Path, stored: StoredFile, table: dict[str, NDArray[Any]]) -> str | None:
    """What is wrong first in a file; None where it is what was written."""
    wrong = next((piece for piece in read_through(path, stored, table) if piece.wrong), None)
    if wrong is None:
        return None
    where = "" if wrong.item is None else f"item {wrong.item}: "
    return f"{where}{wrong.wrong} are not those that were written"


def frame_of(path: Path, first: int, last: int) -> int:
    """CRC-32 of what stands in a file before its first item, at `first`, and behind the end of its last, `last`."""
    with path.open("rb", buffering=0) as file:
        before = _checksum(file, first)
        file.seek(last)
        return _checksum(file, path.stat().st_size - last, before)


def _checksum(file: Any, size: int, before: int = 0) -> int:
    while size and (piece := file.read(min(size, _READ))):
        before, size = crc32(piece, before), size - len(piece)
    return before
