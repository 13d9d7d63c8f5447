"""The items of one target, as they are read: where each lies, what it is, and its array."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.images.format import raise_if_memory
from augrecipes.images.watch import stage
from augrecipes.sources.remote import Place
from augrecipes.sources.store.checksum import crc32
from augrecipes.sources.store.columns import are_offsets, everywhere
from augrecipes.sources.store.format import DTYPES, Role, StoreFormat
from augrecipes.sources.store.shards import MappedShards, StoredFile

Verify = Literal["first", "always"]

_COLUMNS = {"start": "<i8", "size": "<i8", "shape": "<i4", "sample": "|u1", "checksum": "<u4", "rows": "<i8"}
"""What a store keeps of each target's items: see `Items`."""


class Lying(NamedTuple):
    """Pictures, and masks as H×W×1, of uint8 as they lie in mapped files.

    Attributes:
        lie: int64 (n, 4), of each its address, bytes from row to row, 0 and 0.
        shapes: int64 (n, 3), height, width and channels.
        held: the addresses are good for as long as this is kept.
    """

    lie: NDArray[np.int64]
    shapes: NDArray[np.int64]
    held: Any


class Items:
    """The items of one target.

    Args:
        path: the folder that its files are in, for errors.
        kept: its format.
        shards: its files.
        table: the columns of the target: checked ones.
        verify: compare an item's bytes with their checksum at its `first` read in this process, or `always`; None: only
            those of formats that encode, for which that costs nothing next to decoding.

    Attributes:
        shards: its files.
        start: int64 N, where each item begins in its file.
        size: int64 N, bytes of each.
        shapes: int32 N×3, height, width, channels (0 for masks).
        sample: uint8 N, place of each dtype in `DTYPES`.
        checksum: uint32 N, CRC-32 of each item's bytes.
        rows: int64, one more than there are rows: items ``rows[r]`` to ``rows[r + 1]`` belong to row r.
    """

    def __init__(
        self,
        path: Place,
        kept: StoreFormat,
        shards: MappedShards,
        table: Mapping[str, NDArray[Any]],
        verify: Verify | None = "first",
    ) -> None:
        self.verify, self._seen = verify, np.zeros(len(table["start"]) if verify == "first" else 0, np.bool_)
        self._seen_at = self._seen.data
        self.path, self.decode = path, kept.decode
        self.shards = shards
        self.start, self.size, self.shapes = table["start"], table["size"], table["shape"]
        self.sample, self.checksum, self.rows = table["sample"], table["checksum"], table["rows"]
        # Python numbers come faster out of a view of memory than out of an array.
        self._start, self._rows = self.start.data, self.rows.data
        same = len(self) > 0 and everywhere(
            len(self), lambda part: (self.shapes[part] == self.shapes[0]) & (self.sample[part, None] == self.sample[0])
        )
        self._shape = self._shape_of(0) if same else None
        self._dtype = DTYPES[self.sample[0]] if same else None

    def __len__(self) -> int:
        return len(self.start)

    def table(self) -> dict[str, NDArray[Any]]:
        """The columns of the target, as a store keeps them."""
        return {
            "start": self.start,
            "size": self.size,
            "shape": self.shapes,
            "sample": self.sample,
            "checksum": self.checksum,
            "rows": self.rows,
        }

    def of_row(self, row: int) -> range:
        """The numbers of a row's items."""
        if row < 0:
            raise IndexError(f"row {row}")
        return range(self._rows[row], self._rows[row + 1])

    def row_of(self, item: int) -> int:
        """The row that an item belongs to."""
        return int(np.searchsorted(self.rows, item, side="right")) - 1

    @cached_property
    def one_a_row(self) -> bool:
        """Whether item k is that of row k, and there are no others."""
        return len(self.rows) == len(self) + 1 and everywhere(
            len(self.rows), lambda part: self.rows[part] == np.arange(*part.indices(len(self.rows)))
        )

    @property
    def alike(self) -> bool:
        """Whether all are of one shape and dtype, and there are some."""
        return self._shape is not None

    def shape(self, item: int) -> tuple[int, ...]:
        """H×W×C of a picture, H×W of a mask."""
        return self._shape or self._shape_of(item)

    def array(self, item: int) -> NDArray[Any]:
        """One item: a read-only view of the file, or, where the format encodes, a new array."""
        if self.decode is None:
            if self.verify is not None:
                self.confirm(item)
            with stage("read"):
                blob, start = self._place(item)
                if self._shape is not None:
                    return np.ndarray(self._shape, self._dtype, blob, start)
                return np.ndarray(self._shape_of(item), DTYPES[self.sample[item]], blob, start)
        data = self.whole_data(item)
        try:
            with stage("decode"):
                array = self.decode(data, int(self.shapes[item, 2]))
        except ValueError as error:
            raise_if_memory(error)
            raise self._damaged(item, f"cannot be decoded: {error}") from None
        found, wanted = (array.dtype, array.shape), (DTYPES[self.sample[item]], self.shape(item))
        if found != wanted:
            raise self._damaged(item, f"it decodes to {found[0]} {found[1]}, and should to {wanted[0]} {wanted[1]}")
        return array

    def undecoded(self, item: int, made: Callable[[memoryview, str], Any], name: str) -> Any:
        """One item as a picture of which parts are decoded, and then compared with checksums of their own."""
        try:
            found = made(self.data(item), name)
        except ValueError as error:
            raise self._damaged(item, str(error)) from None
        if (found.dtype, found.shape) != (DTYPES[self.sample[item]], self.shape(item)):
            raise self._damaged(item, f"it says that it is {found.dtype} {found.shape}")
        return found

    def data(self, item: int) -> memoryview:
        """The bytes of one item, as they lie in the file."""
        blob, start = self._place(item)
        return memoryview(blob)[start : start + int(self.size[item])]

    def confirm(self, item: int) -> None:
        """Compares the bytes of an item with their checksum, as often as `verify` says. Raises StoreError."""
        if self.verify is None or (self.verify == "first" and self._seen_at[item]):
            return
        self.whole_data(item)
        if self.verify == "first":
            self._seen_at[item] = True

    def whole_data(self, item: int) -> memoryview:
        """The same, compared with their checksum. Raises StoreError."""
        with stage("read"):
            data = self.data(item)
            intact = crc32(data) == self.checksum[item]
        if not intact:
            raise self._damaged(item, "its bytes are not those that were written")
        return data

    def file_of(self, item: int) -> str:
        """Path of the file that an item lies in."""
        return str(self.path / self.shards.files[self.shards.number(item)].name)

    def files_of_rows(self, rows: NDArray[np.int64]) -> list[tuple[str, int, Callable[[], object]]]:
        """The files that the items of some rows lie in: name, bytes, and what opens each."""
        first, behind = self.rows[rows], self.rows[np.asarray(rows) + 1]
        items = np.concatenate([first[behind > first], behind[behind > first] - 1])  # a row's lie side by side
        files = self.shards.files
        return [
            (files[k].name, files[k].size, partial(self.shards.mapped, k))
            for k in np.unique(self.shards.numbers(items)).tolist()
        ]

    def _place(self, item: int) -> tuple[mmap.mmap | bytes, int]:
        """The file that an item lies in, mapped, and where it begins in it."""
        return self.shards.of(item), self._start[item]

    def lie(self, items: NDArray[np.int64]) -> Lying | None:
        """Where some pictures or masks of uint8 lie in memory, confirmed; None where they are encoded, or of others."""
        if not self._lies:
            return None
        if self.verify is not None:
            for item in (items if self.verify == "always" else items[~self._seen[items]]).tolist():
                self.confirm(item)
        shapes, lie = self.shapes[items].astype(np.int64), np.zeros((len(items), 4), np.int64)
        np.maximum(shapes[:, 2], 1, out=shapes[:, 2])
        np.multiply(shapes[:, 1], shapes[:, 2], out=lie[:, 1])
        begins, held = self.shards.addresses(items)
        np.add(self.start[items], begins, out=lie[:, 0])
        return Lying(lie, shapes, held)

    @cached_property
    def _lies(self) -> bool:
        """Whether all items are uint8, as they are."""
        return self.decode is None and everywhere(len(self), lambda part: self.sample[part] == 0)

    def _shape_of(self, item: int) -> tuple[int, ...]:
        height, width, channels = self.shapes[item].tolist()
        return (height, width, channels) if channels else (height, width)

    def _damaged(self, item: int, what: str) -> StoreError:
        return StoreError(
            f"item {item} (row {self.row_of(item)}) is damaged: {what}; pack the store again", self.file_of(item)
        )


def check(table: Mapping[str, NDArray[Any]], kept: StoreFormat, role: Role, rows: int) -> None:
    """Raises ValueError where a target's columns could not have been written: then none of its items is safe to read.

    Args:
        table: the columns.
        kept: the format of the files.
        role: image or mask.
        rows: number of rows.
    """
    if {name: getattr(column, "dtype", np.dtype("O")).str for name, column in table.items()} != _COLUMNS:
        text = ", ".join(f"{name} {dtype}" for name, dtype in _COLUMNS.items())
        raise ValueError(f"the columns of a target are {text}")
    size, shape, sample, first = (table[name] for name in ("size", "shape", "sample", "rows"))
    count = size.size
    wanted = dict.fromkeys(_COLUMNS, (count,)) | {"shape": (count, 3), "rows": (rows + 1,)}
    for name, column in table.items():
        if column.shape != wanted[name]:
            raise ValueError(f"{name}: is {list(column.shape)}, not {list(wanted[name])}")
    if not are_offsets(first, count):
        raise ValueError("rows: there are items that belong to no row")
    bytes_of = np.array([dtype.itemsize for dtype in DTYPES])

    def possible(part: slice) -> NDArray[np.bool_]:
        height, width, channels = shape[part].T.astype(np.int64)
        known = (height > 0) & (width > 0) & (channels >= 0) & ((channels < 1) == (role == "mask"))
        known &= sample[part] < len(DTYPES)
        if kept.decode is not None:
            return known & (kept.lossless | (sample[part] == 0))
        pixels, rest = np.divmod(size[part], np.maximum(channels, 1) * bytes_of[sample[part] % len(DTYPES)])
        return known & (rest == 0) & (height * width == pixels)

    if not everywhere(count, possible):
        raise ValueError("shape, sample: there are items of no shape, or of another size than their shape")


def check_files(table: Mapping[str, NDArray[Any]], files: Sequence[StoredFile]) -> None:
    """Raises ValueError where items do not lie one behind another in their files."""
    start, size = table["start"], table["size"]
    for file in files:
        first, end = file.numbers.start, file.size

        def inside(part: slice, first: int = first, end: int = end) -> NDArray[np.bool_]:  # nothing overflows so
            at, of = start[first:][part], size[first:][part]
            return (at >= 0) & (at <= end) & (of > 0) & (of <= end - at)

        def behind(part: slice, first: int = first) -> NDArray[np.bool_]:
            return start[first + 1 :][part] - start[first:][part] >= size[first:][part]

        if not everywhere(len(file.numbers), inside):
            raise ValueError("start, size: there are items outside their file")
        if not everywhere(len(file.numbers) - 1, behind):
            raise ValueError("start, size: there are items that lie within others")
