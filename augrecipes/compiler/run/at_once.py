"""Many pictures at once: rows of one array, made by one thread or several, natively wherever that can be."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.compiler.native_plan.carrying_out import Places
from augrecipes.compiler.run.quiet import quiet
from augrecipes.errors import CollateError, DataError

_MOST, _BYTES = 32, 1 << 22  # pictures, and bytes of them, that are taken at once
_LEAST = 1 << 20  # bytes of pixels that threads take at least: handing out smaller work takes longer than what it evens

Read = Callable[[int], Any]


class Lane(Protocol):
    """A pipeline of one thread."""

    def some(self, epoch: int, keys: Sequence[tuple[int, int]], pictures: Sequence[Any], places: Places) -> Any:
        """See `ImagePipeline.some`."""

    def sample(self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate) -> dict[str, Any]:
        """One sample."""


class PictureQueue:
    """The numbers of the pictures of a batch, some at a time, as threads ask for them.

    Args:
        count: of pictures.
        threads: that share them.
        held: all are in memory anyway, so that only their number matters.
    """

    def __init__(self, count: int, threads: int, *, held: bool = False) -> None:
        self.count, self._next, self._bytes = count, itertools.count(), math.inf if held else _BYTES
        self._most = min(_MOST, -(-count // threads))
        self._few = max(1, count // (4 * threads)) if threads > 1 else _MOST

    def take(self, read: Read) -> Iterator[tuple[int, Any]]:
        """The next ones, in order, with what `read` gives, until that is enough for once."""
        size = pixels = 0
        for taken in range(self._most):
            enough = size > self._bytes or (taken >= self._few and pixels >= _LEAST)
            if enough or (k := next(self._next)) >= self.count:
                return
            picture = read(k)
            size += getattr(picture, "nbytes", 0)
            pixels += math.prod(getattr(picture, "shape", ()) or (_LEAST,))
            yield k, picture


@dataclass
class PictureBatch:
    """A batch in the making: sample k becomes row k of one array.

    Attributes:
        epoch: of the draws.
        keys: index and tile of each sample.
        read: gives a picture by its place; called from several threads. DataError: it is broken.
        allocate: gives the memory for all, (shape of one, dtype) → (n, *shape).
        failed: what was wrong, by place.
        out: all of them, once the size of one is known.
        uneven: they differ in size, and not all of them were made.
    """

    epoch: int
    keys: Sequence[tuple[int, int]]
    read: Read
    allocate: Allocate
    failed: dict[int, DataError] = field(default_factory=dict)
    out: np.ndarray | None = None
    uneven: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def through(self, lane: Lane, turns: PictureQueue) -> None:
        """Make samples until none is left."""
        while not self.uneven and (pictures := dict(turns.take(self._picture))):
            self._some(lane, {k: picture for k, picture in pictures.items() if k not in self.failed})

    def _some(self, lane: Lane, pictures: dict[int, Any]) -> None:
        def rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[np.ndarray, Sequence[int]] | None:
            out = self._all(shape, dtype)
            return None if out is None else (out, places)

        if not (places := [*pictures]):
            return
        left = lane.some(self.epoch, [self.keys[k] for k in places], [*pictures.values()], rows)
        self.uneven |= left is None
        for k in (places[at] for at in left or ()):
            self._one(lane, k, pictures[k])

    def result(self) -> np.ndarray:
        """All of them.

        Raises:
            DataError: what was wrong with the first that is broken.
            CollateError: they differ in size.
        """
        if self.failed:
            raise self.failed[min(self.failed)]
        if self.uneven or self.out is None:
            raise CollateError(
                "pictures come out with different sizes; end the recipe in a crop or resize of fixed size"
            )
        return self.out

    def _picture(self, k: int) -> Any:
        try:
            return self.read(k)
        except DataError as error:
            self.failed[k] = error
            return None

    def _one(self, lane: Lane, k: int, picture: Any) -> None:
        """A sample that is made in Python, or that somebody has to be blamed for."""

        def allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
            out = self._all(shape, dtype)
            self.uneven |= out is None
            return np.empty(shape, dtype) if out is None else out[k]

        try:
            lane.sample(self.epoch, *self.keys[k], {"image": picture}, allocate)
        except DataError as error:
            self.failed[k] = error

    def _all(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
        """The array for all; None where it is one of another size."""
        with self._lock:
            if self.out is None:
                self.out = self.allocate(shape, dtype)
            return self.out if self.out.shape[1:] == shape else None


def run_batch(rows: PictureBatch, lanes: Sequence[Lane], *, held: bool = False) -> None:
    """Make a batch, in a thread a lane; the first is this one. Its samples are the same whatever their number.

    `held`: all pictures are in memory anyway.
    """
    turns = PictureQueue(len(rows.keys), len(lanes), held=held)
    in_threads(lambda lane: rows.through(lane, turns), lanes)


def in_threads(work: Callable[[Any], None], lanes: Sequence[Any]) -> None:
    """Let each lane work in a thread of its own, the first in this one, and wait for all.

    What is raised is raised here, of several the first lane's.
    """
    if len(lanes) == 1:
        work(lanes[0])
        return
    raised: dict[int, BaseException] = {}

    def guarded(at: int) -> None:
        try:
            work(lanes[at])
        except BaseException as error:  # whatever it is, who waits for it is to have it
            raised[at] = error

    with quiet.held():
        # Begun for this batch alone: threads that waited for the next one would not outlive a fork.
        others = [threading.Thread(target=guarded, args=(at,)) for at in range(1, len(lanes))]
        for thread in others:
            thread.start()
        guarded(0)
        for thread in others:
            thread.join()
    if raised:
        raise raised[min(raised)]
