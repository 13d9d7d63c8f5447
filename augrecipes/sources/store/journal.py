"""What is staged so far: a file of records, one an item and one a row, from which an interrupted run goes on.

A record carries a checksum of itself and of its item's bytes, so nothing needs to be believed: rows are taken as long as
records and bytes agree, and the first row that does not is where the run goes on.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

_BODY = np.dtype([(name, RECORD[name]) for name in RECORD.fields or {} if name != "guard"])


def record(
    row: int, target: int, start: int, size: int, shape: tuple[int, int, int], sample: int, checksum: int
) -> bytes:
    """One record, guarded."""
    body = np.array((row, start, size, *shape, checksum, target, sample), _BODY).tobytes()
    return body + zlib.crc32(body).to_bytes(4, "little")


def end_of_row(row: int) -> bytes:
    """The record that closes a row."""
    return record(row, END_OF_ROW, 0, 0, (0, 0, 0), 0, 0)


def parse(content: bytes) -> NDArray[Any]:
    """The records of whole rows at the beginning of a journal; what follows a torn or damaged record is left out."""
    found = np.frombuffer(content, RECORD, count=len(content) // RECORD.itemsize)
    size, body = RECORD.itemsize, RECORD.itemsize - 4
    guards = found["guard"].tolist()
    good = next(
        (i for i, guard in enumerate(guards) if zlib.crc32(content[i * size : i * size + body]) != guard), len(guards)
    )
    closed = np.flatnonzero(found["target"][:good] == END_OF_ROW)
    in_order = np.flatnonzero(found["row"][closed] != np.arange(len(closed)))
    rows = int(in_order[0]) if len(in_order) else len(closed)
    return found[: closed[rows - 1] + 1 if rows else 0]
