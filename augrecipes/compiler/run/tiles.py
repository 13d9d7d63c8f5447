"""The tiles of one bag, worked on by several threads, and written straight into one array."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.run.at_once import PictureQueue, Read
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
    stopped: bool = False
    _usual: tuple[int, ...] | None = None

    def through(self, lane: Any, turns: PictureQueue) -> None:
        """Take tiles until none is left, some at once.

        They are taken in order, so when one fails, all before it have been taken: the first failure is always found.
        """
        while not self.stopped and (pictures := self._taken(turns)):
            for k in self._left(lane, pictures):
                self._one(lane, k, pictures[k])

    def _taken(self, turns: PictureQueue) -> dict[int, Any]:
        """Pictures by their places, or why there is none; behind such a one no more, unless it is left out."""
        found: dict[int, Any] = {}
        for k, picture in turns.take(self._picture):
            found[k] = picture
            if isinstance(picture, BaseException) and not (self.skip and isinstance(picture, DataError)):
                break
        return found

    def _picture(self, k: int) -> Any:
        try:
            return self.read(k)
        except BaseException as error:  # told in its turn
            return error

    def _left(self, lane: Any, pictures: dict[int, Any]) -> list[int]:
        """Those that have to be made one by one, when the others are made."""
        places = [k for k, picture in pictures.items() if not isinstance(picture, BaseException)]
        if not places:
            return [*pictures]
        keys = [(self.index, self.tiles[k]) for k in places]
        left = lane.some(
            self.epoch, keys, [pictures[k] for k in places], lambda shape, dtype: self.slots.some(places, shape, dtype)
        )
        if left is None:
            return [*pictures]
        made = {*places}.difference(places[at] for at in left)
        self.slots.made(made)
        return [k for k in pictures if k not in made]

    def _one(self, lane: Any, k: int, picture: Any) -> None:
        try:
            if isinstance(picture, BaseException):
                raise picture
            out = lane.sample(self.epoch, self.index, self.tiles[k], {"image": picture}, self.slots.at(k))
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

    def some(
        self, places: Sequence[int], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> tuple[np.ndarray, Sequence[int]] | None:
        """Memory for several tiles of one size, and which rows of it; None where the first tile has another size."""
        with self._lock:
            if self._array is None:
                self._array = self._allocate((self._count, *shape), dtype)
            return (self._array, places) if self._array.shape[1:] == shape else None

    def made(self, places: Iterable[int]) -> None:
        """Tiles that `some` had memory for are there."""
        if self._array is not None:
            self.sizes.update(dict.fromkeys(places, self._array.shape[1:]))

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
