"""Pictures of one shape that lie here and there, to be finished side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Gathered(Protocol):
    """Pictures that lie here and there."""

    def __len__(self) -> int:
        """How many."""

    def places(self) -> np.ndarray | None:
        """int64 (3, n): each picture's address, its strides from row to row and pixel to pixel; None: no kernel."""

    def copy(self, start: int, stop: int, out: np.ndarray) -> None:
        """Pictures `start` to `stop`, side by side."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a block.

    Attributes:
        block: uint8, N×H×W×C; memory-mapped for instance.
        items: int64, one row for each picture; numbers that the block does not have are taken for its last.
    """

    block: np.ndarray
    items: np.ndarray

    def __len__(self) -> int:
        return len(self.items)

    def places(self) -> np.ndarray | None:
        """int64 (3, n): each picture's address, its strides from row to row and pixel to pixel; None: no kernel."""
        each, row, pixel, beside = self.block.strides
        if beside != 1:
            return None
        found = np.empty((3, len(self.items)), np.int64)
        np.clip(self.items, 0, len(self.block) - 1, out=found[0])
        found[0] *= each
        found[0] += self.block.ctypes.data
        found[1:] = [[row], [pixel]]
        return found

    def copy(self, start: int, stop: int, out: np.ndarray) -> None:
        """Pictures `start` to `stop`, side by side."""
        np.take(self.block, self.items[start:stop], axis=0, out=out, mode="clip")  # else numpy fills a copy first


@dataclass(frozen=True, slots=True)
class Views:
    """Arrays and windows of arrays, uint8 H×W×C."""

    arrays: Sequence[np.ndarray]

    def __len__(self) -> int:
        return len(self.arrays)

    def places(self) -> np.ndarray | None:
        """As of `Rows`."""
        if any(array.strides[2] != 1 for array in self.arrays):
            return None
        return np.array([(array.ctypes.data, *array.strides[:2]) for array in self.arrays], np.int64).T.copy()

    def copy(self, start: int, stop: int, out: np.ndarray) -> None:
        """Pictures `start` to `stop`, side by side."""
        for row, array in zip(out, self.arrays[start:stop], strict=True):
            row[...] = array
