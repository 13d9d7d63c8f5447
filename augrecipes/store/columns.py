"""Columns of a store: arrays and texts in one `.npz`, mapped when read, so that a million rows cost a worker nothing.

They are the caller's, and the store's own: what is known of the items of each target.
"""

from __future__ import annotations

import io
import mmap
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError, parsed

OWN = "items/"
"""What the names of the store's own columns begin with."""

_ALIGNMENT = 64
_SHOWN = 200  # characters of what numpy says
_PART = 1 << 15
_TEXT, _OFFSETS = ".text", ".offsets"  # behind the name of a column of text, which is two arrays
_LOCAL = struct.Struct("<26xHH")  # what stands in a zip before a file: the lengths of its name and of what follows it
_EXTRA, _PADDING = struct.Struct("<HH"), 0xD935  # a field that readers pass over, as zipalign writes it
_HEAD = 4096  # bytes that hold the head of an .npy


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """An immutable sequence of texts that keeps no Python strings: ``texts[i]`` makes one.

    Attributes:
        blob: uint8, the texts one after another, UTF-8 (bytes of file names that are not UTF-8 survive).
        offsets: int64, one more than there are texts.

    >>> list(Texts.of(["a", "é"]))
    ['a', 'é']
    """

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """A table of `texts`."""
        encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> str:
        if not -len(self) <= index < len(self):
            raise IndexError(f"text {index} of {len(self)}")
        index %= len(self)
        return self.blob[self.offsets[index] : self.offsets[index + 1]].tobytes().decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))


Column = NDArray[Any] | Sequence[str] | Texts
"""What callers give: numbers or booleans, or text."""


def holds_for_all(count: int, test: Callable[[slice], Any]) -> bool:
    """Whether `test` holds for all of `count`, a small slice at a time: no worker's memory grows."""
    return all(bool(np.all(test(slice(at, min(at + _PART, count))))) for at in range(0, count, _PART))


def as_tables(columns: Mapping[str, Column]) -> dict[str, NDArray[Any] | Texts]:
    """A caller's columns as a store keeps them. Raises StoreError for what it cannot keep."""
    for name in columns:
        if not re.fullmatch(r"\w+(/\w+)*", name) or name.startswith(OWN):
            raise StoreError(f"a column cannot be named {name!r}: names are words, or words and slashes, not {OWN}…")
    return {
        name: _plain(name, column) if isinstance(column, np.ndarray) else _texts(name, column)
        for name, column in sorted(columns.items())  # whatever order they came in, the files are the same
    }


def render(columns: Mapping[str, NDArray[Any] | Texts]) -> bytes:
    """The bytes of an `.npz` of these columns, in which each array can be mapped: the same for the same columns."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        if isinstance(column, Texts):
            arrays |= {name + _TEXT: column.blob, name + _OFFSETS: column.offsets}
        else:
            arrays[name] = column
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:  # nothing is compressed, and every file is of 1980
        for name in sorted(arrays):
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(arrays[name]), (1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy")
            free = -(file.tell() + _LOCAL.size + len(info.filename.encode())) % _ALIGNMENT
            free += _ALIGNMENT * (0 < free < _EXTRA.size)
            info.extra = _EXTRA.pack(_PADDING, free - _EXTRA.size) + bytes(free - _EXTRA.size) if free else b""
            archive.writestr(info, data.getbuffer())
    return file.getvalue()


def load(blob: mmap.mmap | bytes, path: str) -> dict[str, Any]:
    """The columns in an `.npz` that `render` made, as read-only views of it: arrays and `Texts`.

    Args:
        blob: the file, mapped, and compared with its checksum.
        path: of the file, for errors.

    Raises:
        StoreError: it is no such file.
    """
    try:
        with zipfile.ZipFile(cast("IO[bytes]", blob if isinstance(blob, mmap.mmap) else io.BytesIO(blob))) as archive:
            arrays = {info.filename.removesuffix(".npy"): _array(blob, info) for info in archive.infolist()}
        columns: dict[str, Any] = {}
        for name, array in arrays.items():
            if name.endswith(_TEXT):
                plain = name.removesuffix(_TEXT)
                columns[plain] = as_texts(array, arrays[plain + _OFFSETS])
            elif not name.endswith(_OFFSETS):
                columns[name] = array
    except Exception as error:  # whatever zip files and heads of arrays made by others raise
        raise StoreError(f"no columns of a store: {str(error)[:_SHOWN]}; pack the store again", path=path) from error
    return columns


def _array(blob: mmap.mmap | bytes, info: zipfile.ZipInfo) -> NDArray[Any]:
    """An array where it lies in the file."""
    name, extra = _LOCAL.unpack_from(blob, info.header_offset)
    at = info.header_offset + _LOCAL.size + name + extra
    head = io.BytesIO(blob[at : at + _HEAD])
    if info.compress_type != zipfile.ZIP_STORED or np.lib.format.read_magic(head) != (1, 0):
        raise ValueError(f"{info.filename} is compressed, or of another version of .npy")
    behind_magic = head.tell()
    shape, fortran, dtype = parsed(lambda: (head.seek(behind_magic), np.lib.format.read_array_header_1_0(head))[1])
    if (fortran and len(shape) > 1) or dtype.kind not in "biuf":
        raise ValueError(f"{info.filename} holds neither numbers nor booleans, row by row")
    return np.ndarray(shape, dtype, blob, at + head.tell())


def as_texts(text: NDArray[Any], offsets: NDArray[Any]) -> Texts:
    """Returns the table of texts that two arrays are. Raises ValueError where they are none."""
    plain = (text.dtype.str, text.ndim, offsets.dtype.str, offsets.ndim) == ("|u1", 1, "<i8", 1)
    if not (plain and len(offsets) and are_offsets(offsets, len(text))):
        raise ValueError(
            "damaged: a column of text should be bytes, one text after another, and where each begins and ends"
        )
    return Texts(text, offsets)


def are_offsets(offsets: NDArray[Any], end: int) -> bool:
    """Whether numbers begin at 0, never fall, and end at `end`: then each pair of neighbours is a range."""
    ordered = holds_for_all(len(offsets) - 1, lambda part: offsets[1:][part] >= offsets[:-1][part])
    return bool(ordered and offsets[0] == 0 and offsets[-1] == end)


def _plain(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise StoreError(
            f"column {name!r} is {array.dtype}; a store keeps numbers and booleans (up to 8 bytes each), and text as a "
            "list of str"
        )
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _texts(name: str, texts: Sequence[str] | Texts) -> Texts:
    if isinstance(texts, Texts):
        return texts
    try:
        table = Texts.of(texts)
    except (AttributeError, TypeError, UnicodeEncodeError) as error:
        raise StoreError(f"column {name!r} is neither an array nor a list of str: {error}") from None
    # File names come as text that is not quite Unicode, and back; other text may not, and none may hold a zero.
    if b"\0" in table.blob.tobytes() or any(a != b for a, b in zip(texts, table, strict=True)):
        raise StoreError(f"column {name!r} holds a text that cannot be kept: one with a zero, or with half a character")
    return table


TABLE = {"start": "<i8", "size": "<i8", "shape": "<i4", "sample": "|u1", "checksum": "<u4", "rows": "<i8"}
"""What a store keeps of each target's items, and as what: see `Items`."""


class StoredFile(NamedTuple):
    """One file of a target: its name below the store, bytes and CRC-32, and the numbers of its items."""

    name: str
    size: int
    checksum: int
    numbers: range


def item_table(records: Sequence[tuple[int, ...]], counts: Sequence[int]) -> dict[str, NDArray[Any]]:
    """What is known of items, as it is kept: of each start, size, shape, sample and checksum; and where rows begin."""
    numbers = np.array(records, np.int64).reshape(-1, 7)
    parts = {"start": numbers[:, 0], "size": numbers[:, 1], "shape": numbers[:, 2:5], "sample": numbers[:, 5]}
    parts |= {"checksum": numbers[:, 6], "rows": np.array(counts)}
    return {name: parts[name].astype(dtype) for name, dtype in TABLE.items()}


def join_tables(tables: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """What is known of the items of several shards or stores, one behind another."""
    if not tables:
        tables = [item_table([], [0])]
    firsts, count = [np.zeros(1, "<i8")], 0
    for table in tables:
        firsts.append(table["rows"][1:] + count)
        count += len(table["start"])
    columns = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    return {**columns, "rows": np.concatenate(firsts)}
