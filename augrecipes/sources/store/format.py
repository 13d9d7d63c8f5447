"""What a storage format is: a record of how items become bytes in a file, and come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from augrecipes.sources.store.columns import Texts

DTYPES = (np.dtype("u1"), np.dtype("<u2"), np.dtype("<i4"))
"""What samples may be; ``sample`` is a place in this list wherever it stands for a dtype."""

Role = Literal["image", "mask"]


@dataclass(frozen=True, slots=True)
class Contents:
    """The items of a target, for a format that keeps them in one file of another program's.

    Attributes:
        files: what was staged: the items one after another, from file to file.
        table: what is known of each item: `augrecipes.sources.store.items.Items`; `start` counts over all files.
        columns: those of the caller.
    """

    files: Sequence[Path]
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
        assemble: writes all items of a target into one file, and answers where the first one begins in it; None: they
            stay as they are. Raises StoreError where it cannot be written here.
        ready: raises StoreError where the format cannot be written here, before anything is.
        masks: the format that masks are kept in, where this one cannot keep them.
        lossless: whether what is encoded comes back as it was, of any dtype.
        undecoded: the bytes and a name to a picture of which parts are decoded (`Decodable`); for formats of its own.
    """

    name: str
    suffix: str
    alignment: int
    encode: Callable[[NDArray[Any], int], bytes] | None = None
    decode: Callable[[memoryview, int], NDArray[Any]] | None = None
    assemble: Callable[[Path, Contents], int] | None = None
    ready: Callable[[], object] | None = None
    masks: StoreFormat | None = None
    lossless: bool = False
    undecoded: Callable[[memoryview, str], Any] | None = None

    def of(self, role: Role) -> StoreFormat:
        """The format that targets of `role` are kept in."""
        return self.masks if role == "mask" and self.masks else self
