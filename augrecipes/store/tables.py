"""What is known of the items of a target, as columns of a store: made, joined, and checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augrecipes.store.columns import DTYPES, are_offsets, everywhere
from augrecipes.store.formats import Role, StoreFormat

TABLE = {"start": "<i8", "size": "<i8", "shape": "<i4", "sample": "|u1", "checksum": "<u4", "rows": "<i8"}
"""What a store keeps of each target's items, and as what: see `Items`."""


class StoredFile(NamedTuple):
    """One file of a target: its name below the store, bytes and CRC-32, and the numbers of its items."""

    name: str
    size: int
    checksum: int
    numbers: range


def table_of(records: Sequence[tuple[int, ...]], counts: Sequence[int]) -> dict[str, NDArray[Any]]:
    """What is known of items, as it is kept: of each start, size, shape, sample and checksum; and where rows begin."""
    found = np.array(records, np.int64).reshape(-1, 7)
    parts = {"start": found[:, 0], "size": found[:, 1], "shape": found[:, 2:5], "sample": found[:, 5]}
    parts |= {"checksum": found[:, 6], "rows": np.array(counts)}
    return {name: parts[name].astype(dtype) for name, dtype in TABLE.items()}


def joined(tables: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """What is known of the items of several shards or stores, one behind another."""
    if not tables:
        tables = [table_of([], [0])]
    firsts, count = [np.zeros(1, "<i8")], 0
    for table in tables:
        firsts.append(table["rows"][1:] + count)
        count += len(table["start"])
    found = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    return {**found, "rows": np.concatenate(firsts)}


def check(table: Mapping[str, NDArray[Any]], kept: StoreFormat, role: Role, rows: int) -> None:
    """Raises ValueError where a target's columns could not have been written: then none of its items is safe to read.

    Args:
        table: the columns.
        kept: the format of the files.
        role: image or mask.
        rows: number of rows.
    """
    if {name: getattr(column, "dtype", np.dtype("O")).str for name, column in table.items()} != TABLE:
        text = ", ".join(f"{name} {dtype}" for name, dtype in TABLE.items())
        raise ValueError(f"the columns of a target are {text}")
    size, shape, sample, first = (table[name] for name in ("size", "shape", "sample", "rows"))
    count = size.size
    wanted = dict.fromkeys(TABLE, (count,)) | {"shape": (count, 3), "rows": (rows + 1,)}
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
    for file in files:
        start, size = (table[name][file.numbers.start : file.numbers.stop] for name in ("start", "size"))

        def lies(part: slice, start: Any = start, size: Any = size, end: int = file.size) -> NDArray[np.bool_]:
            at, of = start[part], size[part]  # nothing overflows so
            behind = np.append(start[part.start + 1 : part.stop + 1], end)[: len(at)]
            return (at >= 0) & (at <= end) & (of > 0) & (of <= behind - at)

        if not everywhere(len(start), lies):
            raise ValueError("start, size: there are items outside their file, or within others")
