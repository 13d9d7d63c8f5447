"""What a storage format is: a record of how items become bytes in a file, and come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.store.columns import Texts

DTYPES = (np.dtype("u1"), np.dtype("<u2"), np.dtype("<i4"))
"""What samples may be; ``sample`` is a place in this list wherever it stands for a dtype."""

Role = Literal["image", "mask"]
Frame = tuple[bytes, bytes]
"""What stands before and behind the items in a file."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The items of one finished file, for a format that writes something around them.

    Attributes:
        target: name of the target.
        head: where the first item begins.
        end: where the last item ends.
        table: what is known of each item: `augrecipes.sources.store.items.FIELDS`.
        columns: those of the caller.
    """

    target: str
    head: int
    end: int
    table: Mapping[str, NDArray[Any]]
    columns: Mapping[str, NDArray[Any] | Texts]


@dataclass(frozen=True, slots=True)
class StoreFormat:
    """How items lie in a file.

    Attributes:
        name: what users call it.
        suffix: of the files.
        alignment: items begin at multiples of so many bytes, and of their samples' size; zeros lie between.
        encode: array and quality (1 to 100) to bytes; None where the samples themselves are kept, in C order,
            little-endian.
        decode: bytes and number of channels to an array; None as in `encode`.
        head: bytes to leave free at the beginning of a target's file, for `frame`. Raises StoreError where the format
            cannot be written here.
        frame: what is written before and behind the items once all are there.
        masks: the format that masks are kept in, where this one cannot keep them.
        lossless: whether what is encoded comes back as it was, of any dtype.
        undecoded: the bytes and a name to a picture of which parts are decoded (`Decodable`); for formats of its own.
    """

    name: str
    suffix: str
    alignment: int
    encode: Callable[[NDArray[Any], int], bytes] | None = None
    decode: Callable[[memoryview, int], NDArray[Any]] | None = None
    head: Callable[[str], int] | None = None
    frame: Callable[[Contents], Frame] | None = None
    masks: StoreFormat | None = None
    lossless: bool = False
    undecoded: Callable[[memoryview, str], Any] | None = None

    def of(self, role: Role) -> StoreFormat:
        """The format that targets of `role` are kept in."""
        return self.masks if role == "mask" and self.masks else self

    def file_name(self, target: str) -> str:
        """Name of the file that keeps `target`."""
        return f"{target}{self.suffix}"
