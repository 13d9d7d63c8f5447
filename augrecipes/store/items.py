"""Read the items of one target: their files, where each begins, its shape and dtype, and its array."""

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
"""Shards of a target that are mapped at a time: each keeps a file open, and systems allow about a thousand."""


class MappedItems(NamedTuple):
    """The addresses of uint8 images, and of masks as H×W×1, in mapped files.

    Attributes:
        places: int64 (n, 4): each item's address, bytes from row to row, 0 and 0.
        shapes: int64 (n, 3): height, width and channels.
        owner: the object that must stay alive while the addresses are in use.
    """

    places: NDArray[np.int64]
    shapes: NDArray[np.int64]
    owner: Any


def list_files(target: str, suffix: str, shards: Sequence[dict[str, Any]], rows: NDArray[np.int64]) -> list[StoredFile]:
    """List the files of a target.

    Args:
        target: the target's name.
        suffix: the suffix of its format.
        shards: the index's entries for all shards.
        rows: where the items of each row begin, in the target's table.
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
    """The shards of a target, each mapped when first read; an LRU cache bounds how many at a time.

    Args:
        files: the shards, in order.
        open: maps a shard.

    Attributes:
        mapped: returns the map of a shard by its number.
    """

    def __init__(self, files: Sequence[StoredFile], open: Callable[[StoredFile], Mapped]) -> None:
        self.files, self._firsts = files, [file.numbers.start for file in files]
        self._first_of = np.array(self._firsts, np.int64)
        # An evicted map stays alive as long as anybody has a view of it.
        self.mapped = lru_cache(_MAPPED)(lambda number: open(files[number]))

    def numbers(self, items: Any) -> Any:
        """Return the numbers of the shards that hold the items."""
        return np.searchsorted(self._first_of, items, side="right") - 1

    def of(self, item: int) -> Mapped:
        """Return the map of the shard that holds an item."""
        return self.mapped(bisect_right(self._firsts, item) - 1)

    def addresses(self, items: NDArray[np.int64]) -> tuple[NDArray[np.int64] | int, list[Mapped]]:
        """Return the base address of each item's shard, and the maps, which must be kept while addresses are in use."""
        if len(self.files) == 1:
            return _address_of(self.mapped(0)), [self.mapped(0)]
        numbers, shard_of = np.unique(self.numbers(items), return_inverse=True)
        shards = [self.mapped(number) for number in numbers.tolist()]
        return np.array([_address_of(shard) for shard in shards], np.int64)[shard_of], shards

    def map_all(self) -> None:
        """Map all shards now where they are few, so that replacing the store does not disturb its readers."""
        if len(self.files) <= _MAPPED // 4:
            for number in range(len(self.files)):
                self.mapped(number)


def _address_of(mapped: Mapped) -> int:
    return int(np.frombuffer(mapped, np.uint8).ctypes.data)


class Items:
    """The items of one target.

    Args:
        path: the folder of its files, for errors.
        store_format: its format.
        shards: its files.
        table: the target's columns, already checked.
        verify: compare an item's bytes with their checksum at its `first` read in this process, or `always`; None: only
            encoded items, where a checksum costs little next to decoding.

    Attributes:
        shards: its files.
        table: the columns of the target: the six that follow.
        start: int64 N, the offset of each item in its file.
        size: int64 N, the bytes of each item.
        shapes: int32 N×3, height, width, channels (0 for masks).
        sample: uint8 N, the index of each dtype in `DTYPES`.
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
        # A memoryview yields Python integers faster than an array does.
        self._seen_at, self._start, self._rows = self._seen.data, self.start.data, self.rows.data
        same = len(self) > 0 and holds_for_all(
            len(self), lambda part: (self.shapes[part] == self.shapes[0]) & (self.sample[part, None] == self.sample[0])
        )
        self._shape = self._shape_of(0) if same else None
        self._dtype = DTYPES[self.sample[0]] if same else None

    def __len__(self) -> int:
        return len(self.start)

    def of_row(self, row: int) -> range:
        """Return the numbers of a row's items."""
        if row < 0:
            raise IndexError(f"row {row}")
        return range(self._rows[row], self._rows[row + 1])

    def row_of(self, item: int) -> int:
        """Return the row that an item belongs to."""
        return int(np.searchsorted(self.rows, item, side="right")) - 1

    @cached_property
    def one_a_row(self) -> bool:
        """Whether row k has item k and no other, for all rows."""
        return len(self.rows) == len(self) + 1 and holds_for_all(
            len(self.rows), lambda part: self.rows[part] == np.arange(*part.indices(len(self.rows)))
        )

    def shape(self, item: int) -> tuple[int, ...]:
        """Return the shape of an item: H×W×C of an image, H×W of a mask."""
        return self._shape or self._shape_of(item)

    def array(self, item: int) -> NDArray[Any]:
        """Return one item: a read-only view of the file, or a new array where the item is encoded."""
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
        return self._matching(array, item)

    def undecoded(self, item: int, open_image: Callable[[memoryview, str], Any], name: str) -> Any:
        """Return one item as an image that is decoded part by part, each part checked by its own checksum."""
        try:
            return self._matching(open_image(self.data(item), name), item)
        except ValueError as error:
            raise self._damaged(item, str(error)) from None

    def data(self, item: int) -> memoryview:
        """Return the bytes of one item as a view of the file, unchecked."""
        start = self._start[item]
        return memoryview(self.shards.of(item))[start : start + int(self.size[item])]

    def whole_data(self, item: int) -> memoryview:
        """Return the bytes of one item, checked against their checksum. Raises StoreError."""
        with stage("read"):
            data = self.data(item)
            intact = disk.crc32(data) == self.checksum[item]
        if not intact:
            raise self._damaged(item, "its bytes are not those that were written")
        return data

    def file_of(self, item: int) -> str:
        """Return the path of the file that holds an item."""
        return str(self.path / self.shards.files[self.shards.numbers(item)].name)

    def files_of_rows(self, rows: NDArray[np.int64]) -> list[tuple[str, int, Callable[[], object]]]:
        """List the files that hold the items of some rows: name, bytes, and a function that maps the file."""
        first, end = self.rows[rows], self.rows[np.asarray(rows) + 1]
        items = np.concatenate([first[end > first], end[end > first] - 1])  # the items of a row are contiguous
        files = self.shards.files
        return [
            (files[k].name, files[k].size, partial(self.shards.mapped, k))
            for k in np.unique(self.shards.numbers(items)).tolist()
        ]

    def mapped(self, items: NDArray[np.int64]) -> MappedItems | None:
        """Return the addresses of some uint8 items, verified; None where items are encoded, or of another dtype."""
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
        """Whether all items are unencoded uint8."""
        return self.decode is None and holds_for_all(len(self), lambda part: self.sample[part] == 0)

    def _shape_of(self, item: int) -> tuple[int, ...]:
        height, width, channels = self.shapes[item].tolist()
        return (height, width, channels) if channels else (height, width)

    def _matching(self, decoded: Any, item: int) -> Any:
        """Return a decoded item. StoreError where its dtype or shape is not that of the table."""
        expected = DTYPES[self.sample[item]], self.shape(item)
        if (decoded.dtype, decoded.shape) != expected:
            problem = f"it decodes to {decoded.dtype} {decoded.shape}, and should to {expected[0]} {expected[1]}"
            raise self._damaged(item, problem)
        return decoded

    def _damaged(self, item: int, problem: str) -> StoreError:
        return StoreError(
            f"item {item} (row {self.row_of(item)}) is damaged: {problem}; pack the store again", self.file_of(item)
        )
