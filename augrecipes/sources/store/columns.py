"""Named arrays and tables of text in one file, mapped when read: a million rows cost a worker next to nothing."""

from __future__ import annotations

import mmap
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError
from augrecipes.sources.store import schema

OWN = "items/"
"""What the names of the store's own columns begin with."""

_ALIGNMENT = 64
_PART = 1 << 15


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


def everywhere(count: int, test: Callable[[slice], Any]) -> bool:
    """Whether `test` holds for all of `count`, a small slice at a time: no worker's memory grows."""
    return all(bool(np.all(test(slice(at, min(at + _PART, count))))) for at in range(0, count, _PART))


def tables_of(columns: Mapping[str, Column]) -> dict[str, NDArray[Any] | Texts]:
    """A caller's columns as a store keeps them. Raises StoreError for what it cannot keep."""
    for name in columns:
        if not re.fullmatch(r"\w+(/\w+)*", name) or name.startswith(OWN):
            raise StoreError(f"a column cannot be named {name!r}: names are words, or words and slashes, not {OWN}…")
    return {
        name: _plain(name, column) if isinstance(column, np.ndarray) else _texts(name, column)
        for name, column in sorted(columns.items())  # whatever order they came in, the files are the same
    }


def render(columns: Mapping[str, NDArray[Any] | Texts]) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a file of columns, and what the index says of them: the same for the same columns."""
    blob = bytearray()

    def put(array: NDArray[Any]) -> dict[str, Any]:
        blob.extend(bytes(-len(blob) % _ALIGNMENT))
        entry = {"at": len(blob), "dtype": array.dtype.str, "shape": list(array.shape)}
        blob.extend(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return entry

    entries: dict[str, Any] = {}
    for name in sorted(columns):
        column = columns[name]
        if isinstance(column, Texts):
            entries[name] = {"text": put(column.blob), "offsets": put(column.offsets)}
        else:
            entries[name] = put(column)
    return bytes(blob), {"size": len(blob), "checksum": zlib.crc32(blob), "entries": entries}


def load(blob: mmap.mmap | bytes, path: str, index: Mapping[str, Any], said_in: str) -> dict[str, Any]:
    """The columns in a file, as read-only views of it: arrays and `Texts`.

    Args:
        blob: the file, mapped.
        path: of the file, for errors.
        index: what `render` said of it, of the form of `schema.ColumnFile`.
        said_in: the file that it was read from, for errors.

    Raises:
        StoreError: the file is not the one that the index speaks of, or the index does not make sense.
    """
    size = index["size"]
    if zlib.crc32(blob) != index["checksum"]:
        raise StoreError("damaged: its checksum is not the one in the index; pack the store again", path=path)

    def get(entry: Mapping[str, Any], place: str) -> NDArray[Any]:
        dtype, shape, at = np.dtype(entry["dtype"]), tuple(entry["shape"]), entry["at"]
        numpy_can = prod(max(n, 1) for n in shape) * dtype.itemsize <= schema.LARGEST
        if at % _ALIGNMENT or not numpy_can or prod(shape) * dtype.itemsize > size - at:
            raise schema.wrong(said_in, place, f"{dtype} {list(shape)} at {at} does not lie in {size:,} bytes")
        return np.ndarray(shape, dtype, blob, at)

    def get_texts(entry: Mapping[str, Any], place: str) -> Texts:
        text, offsets = get(entry["text"], f"{place}.text"), get(entry["offsets"], f"{place}.offsets")
        if (text.dtype.str, text.ndim, offsets.dtype.str, offsets.ndim) != ("|u1", 1, "<i8", 1) or not len(offsets):
            raise schema.wrong(said_in, place, "is no table of text: bytes, and int64 offsets, one more than texts")
        if not are_offsets(offsets, len(text)):
            raise StoreError(f"column {place.rpartition('.')[2]!r}: its texts do not lie one behind another", path)
        return Texts(text, offsets)

    found: dict[str, Any] = {}
    for name, entry in index["entries"].items():
        place = f"columns.entries.{name}"
        is_text = "text" in entry
        schema.check(schema.Text if is_text else schema.Array, entry, said_in, place)
        found[name] = get_texts(entry, place) if is_text else get(entry, place)
    return found


def are_offsets(offsets: NDArray[Any], end: int) -> bool:
    """Whether numbers begin at 0, never fall, and end at `end`: then each pair of neighbours is a range."""
    ordered = everywhere(len(offsets) - 1, lambda part: offsets[1:][part] >= offsets[:-1][part])
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
