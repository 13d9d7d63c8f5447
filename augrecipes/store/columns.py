"""Columns of a store: arrays and texts in one memory-mapped `.npz`, so that a million rows cost a worker no memory.

Some are the caller's; the store's own describe the items of each target.
"""

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

from augrecipes.errors import StoreError, retry_parser

OWN = "items/"
"""What the names of the store's own columns begin with."""

_ALIGNMENT = 64
_SHOWN = 200  # characters of numpy's error message
_PART = 1 << 15  # values that are tested at a time
_TEXT, _OFFSETS = ".text", ".offsets"  # suffixes of the two arrays of a text column
_LOCAL = struct.Struct("<26xHH")  # a zip's local file header: lengths of the name and of the extra field
_EXTRA, _PADDING = struct.Struct("<HH"), 0xD935  # an extra field that readers skip, as zipalign writes it
_HEAD = 4096  # bytes; the header of an .npy file is shorter


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """An immutable sequence of texts that keeps no Python strings: ``texts[i]`` makes one.

    Attributes:
        blob: uint8, the concatenated texts in UTF-8 (file names that are not UTF-8 survive, by surrogateescape).
        offsets: int64, one more than there are texts.

    >>> list(Texts.of(["a", "é"]))
    ['a', 'é']
    """

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Texts":
        """Encode `texts`."""
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
    """Whether `test` holds for all of `count` values; it gets one small slice at a time, which bounds memory."""
    return all(bool(np.all(test(slice(at, min(at + _PART, count))))) for at in range(0, count, _PART))


def as_tables(columns: Mapping[str, Column]) -> dict[str, NDArray[Any] | Texts]:
    """Convert a caller's columns to what a store keeps. Raises StoreError for what it cannot keep."""
    for name in columns:
        if not re.fullmatch(r"\w+(/\w+)*", name) or name.startswith(OWN):
            raise StoreError(f"a column cannot be named {name!r}: names are words, or words and slashes, not {OWN}…")
    return {
        name: _plain(name, column) if isinstance(column, np.ndarray) else _texts(name, column)
        for name, column in sorted(columns.items())  # the file does not depend on their order
    }


def render(columns: Mapping[str, NDArray[Any] | Texts]) -> bytes:
    """Return the columns as the bytes of an `.npz` whose arrays can be mapped; equal columns give equal bytes."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        if isinstance(column, Texts):
            arrays |= {name + _TEXT: column.blob, name + _OFFSETS: column.offsets}
        else:
            arrays[name] = column
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:  # uncompressed, and dated 1980
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
    """Return the columns of an `.npz` that `render` wrote, as read-only views of it: arrays and `Texts`.

    Args:
        blob: the mapped file, already compared with its checksum.
        path: the file's path, for errors.

    Raises:
        StoreError: `render` wrote no such file.
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
    except Exception as error:  # damaged zip files and .npy headers raise all kinds
        raise StoreError(f"no columns of a store: {str(error)[:_SHOWN]}; pack the store again", path=path) from error
    return columns


def _array(blob: mmap.mmap | bytes, info: zipfile.ZipInfo) -> NDArray[Any]:
    """Return an array as a view of the file."""
    name, extra = _LOCAL.unpack_from(blob, info.header_offset)
    at = info.header_offset + _LOCAL.size + name + extra
    head = io.BytesIO(blob[at : at + _HEAD])
    if info.compress_type != zipfile.ZIP_STORED or np.lib.format.read_magic(head) != (1, 0):
        raise ValueError(f"{info.filename} is compressed, or of another version of .npy")
    after_magic = head.tell()
    shape, fortran, dtype = retry_parser(lambda: (head.seek(after_magic), np.lib.format.read_array_header_1_0(head))[1])
    if (fortran and len(shape) > 1) or dtype.kind not in "biuf":
        raise ValueError(f"{info.filename} holds neither numbers nor booleans, row by row")
    return np.ndarray(shape, dtype, blob, at + head.tell())


def as_texts(text: NDArray[Any], offsets: NDArray[Any]) -> Texts:
    """Return the `Texts` over two arrays. Raises ValueError where the arrays do not fit."""
    plain = (text.dtype.str, text.ndim, offsets.dtype.str, offsets.ndim) == ("|u1", 1, "<i8", 1)
    if not (plain and len(offsets) and are_offsets(offsets, len(text))):
        raise ValueError(
            "damaged: a column of text should be bytes, one text after another, and where each begins and ends"
        )
    return Texts(text, offsets)


def are_offsets(offsets: NDArray[Any], end: int) -> bool:
    """Whether offsets begin at 0, never decrease, and end at `end`."""
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
    """One file of a target: its name in the store, size in bytes, CRC-32, and the numbers of its items."""

    name: str
    size: int
    checksum: int
    numbers: range


def item_table(records: Sequence[tuple[int, ...]], counts: Sequence[int]) -> dict[str, NDArray[Any]]:
    """Build the table of a target's items: start, size, shape, sample and checksum of each, and where rows begin."""
    numbers = np.array(records, np.int64).reshape(-1, 7)
    parts = {"start": numbers[:, 0], "size": numbers[:, 1], "shape": numbers[:, 2:5], "sample": numbers[:, 5]}
    parts |= {"checksum": numbers[:, 6], "rows": np.array(counts)}
    return {name: parts[name].astype(dtype) for name, dtype in TABLE.items()}


def join_tables(tables: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Concatenate the item tables of several shards or stores."""
    if not tables:
        tables = [item_table([], [0])]
    firsts, count = [np.zeros(1, "<i8")], 0
    for table in tables:
        firsts.append(table["rows"][1:] + count)
        count += len(table["start"])
    columns = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    return {**columns, "rows": np.concatenate(firsts)}
