"""The items of one target, as they are read: where each lies, what it is, and its array."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.store.format import Format
from augrecipes.sources.store.item import DTYPES

FIELDS = {"start": "<i8", "size": "<i8", "shape": "<i4", "sample": "u1", "checksum": "<u4"}
"""The columns that a store keeps of each target's items; "rows" (where each row's items begin) comes on top."""


class Items:
    """The items of one target.

    Args:
        kept: the format of the file.
        blob: the mapped file.
        table: the columns of `FIELDS` and "rows".

    Attributes:
        start: int64 N, where each item begins in the file.
        size: int64 N, bytes of each.
        shapes: int32 N×3, height, width, channels (0 for masks).
        sample: uint8 N, place of each dtype in `DTYPES`.
        checksum: uint32 N, CRC-32 of each item's bytes.
        rows: int64, one more than there are rows: items ``rows[r]`` to ``rows[r + 1]`` belong to row r.
    """

    def __init__(self, kept: Format, blob: mmap.mmap | bytes, table: dict[str, NDArray[Any]]) -> None:
        self.blob, self.decode = blob, kept.decode
        self.start, self.size, self.shapes = table["start"], table["size"], table["shape"]
        self.sample, self.checksum, self.rows = table["sample"], table["checksum"], table["rows"]
        # Python numbers come faster out of a view of memory than out of an array.
        self._start, self._rows = self.start.data, self.rows.data
        same = len(self.start) > 0 and (self.shapes == self.shapes[0]).all() and (self.sample == self.sample[0]).all()
        self._shape = self._shape_of(0) if same else None
        self._dtype = DTYPES[int(self.sample[0])] if same else None

    def __len__(self) -> int:
        return len(self.start)

    def of_row(self, row: int) -> range:
        """The numbers of a row's items."""
        if row < 0:
            raise IndexError(f"row {row}")
        return range(self._rows[row], self._rows[row + 1])

    def shape(self, item: int) -> tuple[int, ...]:
        """H×W×C of a picture, H×W of a mask."""
        return self._shape or self._shape_of(item)

    def array(self, item: int) -> NDArray[Any]:
        """One item: a read-only view of the file, or, where the format encodes, a new array."""
        if self.decode is not None:
            return self.decode(self.data(item))
        if self._shape is not None:
            return np.ndarray(self._shape, self._dtype, self.blob, self._start[item])
        return np.ndarray(self._shape_of(item), DTYPES[self.sample[item]], self.blob, self._start[item])

    def data(self, item: int) -> memoryview:
        """The bytes of one item, as they lie in the file."""
        start = self._start[item]
        return memoryview(self.blob)[start : start + int(self.size[item])]

    def block(self) -> NDArray[Any] | None:
        """All items as one read-only view, N×H×W×C or N×H×W, where they are equal in shape and lie in equal steps."""
        if self.decode is not None or self._shape is None or self._dtype is None:
            return None
        step = int(self.start[1] - self.start[0]) if len(self) > 1 else int(self.size[0])
        if (np.diff(self.start) != step).any():
            return None
        inner = np.ndarray(self._shape, self._dtype, self.blob, self._start[0]).strides
        return np.ndarray((len(self), *self._shape), self._dtype, self.blob, self._start[0], (step, *inner))

    def _shape_of(self, item: int) -> tuple[int, ...]:
        height, width, channels = self.shapes[item].tolist()
        return (height, width, channels) if channels else (height, width)
