"""What a storage format is: a record of how items become bytes in a file, and come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Role = Literal["image", "mask"]


@dataclass(frozen=True, slots=True)
class Contents:
    """The items of one finished file, for a format that writes something around them.

    Attributes:
        target: name of the target.
        starts: int64, where each item begins in the file.
        shapes: int32 N×3, height, width and channels (0 for masks) of each item.
        dtypes: the dtype of each item's samples.
        end: where the last item ends.
    """

    target: str
    starts: NDArray[np.int64]
    shapes: NDArray[np.int32]
    dtypes: list[np.dtype[Any]]
    end: int


@dataclass(frozen=True, slots=True)
class Format:
    """How items lie in a file.

    Attributes:
        name: what users call it.
        suffix: of the files.
        alignment: items begin at multiples of so many bytes, and of their samples' size; zeros lie between.
        head: bytes left free at the beginning of the file for `frame`.
        encode: array and quality to bytes; None where the samples themselves are kept, in C order, little-endian.
        decode: bytes to array; None as in `encode`.
        frame: what to write before and behind the items once all are there, given a scratch folder: (head, tail).
        masks: the format that masks are kept in, where this one cannot keep them.
        check: raises StoreError where the format cannot be written here (a package is missing).
    """

    name: str
    suffix: str
    alignment: int
    head: int = 0
    encode: Callable[[NDArray[Any], int], bytes] | None = None
    decode: Callable[[bytes | memoryview], NDArray[np.uint8]] | None = None
    frame: Callable[[Contents, Path], tuple[bytes, bytes]] | None = None
    masks: Format | None = None
    check: Callable[[], None] | None = None

    def of(self, role: Role) -> Format:
        """The format that targets of `role` are kept in."""
        return self.masks if role == "mask" and self.masks else self

    def file_name(self, target: str) -> str:
        """Name of the file that keeps `target`."""
        return f"{target}{self.suffix}"
