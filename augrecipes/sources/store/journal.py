"""What is staged so far: a file of records, one an item and one a row, from which an interrupted run goes on.

A record carries a checksum of itself and of its item's bytes, so nothing needs to be believed: rows are taken as long
as records and bytes agree, and the first row that does not is where the run goes on.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.store.item import Item, bytes_item

RECORD = np.dtype(
    [
        ("row", "<i8"),
        ("start", "<i8"),
        ("size", "<i8"),
        ("height", "<i4"),
        ("width", "<i4"),
        ("channels", "<i4"),
        ("checksum", "<u4"),
        ("target", "<u2"),
        ("sample", "<u2"),
        ("guard", "<u4"),
    ]
)
"""One item: where it lies in its target's file, what it is; the guard is the CRC-32 of the bytes before it."""

END_OF_ROW = 0xFFFF
"""The `target` of the record that closes a row."""

_BODY = struct.Struct("<qqqiiiIHH")


def record(row: int, target: int, start: int, item: Item) -> bytes:
    """The record of an item that was written at `start`."""
    body = _BODY.pack(row, start, item.size, *item.shape, item.checksum, target, item.sample)
    return body + zlib.crc32(body).to_bytes(4, "little")


def end_of_row(row: int) -> bytes:
    """The record that closes a row."""
    return record(row, END_OF_ROW, 0, bytes_item(b""))


def last_row(records: bytearray) -> int:
    """The row that the last record belongs to; -1 where there is none."""
    return struct.unpack_from("<q", records, len(records) - RECORD.itemsize)[0] if records else -1


def parse(content: bytes) -> NDArray[Any]:
    """The records of whole rows at the beginning of a journal; what follows a torn or damaged record is left out."""
    found = np.frombuffer(content, RECORD, count=len(content) // RECORD.itemsize)
    size, body = RECORD.itemsize, _BODY.size
    guards = found["guard"].tolist()
    good = next(
        (i for i, guard in enumerate(guards) if zlib.crc32(content[i * size : i * size + body]) != guard), len(guards)
    )
    closed = np.flatnonzero(found["target"][:good] == END_OF_ROW)
    wrong = np.flatnonzero(found["row"][closed] != np.arange(len(closed)))
    rows = int(wrong[0]) if len(wrong) else len(closed)
    return found[: closed[rows - 1] + 1 if rows else 0]
