"""The tiles of one bag, worked on by several threads, and written straight into one array."""

from __future__ import annotations

import itertools
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.errors import CollateError, DataError
from augrecipes.machine import cores

Read = Callable[[int], np.ndarray]
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
class BagWork:
    """One bag that several threads work on."""

    epoch: int
    index: int
    tiles: Sequence[int]
    read: Read
    skip: bool
    name: Name | None
    slots: Slots
    failed: dict[int, BaseException] = field(default_factory=dict)
    applied: dict[int, Any] = field(default_factory=dict)
    turns: Iterator[int] = field(default_factory=itertools.count)
    stopped: bool = False
    _usual: tuple[int, ...] | None = None

    def through(self, lane: Any) -> None:
        """Take one tile after another until none is left.

        Tiles are taken in order, so when one fails, all before it have been taken: the first failure is always found.
        """
        while not self.stopped and (k := next(self.turns)) < len(self.tiles):
            self._one(lane, k)

    def _one(self, lane: Any, k: int) -> None:
        try:
            targets = {"image": self.read(k)}
            out = lane.sample(self.epoch, self.index, self.tiles[k], targets, self.slots.at(k))
        except DataError as error:
            self.failed[k] = error if error.path else error.with_path(self._name(k))
            self.failed[k].__cause__ = error.__cause__
            self.stopped = not self.skip
        except BaseException as error:
            self.failed[k] = error
            self.stopped = True
        else:
            if "applied" in out:
                self.applied[k] = out["applied"]

    def result(self, *, save_applied: bool) -> BagResult:
        """The bag, or the first failure."""
        for k in range(len(self.tiles)):
            error = self.failed.get(k) or self._odd(k)
            if error is not None:
                if not (self.skip and isinstance(error, DataError)):
                    raise error
                self.failed[k] = error
        dropped = tuple((k, error) for k, error in sorted(self.failed.items()) if isinstance(error, DataError))
        kept = tuple(k for k in range(len(self.tiles)) if k not in self.failed)
        if not kept:
            first = dropped[0][1]
            raise DataError(f"none of its {len(self.tiles)} tiles can be used; the first: {first.reason}", first.path)
        applied = [self.applied[k] for k in kept] if save_applied else None
        return BagResult(self.slots.rows(kept), kept, dropped, applied)

    def _odd(self, k: int) -> CollateError | None:
        """What is wrong with the size of tile `k`: of several sizes most tiles' is right, and of equals the first's."""
        sizes = self.slots.sizes
        if self._usual is None and sizes:
            ordered = [sizes[j] for j in sorted(sizes)]
            self._usual = Counter(ordered).most_common(1)[0][0]
        if k not in sizes or sizes[k] == self._usual:
            return None
        like = min(j for j in sizes if sizes[j] == self._usual)
        return CollateError(
            f"comes out as {_times(sizes[k])}, {self._name(like)} of the same bag as {_times(sizes[like])}; end the "
            "recipe in a crop or resize of fixed size",
            self._name(k),
        )

    def _name(self, k: int) -> str:
        return f"tile {k}" if self.name is None else self.name(k)


class Slots:
    """The result of a bag: made when the first tile is done and its size is known.

    Args:
        count: of tiles.
        allocate: gives the memory.
        keeps_odd: tiles of another size are kept too: theirs may turn out to be most tiles' size.
    """

    def __init__(self, count: int, allocate: Allocate = np.empty, *, keeps_odd: bool = False) -> None:
        self.sizes: dict[int, tuple[int, ...]] = {}
        self._array: np.ndarray | None = None
        self._others: dict[int, np.ndarray] = {}  # tiles of another size than the one that was done first
        self._count, self._allocate, self._keeps_odd = count, allocate, keeps_odd
        self._lock = threading.Lock()

    def at(self, k: int) -> Allocate:
        """Memory for tile `k`."""

        def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
            with self._lock:
                self.sizes[k] = shape
                if self._array is None:
                    self._array = self._allocate((self._count, *shape), dtype)
            if self._array.shape[1:] == shape:
                return self._array[k]
            odd = np.empty(shape, dtype)
            if self._keeps_odd:
                self._others[k] = odd
            return odd

        return allocate

    def rows(self, kept: tuple[int, ...]) -> np.ndarray:
        """The tiles that are kept, all of one size, one after another.

        They are moved together in place: a copy would need the memory twice.
        """
        array, shape = self._array, self.sizes[kept[0]]
        assert array is not None
        if array.shape[1:] != shape:
            array = self._allocate((len(kept), *shape), array.dtype)
            for row, k in enumerate(kept):
                array[row] = self._others[k]
            return array
        for row, k in enumerate(kept):
            if row != k:
                array[row] = array[k]
        return array[: len(kept)]


def default_threads() -> int:
    """One a core that this process may use; one inside a DataLoader worker, where processes share the cores."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.utils.data.get_worker_info() is not None:
        return 1
    return cores()


def _times(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))
