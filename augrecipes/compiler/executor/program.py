"""A program at work: samples, alone or many at once, through one call of the kernel `program`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from augrecipes.compiler.executor.inputs import (
    AnyImage,
    InMemory,
    Pixels,
    coded_of,
    decoded,
    is_ready,
    pixels_of,
    reduced_pixels,
)
from augrecipes.compiler.executor.program_memory import (
    ANSWER,
    BEGIN,
    END,
    FIELDS,
    FILE,
    KEY,
    LIES,
    MADE,
    REDUCE,
    REFUSED,
    SAMPLE,
    SIZE,
    STOP,
    TARGET,
    WINDOW,
    ProgramMemory,
)
from augrecipes.compiler.executor.workspace import ResultAt
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.native.kernels import address_of, written_as
from augrecipes.native.libjpeg import laid_out

_UNSET = (0,) * 14  # where it lies, its file, result and window
_MOST_SIZES = 64
_MAY_REDUCE = 0
# Gives where results of a shape and dtype lie: an array of them, and rows of it; None: nowhere.
Places = Callable[[tuple[int, ...], np.dtype[Any]], tuple[np.ndarray, Sequence[int]] | None]


class Stopped(NamedTuple):
    """A sample that has come to a step which albumentations carries out: its place in the plan, and the image."""

    place: int
    image: np.ndarray


class Program(ProgramMemory):
    """Steps that the native kernel carries out; see `ProgramMemory` for its arguments. One thread at a time."""

    def sample(
        self,
        epoch: int,
        index: int,
        tile: int,
        image: AnyImage,
        allocate: Allocate,
        begin: int = END,
        free: bool = False,
        reduce: int = _MAY_REDUCE,
    ) -> np.ndarray | Stopped | None:
        """One sample's result, or where it stops; None where Python has to make it. DataError: the file is damaged.

        Args:
            epoch: of its key.
            index: of its key.
            tile: of its key.
            image: it, or what the step at `begin` has left of it.
            allocate: gives memory for the result.
            begin: place of the step that was carried out last.
            free: nobody else holds the image, so that it may be the result.
            reduce: 1: an image that is not decoded yet is decoded as it is.
        """
        rows, columns, channels = shape = image.shape
        if not self.takes(channels):
            return None
        key = epoch, index, tile, rows, columns, channels
        fresh = image if allocate is np.empty and is_ready(image) and not self.opaque else None
        guess = None if fresh is None else self._fresh.get(shape)
        if fresh is not None and guess is not None and (made := self._guessed(key, fresh, guess)) is not None:
            return made
        self._begin(epoch, channels)
        SAMPLE.pack_into(self._one, 0, index, tile, rows, columns, *_UNSET, begin, END, 0, 0, reduce, 0, 0)
        if self._run_one():
            return None
        height, width, *window, _, stop, changed, _, reduce, _, _ = SAMPLE.unpack_from(self._one)[12:]
        if (stop >= 0 and stop not in self.opaque) or (stop < 0 and not self.leaves(channels)):
            return None
        if stop >= 0 and not changed and isinstance(image, np.ndarray):
            return Stopped(stop, image)
        if guess and guess.size == (height, width):
            return None
        if free and stop < 0 and not changed and allocate is np.empty and self._sink.as_it_is:
            return image  # type: ignore[return-value]  # arrays alone are free
        if (found := pixels_of(image, window) if reduce == 1 else reduced_pixels(image, window, reduce)) is None:
            # The decoder knows no such scale.
            return None if reduce == 1 else self.sample(epoch, index, tile, image, allocate, begin, reduce=1)
        if stop >= 0:
            size = (height, width) if changed else (rows, columns)
            return self._stopped(key, begin, stop, found, size, reduce)
        out = allocate(*(like := (self._sink.shape(height, width, channels), self._sink.dtype)))
        if (strides := self._strides(out[None], channels)) is None:  # no kernel writes to memory that lies so
            if isinstance(apart := self.sample(epoch, index, tile, image, np.empty, begin, reduce=reduce), np.ndarray):
                out[...] = apart
                return out
            return None
        place = ResultAt((height, width), like, *strides, written_as(out))
        if fresh is not None and len(self._fresh) < _MOST_SIZES:  # where sizes differ they are asked for from now on
            self._fresh[shape] = None if shape in self._fresh else place
        return out if self._make(key, found, out, place, begin, reduce=reduce) else None

    def again(self, epoch: int, index: int, tile: int, image: np.ndarray) -> np.ndarray | None:
        """The result of an image, uint8 and side by side, like one that was made before; None: `sample` may know."""
        guess = self._fresh.get(image.shape)
        return None if guess is None else self._guessed((epoch, index, tile, *image.shape), image, guess)

    def _guessed(self, key: tuple[int, ...], image: np.ndarray, guess: ResultAt) -> np.ndarray | None:
        """A result in an array of its own; None where it is not like that."""
        out = np.empty(*guess.made)
        return out if self._make(key, (image, 0, 0), out, guess) else None

    def _stopped(
        self, key: tuple[int, ...], begin: int, stop: int, found: Pixels, size: tuple[int, int], reduce: int
    ) -> Stopped | None:
        """A sample of some size whose next step is not the kernels'."""
        (height, width), channels = size, key[-1]
        out = np.empty((height, width, channels), np.uint8)
        place = ResultAt((height, width), (out.shape, out.dtype), 0, (width * channels, channels, 1), written_as(out))
        return Stopped(stop, out) if self._make(key, found, out, place, begin, stop, reduce) else None

    def _make(
        self,
        key: tuple[int, ...],
        found: Pixels,
        out: np.ndarray,
        place: ResultAt,
        begin: int = END,
        stop: int = END,
        reduce: int = 1,
    ) -> bool:
        """Write a result; False where it is of another size, or Python has to make it."""
        (epoch, index, tile, rows, columns, channels), (pixels, top, left) = key, found
        self._begin(epoch, channels, place.strides, place.written, raw=stop >= 0)
        at, target = address_of(pixels), address_of(out) + place.start
        SAMPLE.pack_into(
            self._one, 0, index, tile, rows, columns, at, pixels.strides[0], top, left, 0, 0, 0, target, *place.size,
            0, 0, 0, 0, begin, stop, 0, 0, reduce, *pixels.shape[:2],
        )  # fmt: skip
        return not self._run_one()

    def many(
        self,
        epoch: int,
        keys: Sequence[tuple[int, int]] | np.ndarray,
        images: Sequence[AnyImage] | InMemory,
        places: Places,
    ) -> list[int] | None:
        """Samples of one size side by side.

        Args:
            epoch: of all.
            keys: index and tile of each.
            images: of as many channels.
            places: gives where the results lie, (shape, dtype) → an array of them and the row of each; None: nowhere.

        Returns:
            Which of them Python has to make: their images may be damaged. None where sizes differ.
        """
        count = len(images)
        if isinstance(images, InMemory):
            shapes = images.shapes
        else:
            shapes = np.array([image.shape for image in images], np.int64)
        channels = int(shapes[0, 2])
        if (
            self.python_draws
            or not (self.writes and self.takes(channels) and self.leaves(channels))
            or (shapes[:, 2] != channels).any()
        ):
            return [*range(count)]
        numbers = np.zeros((count, FIELDS), np.int64)
        numbers[:, KEY] = np.asarray(keys, np.uint64).view(np.int64)
        # Files may be decoded smaller: one by one.
        numbers[:, SIZE], numbers[:, BEGIN], numbers[:, REDUCE] = shapes[:, :2], END, isinstance(images, InMemory)
        self._begin(epoch, channels)
        alike = self._run(numbers)
        here = (numbers[:, ANSWER] == 0) & (numbers[:, STOP] == END) & (numbers[:, REDUCE] == 1)
        known = None if alike and here.all() else np.flatnonzero(here)
        if known is not None:
            if not len(known):
                return [*range(count)]
            if (numbers[known, MADE] != numbers[known[0], MADE]).any():
                return None
        height, width = numbers[0 if known is None else known[0], MADE].tolist()
        found = places(self._sink.shape(height, width, channels), self._sink.dtype)
        if found is None:
            return None
        out, rows = found
        if (strides := self._strides(out, channels)) is None:
            return [*range(count)]
        kind = written_as(out)
        at = np.arange(rows.start, rows.stop, rows.step) if isinstance(rows, range) else np.asarray(rows)
        numbers[:, TARGET] = at * out.strides[0] + (out.__array_interface__["data"][0] + strides[0])
        if isinstance(images, InMemory):
            self._begin(epoch, channels, strides[1], kind, raw=False)
            numbers[:, LIES] = images.lie
            if known is not None:
                numbers[numbers[:, STOP] != END, ANSWER] = REFUSED
                self._some(numbers, known, (out, images))
            elif self._run(numbers, (out, images)):
                return []
        else:
            windows, asked = numbers[:, WINDOW].tolist(), range(count) if known is None else known.tolist()
            numbers[:, ANSWER] = REFUSED
            coded = {k: part for k, part in ((k, coded_of(images[k], windows[k])) for k in asked) if part is not None}
            if coded:
                numbers[[*coded], LIES] = [(*one.lies(), *windows[k][:2]) for k, one in coded.items()]
                numbers[[*coded], FILE], files = laid_out([*coded.values()])
                self._room.decode(coded[min(coded)].codec, int(numbers[:, FILE.stop - 1].max()))
                self._begin(epoch, channels, strides[1], kind, raw=False)
                try:
                    self._some(numbers, [*coded], (out, files))
                finally:
                    self._room.decoded()
            self._begin(epoch, channels, strides[1], kind, raw=False)
            for part, lie, held in decoded([k for k in asked if k not in coded], windows, images):
                numbers[part, LIES] = lie
                self._some(numbers, part, (out, held))
        return np.flatnonzero(numbers[:, ANSWER]).tolist()

    def _some(self, numbers: np.ndarray, places: Sequence[int] | np.ndarray, held: object) -> None:
        """Carry out some of several samples."""
        some = numbers[places]
        self._run(some, held)
        numbers[places] = some
