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
class Views:
    """Arrays and windows of arrays, uint8 H×W×C."""

    arrays: Sequence[np.ndarray]

    def __len__(self) -> int:
        return len(self.arrays)

    def places(self) -> np.ndarray | None:
        """As of `Gathered`."""
        if any(array.strides[2] != 1 for array in self.arrays):
            return None
        return np.array([(array.ctypes.data, *array.strides[:2]) for array in self.arrays], np.int64).T.copy()

    def copy(self, start: int, stop: int, out: np.ndarray) -> None:
        """Pictures `start` to `stop`, side by side."""
        for row, array in zip(out, self.arrays[start:stop], strict=True):
            row[...] = array
