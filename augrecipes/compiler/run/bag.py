"""Recipes of kind bag: many tiles of one slide, each with draws of its own, some draws shared by the slide."""

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
from augrecipes.compiler.plan import Compiled
from augrecipes.compiler.run.beside import is_array
from augrecipes.compiler.run.image import ImagePipeline
from augrecipes.compiler.run.output_buffer import output_buffer
from augrecipes.compiler.run.quiet import quiet
from augrecipes.errors import CollateError, DataError
from augrecipes.machine import cores

Read = Callable[[int], np.ndarray]
Name = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Bag:
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


class BagPipeline(ImagePipeline):
    """A compiled recipe of kind bag.

    Targets in: `images`, tiles as a list of H×W×C arrays or as one N×H×W×C array, uint8 (0..255) or float32 (0..1);
    or `image`, one tile. Targets out: `image`, all tiles as one array (n, C, H, W), as the recipe's `output` says.
    `out`, an array or a torch tensor of that very shape and dtype, is written to and comes out as `image`; or a
    function (shape, dtype) → array.

    Draws: tile k of a bag draws at the key (index, epoch, k), so `at(index, epoch, k)(image=tile)` replays it; steps
    with `share: bag` draw at the bag's own key, the same for every tile.

    Tiles are worked on by several threads, each with steps of its own, and are written straight into the result.
    """

    _lanes: list[BagPipeline]

    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Allocate = np.empty
    ) -> dict[str, Any]:
        """One bag, where there are `images`; else one tile."""
        if "images" not in targets:
            return super().sample(epoch, index, tile, targets, allocate)
        rest = dict(targets)
        tiles = rest.pop("images")
        if "image" in rest:
            raise DataError("give either `images` (the tiles of a bag) or `image` (one tile), not both")
        for key, value in rest.items():
            if key != "out" and is_array(value):
                raise DataError(f"{key!r} is an array, and a bag has `images` alone; keep it out of the call")
        if isinstance(tiles, np.ndarray) and tiles.ndim != 4:
            raise DataError(f"images must be N×H×W×C or a list of H×W×C arrays, got shape {tiles.shape}")
        numbers, out = range(len(tiles)), rest.pop("out", None)
        if out is not None:
            allocate = output_buffer(out, "the bag", tiles)
        work = _Work(
            epoch, index, numbers, tiles.__getitem__, False, "images[{}]".format, _Slots(len(numbers), allocate)
        )
        bag = self._run(work, self.compiled.threads)
        rest["image"] = bag.image if out is None or callable(out) else out
        if bag.applied is not None:
            rest["applied"] = bag.applied
        return rest

    def bag(
        self,
        index: int,
        epoch: int,
        tiles: Sequence[int],
        read: Read,
        *,
        threads: int | None = None,
        skip: bool = False,
        name: Name | None = None,
        allocate: Allocate = np.empty,
    ) -> Bag:
        """Read the tiles of a bag and run each through the steps.

        Args:
            index: of the bag.
            epoch: of the draws.
            tiles: number of each tile within its bag: with (index, epoch) the key of its draws.
            read: gives the picture at a position in `tiles`; called from several threads.
            threads: that work on them; None: as the pipeline was compiled.
            skip: leave out the tiles that cannot be read, that a step fails on, or that come out with another size
                than most.
            name: gives the file of the picture at a position, for errors.
            allocate: gives the memory for the result, (shape, dtype) → array.

        Raises:
            DataError: there is no tile, or none is left; without `skip`, a tile is broken: of several the first.
            CollateError: tiles come out with different sizes, and `skip` is not said.
        """
        work = _Work(epoch, index, tiles, read, skip, name, _Slots(len(tiles), allocate, keeps_odd=skip))
        return self.for_this_thread()._run(work, threads or self.compiled.threads)

    def _run(self, work: _Work, threads: int | None) -> Bag:
        if not work.tiles:
            raise DataError("a bag needs at least one tile")
        lanes = self._take_lanes(min(threads or default_threads(), len(work.tiles)))
        if len(lanes) == 1:
            work.through(self)
        else:
            with quiet.held():
                others = [threading.Thread(target=work.through, args=(lane,)) for lane in lanes[1:]]
                for thread in others:
                    thread.start()
                work.through(self)
                for thread in others:
                    thread.join()
        return work.result(save_applied=self.compiled.save_applied_params)

    def renew(self, compiled: Compiled) -> None:
        """As every pipeline; the threads' pipelines are made anew, too."""
        super().renew(compiled)
        self._lanes = [self]

    def _take_lanes(self, count: int) -> list[BagPipeline]:
        """Pipelines for `count` threads; steps hold state, so each thread has its own, kept for the next bag."""
        lanes: list[BagPipeline] = self.__dict__.setdefault("_lanes", [self])
        while len(lanes) < count:
            lanes.append(self.again())
        return lanes[:count]


@dataclass
class _Work:
    """One bag that several threads work on."""

    epoch: int
    index: int
    tiles: Sequence[int]
    read: Read
    skip: bool
    name: Name | None
    slots: _Slots
    failed: dict[int, BaseException] = field(default_factory=dict)
    applied: dict[int, Any] = field(default_factory=dict)
    turns: Iterator[int] = field(default_factory=itertools.count)
    stopped: bool = False
    _usual: tuple[int, ...] | None = None

    def through(self, lane: BagPipeline) -> None:
        """Take one tile after another until none is left.

        Tiles are taken in order, so when one fails, all before it have been taken: the first failure is always found.
        """
        while not self.stopped and (k := next(self.turns)) < len(self.tiles):
            self._one(lane, k)

    def _one(self, lane: BagPipeline, k: int) -> None:
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

    def result(self, *, save_applied: bool) -> Bag:
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
        return Bag(self.slots.rows(kept), kept, dropped, applied)

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


class _Slots:
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
