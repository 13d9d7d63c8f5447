"""The tiles of one bag: a batch whose broken tiles, and those of another size than most, may be left out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from augrecipes.compiler.run.batch import BatchOutput
from augrecipes.errors import CollateError, DataError
from augrecipes.machine import cores

Name = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class BagResult:
    """What came out of a bag.

    Attributes:
        image: (n, C, H, W) or (n, H, W, C), as the recipe's output says.
        kept: positions, in the list of tiles that was given, of the tiles that came out.
        dropped: (position, what was wrong) of the tiles that were left out.
        applied: the draws of each tile that came out, with `save_applied_params`; else None.
    """

    image: np.ndarray
    kept: tuple[int, ...]
    dropped: tuple[tuple[int, DataError], ...] = ()
    applied: list[Any] | None = None


@dataclass
class BagOutput(BatchOutput):
    """The tiles of one bag in the making.

    Attributes:
        skip: tiles that are broken, or of another size than most, are left out.
        name: of the image at a position, for errors.
        odd: the tiles of another size than the one that was done first: theirs may turn out to be most tiles' size.
    """

    skip: bool = False
    name: Name = "tile {}".format
    odd: dict[int, np.ndarray] = field(default_factory=dict)

    def fail(self, k: int, error: DataError) -> None:
        """Tiles are taken in order, so that when one fails all before it have been: the first failure is found."""
        named = error if error.path else error.with_path(self.name(k))
        named.__cause__ = error.__cause__
        super().fail(k, named)
        self.is_stopped |= not self.skip

    def row(self, k: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Memory for tile `k`, of whatever size."""
        if (out := self.rows("image", shape, dtype)) is None:
            self.odd[k] = np.empty(shape, dtype)
            return self.odd[k]
        return out[k]

    def size(self, k: int) -> tuple[int, ...]:
        """The shape of tile `k` as it came out."""
        return self.odd[k].shape if k in self.odd else self.arrays["image"].shape[1:]

    def result(self, *, save_applied: bool) -> BagResult:
        """The bag, or the first failure."""
        everything = range(len(self.keys))
        for k in everything:
            error = self.failed.get(k) or self._unlike_most(k)
            if error is not None:
                if not self.skip:
                    raise error
                self.failed[k] = error
        kept = tuple(k for k in everything if k not in self.failed)
        if not kept:
            first = self.failed[0]
            raise DataError(f"none of its {len(self.keys)} tiles can be used; the first: {first.reason}", first.path)
        applied = [self.others[k]["applied"] for k in kept] if save_applied else None
        return BagResult(self._together(kept), kept, tuple(sorted(self.failed.items())), applied)

    @cached_property
    def _usual(self) -> tuple[int, ...]:
        """The size of most tiles, and of equals the first's."""
        return Counter(map(self.size, self._complete)).most_common(1)[0][0]

    @cached_property
    def _complete(self) -> list[int]:
        """Positions of the tiles that came out."""
        return [k for k in range(len(self.keys)) if k not in self.failed]

    def _unlike_most(self, k: int) -> CollateError | None:
        """What is wrong with the size of tile `k`."""
        if self.size(k) == self._usual:
            return None
        like = next(j for j in self._complete if self.size(j) == self._usual)
        return CollateError(
            f"comes out as {_times(self.size(k))}, {self.name(like)} of the same bag as {_times(self._usual)}; end "
            "the recipe in a crop or resize of fixed size",
            self.name(k),
        )

    def _together(self, kept: tuple[int, ...]) -> np.ndarray:
        """The tiles that are kept, all of one size, moved together in place: a copy would need the memory twice."""
        array = self.arrays["image"]
        if kept[0] in self.odd:
            array = self.allocate_target("image", self._usual, array.dtype)
        for row, k in enumerate(kept):
            if row != k or k in self.odd:
                array[row] = self.odd[k] if k in self.odd else array[k]
        return array[: len(kept)]


def default_threads() -> int:
    """One a core that this process may use; one inside a DataLoader worker, where processes share the cores."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.utils.data.get_worker_info() is not None:
        return 1
    return cores()


def _times(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))
