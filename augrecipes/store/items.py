"""The items of one target, as they are read: their files, where each begins, what it is, and its array."""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.images.format import raise_if_memory, stage
from augrecipes.images.lossless import DTYPES
from augrecipes.remote import Place
from augrecipes.store import disk, formats, index
from augrecipes.store.columns import StoredFile, holds_for_all

Verify = Literal["first", "always"]
Mapped = mmap.mmap | bytes

_MAPPED = 256
"""Shards of a target that are mapped at a time: each holds a file open, and systems allow about a thousand."""


class MappedItems(NamedTuple):
    """Images, and masks as H×W×1, of uint8 as they lie in mapped files.

    Attributes:
        places: int64 (n, 4), of each its address, bytes from row to row, 0 and 0.
        shapes: int64 (n, 3), height, width and channels.
        owner: the addresses are good for as long as this lives.
    """

    places: NDArray[np.int64]
    shapes: NDArray[np.int64]
    owner: Any


def list_files(target: str, suffix: str, shards: Sequence[dict[str, Any]], rows: NDArray[np.int64]) -> list[StoredFile]:
    """Lists the files of a target.

    Args:
        target: its name.
        suffix: of its format.
        shards: what the index says of all shards.
        rows: where the items of each row begin, in its table.
    """
    files: list[StoredFile] = []
    ends = rows[np.cumsum([0, *(shard["rows"] for shard in shards)])].tolist()
    in_part = Counter[str | None]()
    for shard, numbers in zip(shards, map(range, ends, ends[1:]), strict=False):
        part, file = shard.get("part"), shard["files"][target]
        name = index.shard_name(target, in_part[part], suffix, part)
        in_part[part] += 1
        files.append(StoredFile(name, file["size"], file["checksum"], numbers))
    return files


class MappedShards:
    """The shards of a target, each mapped when it is first read from; at most some hundred at a time.

    Args:
        files: the shards, in order.
        open: maps one.

    Attributes:
        mapped: a shard by its number, mapped.
    """

    def __init__(self, files: Sequence[StoredFile], open: Callable[[StoredFile], Mapped]) -> None:
        self.files, self._firsts = files, [file.numbers.start for file in files]
        self._first_of = np.array(self._firsts, np.int64)
        # Whoever has a view of a shard that is let go of keeps it.
        self.mapped = lru_cache(_MAPPED)(lambda number: open(files[number]))

    def numbers(self, items: Any) -> Any:
        """Returns the numbers of the shards that items are in."""
        return np.searchsorted(self._first_of, items, side="right") - 1

    def of(self, item: int) -> Mapped:
        """Returns the shard that an item is in, mapped."""
        return self.mapped(bisect_right(self._firsts, item) - 1)

    def addresses(self, items: NDArray[np.int64]) -> tuple[NDArray[np.int64] | int, list[Mapped]]:
        """Where in memory the shards of items begin, and these: they stay there for as long as these are kept."""
        if len(self.files) == 1:
            return _address_of(self.mapped(0)), [self.mapped(0)]
        numbers, shard_of = np.unique(self.numbers(items), return_inverse=True)
        shards = [self.mapped(number) for number in numbers.tolist()]
        return np.array([_address_of(shard) for shard in shards], np.int64)[shard_of], shards

    def map_all(self) -> None:
        """Maps them now, where they are few: whoever replaces the store then takes nothing from who reads it."""
        if len(self.files) <= _MAPPED // 4:
            for number in range(len(self.files)):
                self.mapped(number)


def _address_of(mapped: Mapped) -> int:
    return int(np.frombuffer(mapped, np.uint8).ctypes.data)


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
        table: the columns of the target: the six that follow.
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
        store_format: formats.StoreFormat,
        shards: MappedShards,
        table: Mapping[str, NDArray[Any]],
        verify: Verify | None = "first",
    ) -> None:
        self.verify, self._seen = verify, np.zeros(len(table["start"]) if verify == "first" else 0, np.bool_)
        self.path, self.decode, self.shards, self.table = path, store_format.decode, shards, table
        self.start, self.size, self.shapes = table["start"], table["size"], table["shape"]
        self.sample, self.checksum, self.rows = table["sample"], table["checksum"], table["rows"]
        # Python numbers come faster out of a view of memory than out of an array.
        self._seen_at, self._start, self._rows = self._seen.data, self.start.data, self.rows.data
        same = len(self) > 0 and holds_for_all(
            len(self), lambda part: (self.shapes[part] == self.shapes[0]) & (self.sample[part, None] == self.sample[0])
        )
        self._shape = self._shape_of(0) if same else None
        self._dtype = DTYPES[self.sample[0]] if same else None

    def __len__(self) -> int:
        return len(self.start)

    def of_row(self, row: int) -> range:
        """Returns the numbers of a row's items."""
        if row < 0:
            raise IndexError(f"row {row}")
        return range(self._rows[row], self._rows[row + 1])

    def row_of(self, item: int) -> int:
        """Returns the row that an item belongs to."""
        return int(np.searchsorted(self.rows, item, side="right")) - 1

    @cached_property
    def one_a_row(self) -> bool:
        """Whether item k is that of row k, and there are no others."""
        return len(self.rows) == len(self) + 1 and holds_for_all(
            len(self.rows), lambda part: self.rows[part] == np.arange(*part.indices(len(self.rows)))
        )

    def shape(self, item: int) -> tuple[int, ...]:
        """Returns H×W×C of an image, H×W of a mask."""
        return self._shape or self._shape_of(item)

    def array(self, item: int) -> NDArray[Any]:
        """Returns one item: a read-only view of the file, or, where the format encodes, a new array."""
        if self.decode is None:
            if self.verify is not None and (self.verify == "always" or not self._seen_at[item]):
                self._confirm([item])
            with stage("read"):
                blob, start = self.shards.of(item), self._start[item]
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
        return self._as_said(array, item)

    def undecoded(self, item: int, open_image: Callable[[memoryview, str], Any], name: str) -> Any:
        """Returns one item as an image of which parts are decoded, and then compared with checksums of their own."""
        try:
            return self._as_said(open_image(self.data(item), name), item)
        except ValueError as error:
            raise self._damaged(item, str(error)) from None

    def data(self, item: int) -> memoryview:
        """Returns the bytes of one item, as they lie in the file."""
        start = self._start[item]
        return memoryview(self.shards.of(item))[start : start + int(self.size[item])]

    def whole_data(self, item: int) -> memoryview:
        """Returns the bytes of one item, compared with their checksum. Raises StoreError."""
        with stage("read"):
            data = self.data(item)
            intact = disk.crc32(data) == self.checksum[item]
        if not intact:
            raise self._damaged(item, "its bytes are not those that were written")
        return data

    def file_of(self, item: int) -> str:
        """Returns the path of the file that an item lies in."""
        return str(self.path / self.shards.files[self.shards.numbers(item)].name)

    def files_of_rows(self, rows: NDArray[np.int64]) -> list[tuple[str, int, Callable[[], object]]]:
        """The files that the items of some rows lie in: name, bytes, and what opens each."""
        first, end = self.rows[rows], self.rows[np.asarray(rows) + 1]
        items = np.concatenate([first[end > first], end[end > first] - 1])  # a row's lie side by side
        files = self.shards.files
        return [
            (files[k].name, files[k].size, partial(self.shards.mapped, k))
            for k in np.unique(self.shards.numbers(items)).tolist()
        ]

    def mapped(self, items: NDArray[np.int64]) -> MappedItems | None:
        """Where some images or masks of uint8 lie in memory, confirmed; None where they are encoded, or of others."""
        if not self._is_plain:
            return None
        if self.verify is not None:
            self._confirm((items if self.verify == "always" else items[~self._seen[items]]).tolist())
        with stage("read"):
            shapes, places = self.shapes[items].astype(np.int64), np.zeros((len(items), 4), np.int64)
            np.maximum(shapes[:, 2], 1, out=shapes[:, 2])
            np.multiply(shapes[:, 1], shapes[:, 2], out=places[:, 1])
            begins, shards = self.shards.addresses(items)
            np.add(self.start[items], begins, out=places[:, 0])
        return MappedItems(places, shapes, shards)

    def _confirm(self, items: Sequence[int]) -> None:
        """Compare the bytes of items with their checksums. Raises StoreError."""
        for item in items:
            self.whole_data(item)
        if self.verify == "first":
            self._seen[items] = True

    @cached_property
    def _is_plain(self) -> bool:
        """Whether all items are uint8, as they are."""
        return self.decode is None and holds_for_all(len(self), lambda part: self.sample[part] == 0)

    def _shape_of(self, item: int) -> tuple[int, ...]:
        height, width, channels = self.shapes[item].tolist()
        return (height, width, channels) if channels else (height, width)

    def _as_said(self, decoded: Any, item: int) -> Any:
        """What was decoded, where it is what the table says."""
        expected = DTYPES[self.sample[item]], self.shape(item)
        if (decoded.dtype, decoded.shape) != expected:
            problem = f"it decodes to {decoded.dtype} {decoded.shape}, and should to {expected[0]} {expected[1]}"
            raise self._damaged(item, problem)
        return decoded

    def _damaged(self, item: int, problem: str) -> StoreError:
        return StoreError(
            f"item {item} (row {self.row_of(item)}) is damaged: {problem}; pack the store again", self.file_of(item)
        )
