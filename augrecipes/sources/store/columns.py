"""Named arrays and tables of text in one file, mapped when read: a million rows cost a worker next to nothing."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import StoreError

_ALIGNMENT = 64
Column = NDArray[Any] | Sequence[str]


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


def render(columns: Mapping[str, Column]) -> tuple[bytes, dict[str, Any]]:
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
        if isinstance(column, np.ndarray):
            entries[name] = put(_plain(name, column))
        else:
            table = column if isinstance(column, Texts) else _texts(name, column)
            entries[name] = {"text": put(table.blob), "offsets": put(table.offsets)}
    return bytes(blob), {"size": len(blob), "checksum": zlib.crc32(blob), "entries": entries}


def parse(blob: Any, index: Mapping[str, Any]) -> dict[str, NDArray[Any] | Texts]:
    """The columns in `blob`, as read-only views of it. Raises ValueError where it is not what the index says."""
    if zlib.crc32(blob) != index["checksum"]:
        raise ValueError("its checksum is not the one in the index")

    def get(entry: Mapping[str, Any]) -> NDArray[Any]:
        return np.ndarray(tuple(entry["shape"]), np.dtype(entry["dtype"]), blob, entry["at"])

    return {
        name: Texts(get(entry["text"]), get(entry["offsets"])) if "text" in entry else get(entry)
        for name, entry in index["entries"].items()
    }


def _plain(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in "biuf":
        raise StoreError(
            f"column {name!r} is {array.dtype}; a store keeps numbers and booleans, and text as a list of str"
        )
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _texts(name: str, texts: Sequence[str]) -> Texts:
    try:
        return Texts.of(texts)
    except (AttributeError, TypeError, UnicodeEncodeError) as error:
        raise StoreError(
            f"column {name!r} is neither an array nor a list of str that UTF-8 can hold: {error}"
        ) from None
