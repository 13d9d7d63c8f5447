"""A native plan at work: samples, alone or many at once, through one call of the kernel `plan`.

`native/plan.h` says how a plan and a sample lie in memory. Whatever the kernel does not take is Python's to do, with
the same draws, because these depend on the sample's key alone.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from augrecipes.compiler.kernels.sink import Allocate, Sink
from augrecipes.compiler.native_plan.helping import of_this_thread
from augrecipes.compiler.native_plan.pictures import InMemory, Picture, Pixels, coded_of, decoded, is_ready, pixels_of
from augrecipes.compiler.native_plan.room import Needs, ResultAt, Room, spare_room
from augrecipes.compiler.native_plan.steps import CUTS, KEEPS, LEFT, OPAQUE, TURNS, KeyedStep
from augrecipes.native.kernels import Library, written_as
from augrecipes.native.libjpeg import laid_out
from augrecipes.recipe.model import Output
from augrecipes.seeds import MASK, mix, site_key

_HEAD, _STEP, _SAMPLE = struct.Struct("=2Q3q4q4f4f6q2q"), struct.Struct("=4q2Qd24d"), struct.Struct("=2Q20q")
_ROOM, _STEPS, _ARGUMENTS = struct.Struct("=6q"), struct.Struct("=2q"), 7 * 8  # bytes of a step before what it draws by
_EFFECT, _MOST_DOES, DRAWN = 16, 8, 260
_NOTHING = (0,) * 14  # where it lies, its file, result and window
_RGB, _MOST_CHANNELS, _MOST_SIZES = 3, 4, 64
# Gives where results of a shape and dtype lie: an array of them, and rows of it; None: nowhere.
Places = Callable[[tuple[int, ...], np.dtype[Any]], tuple[np.ndarray, Sequence[int]] | None]
# Among the numbers of a sample: index and tile, rows and columns, where it lies and in what file, ...
_KEY, _SIZE, _LIES, _FILE, _TARGET, _MADE, _WINDOW, _BEGIN, _STOP, _ANSWER = (
    slice(2), slice(2, 4), slice(4, 8), slice(8, 11), 11, slice(12, 14), slice(14, 18), 18, 19, 21,
)  # fmt: skip
_NUMBERS = 22
IDLE, REFUSED = 1, -1
_END = -1  # no step: where a sample begins, and where it has run through
_RAW = Sink(Output(dtype="uint8", layout="hwc"))  # of pictures between two steps


class Stopped(NamedTuple):
    """A sample that has come to a step which albumentations carries out: its place in the plan, and the picture."""

    place: int
    picture: np.ndarray


class NativePlan:
    """Steps that the native kernel carries out, and what makes the last picture a result. One thread at a time.

    Args:
        kernels: the native kernels.
        steps: in order.
        sink: of the pipeline.
        seed: of the pipeline.
        most: pixels that a picture may have on its way.
        labels: pictures are masks.

    Attributes:
        left: labels of steps that only Python knows: it makes every sample in which one of them acts.
        stops: labels of steps that only albumentations knows: a sample stops there, and goes on behind them.
        opaque: these steps, by their places; and whether their group has chosen them.
        only_moves: pictures are cut and turned, and that is all.
        given: steps whose draws go by boxes, by their places: `take_given` is to be called when they have drawn.
    """

    def __init__(
        self,
        kernels: Library,
        steps: Sequence[KeyedStep],
        sink: Sink,
        seed: int,
        most: int,
        *,
        labels: bool = False,
    ) -> None:
        self._kernel, self._draws = kernels.kernel("plan", "pplp"), kernels.kernel("plan_draws", "pplp")
        self._seed, self._sink, self._limits = seed & MASK, sink, (most, int(labels))
        self._room = Room()
        self.only_moves = all(step.numbers.effect in (CUTS, TURNS, KEEPS) for step in steps)
        self.left = tuple(step.label for step in steps if step.numbers is LEFT)
        self.stops = tuple(step.label for step in steps if step.numbers is OPAQUE)
        self.given: dict[int, Any] = {}
        self.opaque: Mapping[int, tuple[Any, bool]] = {}
        self._seen = [step.numbers.seen for step in steps]
        self._plan = ctypes.create_string_buffer(_HEAD.size + len(steps) * _STEP.size)
        self._at, self._count = ctypes.addressof(self._plan), len(steps)
        for k, (step, numbers) in enumerate((step, step.numbers) for step in steps):
            _STEP.pack_into(
                self._plan, _HEAD.size + k * _STEP.size, numbers.draw, numbers.effect, step.shared, step.cell,
                mix(self._seed, site_key(step.label)), site_key(step.label), step.p,
                *numbers.arguments, *[0.0] * (_EFFECT - len(numbers.arguments)),
                *numbers.does, *[0.0] * (_MOST_DOES - len(numbers.does)),
            )  # fmt: skip
        self._begun: tuple[Any, ...] = ()  # what the head says
        self._fresh: dict[Any, ResultAt | None] = {}  # results in arrays of their own, by pictures' shapes
        self._one = ctypes.create_string_buffer(_SAMPLE.size)
        self._one_at = ctypes.addressof(self._one)

    def sample(
        self, epoch: int, index: int, tile: int, picture: Picture, allocate: Allocate, begin: int = _END
    ) -> np.ndarray | Stopped | None:
        """One sample's result, or where it stops; None where Python has to make it. DataError: the file is damaged.

        Args:
            epoch: of its key.
            index: of its key.
            tile: of its key.
            picture: it, or what the step at `begin` has left of it.
            allocate: gives memory for the result.
            begin: place of the step that was carried out last.
        """
        rows, columns, channels = shape = picture.shape
        if not self._takes(channels):
            return None
        key = epoch, index, tile, rows, columns, channels
        fresh = picture if allocate is np.empty and is_ready(picture) and not self.opaque else None
        guess = None if fresh is None else self._fresh.get(shape)
        if fresh is not None and guess is not None:
            out = np.empty(*guess.made)
            if self._make(key, (fresh, 0, 0), out, guess):
                return out
        self._begin(epoch, channels)
        _SAMPLE.pack_into(self._one, 0, index, tile, rows, columns, *_NOTHING, begin, _END, 0, 0)
        if self._run_one():
            return None
        height, width, *window, _, stop, changed, _ = _SAMPLE.unpack_from(self._one)[12:]
        if stop >= 0:
            return self._stopped(key, begin, stop, picture, window, (height, width) if changed else None)
        if (guess and guess.size == (height, width)) or (found := pixels_of(picture, window)) is None:
            return None
        out = allocate(*(made := (self._sink.shape(height, width, channels), self._sink.dtype)))
        if (strides := self._strides(out[None], channels)) is None:
            return None
        place = ResultAt((height, width), made, *strides, written_as(out))
        if fresh is not None and len(self._fresh) < _MOST_SIZES:  # where sizes differ they are asked for from now on
            self._fresh[shape] = None if shape in self._fresh else place
        return out if self._make(key, found, out, place, begin) else None

    def _stopped(
        self,
        key: tuple[int, ...],
        begin: int,
        stop: int,
        picture: Picture,
        window: Sequence[int],
        size: tuple[int, int] | None,
    ) -> Stopped | None:
        """A sample whose next step is not the kernels'; of no size nothing has been done to the picture."""
        if size is None and isinstance(picture, np.ndarray):
            return Stopped(stop, picture)
        if (found := pixels_of(picture, window)) is None:
            return None
        (height, width), channels = size or picture.shape[:2], picture.shape[2]
        out = np.empty((height, width, channels), np.uint8)
        place = ResultAt((height, width), (out.shape, out.dtype), 0, (width * channels, channels, 1), written_as(out))
        return Stopped(stop, out) if self._make(key, found, out, place, begin, stop) else None

    def _make(
        self,
        key: tuple[int, ...],
        found: Pixels,
        out: np.ndarray,
        place: ResultAt,
        begin: int = _END,
        stop: int = _END,
    ) -> bool:
        """Write a result; False where it is of another size, or Python has to make it."""
        (epoch, index, tile, rows, columns, channels), (pixels, top, left) = key, found
        self._begin(epoch, channels, place.strides, place.written, raw=stop >= 0)
        at, target = pixels.__array_interface__["data"][0], out.__array_interface__["data"][0] + place.start
        _SAMPLE.pack_into(
            self._one, 0, index, tile, rows, columns, at, pixels.strides[0], top, left, 0, 0, 0, target, *place.size,
            0, 0, 0, 0, begin, stop, 0, 0,
        )  # fmt: skip
        return not self._run_one()

    def take_given(self) -> None:
        """Take over what the steps of `given` have drawn, those that have."""
        for place, step in self.given.items():
            if step.params:
                self._take(place, self._seen[place](step.params))

    def _take(self, place: int, numbers: Sequence[float]) -> None:
        """Let a step draw these."""
        struct.pack_into(f"={len(numbers)}d", self._plan, _HEAD.size + place * _STEP.size + _ARGUMENTS, *numbers)

    def many(
        self,
        epoch: int,
        keys: Sequence[tuple[int, int]] | np.ndarray,
        pictures: Sequence[Picture] | InMemory,
        places: Places,
    ) -> list[int] | None:
        """Samples of one size side by side.

        Args:
            epoch: of all.
            keys: index and tile of each.
            pictures: of as many channels.
            places: gives where the results lie, (shape, dtype) → an array of them and the row of each; None: nowhere.

        Returns:
            Which of them Python has to make: their pictures may be damaged. None where sizes differ.
        """
        count = len(pictures)
        if isinstance(pictures, InMemory):
            shapes = pictures.shapes
        else:
            shapes = np.array([picture.shape for picture in pictures], np.int64)
        channels = int(shapes[0, 2])
        if self.given or not self._takes(channels) or (shapes[:, 2] != channels).any():
            return [*range(count)]
        numbers = np.zeros((count, _NUMBERS), np.int64)
        numbers[:, _KEY] = np.asarray(keys, np.uint64).view(np.int64)
        numbers[:, _SIZE], numbers[:, _BEGIN] = shapes[:, :2], _END
        self._begin(epoch, channels)
        known = None if self._run(numbers) else np.flatnonzero((numbers[:, _ANSWER] == 0) & (numbers[:, _STOP] == _END))
        if known is not None:
            if not len(known):
                return [*range(count)]
            if (numbers[known, _MADE] != numbers[known[0], _MADE]).any():
                return None
        height, width = numbers[0 if known is None else known[0], _MADE].tolist()
        found = places(self._sink.shape(height, width, channels), self._sink.dtype)
        if found is None:
            return None
        out, rows = found
        if (strides := self._strides(out, channels)) is None:
            return [*range(count)]
        kind = written_as(out)
        at = np.arange(rows.start, rows.stop, rows.step) if isinstance(rows, range) else np.asarray(rows)
        numbers[:, _TARGET] = at * out.strides[0] + (out.__array_interface__["data"][0] + strides[0])
        if isinstance(pictures, InMemory):
            self._begin(epoch, channels, strides[1], kind)
            numbers[:, _LIES] = pictures.lie
            if known is not None:
                numbers[numbers[:, _STOP] != _END, _ANSWER] = REFUSED
                self._some(numbers, known, (out, pictures))
            elif self._run(numbers, (out, pictures)):
                return []
        else:
            windows, asked = numbers[:, _WINDOW].tolist(), range(count) if known is None else known.tolist()
            numbers[:, _ANSWER] = REFUSED
            coded = {k: part for k, part in ((k, coded_of(pictures[k], windows[k])) for k in asked) if part is not None}
            if coded:
                numbers[[*coded], _LIES] = [(*one.lies(), *windows[k][:2]) for k, one in coded.items()]
                numbers[[*coded], _FILE], files = laid_out([*coded.values()])
                self._room.decode(coded[min(coded)].codec, int(numbers[:, _FILE.stop - 1].max()))
                self._begin(epoch, channels, strides[1], kind)
                try:
                    self._some(numbers, [*coded], (out, files))
                finally:
                    self._room.decoded()
            self._begin(epoch, channels, strides[1], kind)
            for part, lie, held in decoded([k for k in asked if k not in coded], windows, pictures):
                numbers[part, _LIES] = lie
                self._some(numbers, part, (out, held))
        return np.flatnonzero(numbers[:, _ANSWER]).tolist()

    def _some(self, numbers: np.ndarray, places: Sequence[int] | np.ndarray, held: object) -> None:
        """Carry out some of several samples."""
        some = numbers[places]
        self._run(some, held)
        numbers[places] = some

    def drawn(
        self, epoch: int, keys: Sequence[tuple[int, int]], rows: int, columns: int
    ) -> Iterator[list[float] | None]:
        """What the first step draws in samples of `rows` × `columns` px: its numbers, or None where it does not act.

        Numbers that it does not know how to draw are not finite.
        """
        numbers, drawn = np.zeros((len(keys), _NUMBERS), np.int64), np.full((len(keys), DRAWN), np.nan)
        numbers[:, _KEY], numbers[:, _SIZE] = keys, (rows, columns)
        self._begin(epoch, 3)
        self._draws(self._at, numbers.ctypes.data, len(numbers), drawn.ctypes.data)
        for answer, made in zip(numbers[:, _ANSWER].tolist(), drawn.tolist(), strict=True):
            yield None if answer == IDLE else [np.nan] * DRAWN if answer == REFUSED else made

    def all_are_left(self, epoch: int, count: int, side: int) -> bool:
        """Whether Python has to make each of the first samples, of pictures of `side` × `side` px.

        Windows that boxes have a say in are taken to be the whole picture, and then a pixel: some step may be behind
        them that a pixel is too small for, or before them one that leaves less.
        """
        for window in (side, 1) if self.given else (side,):
            for place in self.given:
                self._take(place, (0.0, 0.0, float(window), float(window)))
            numbers = np.zeros((count, _NUMBERS), np.int64)
            numbers[:, 0], numbers[:, _SIZE], numbers[:, _BEGIN] = range(count), side, _END
            self._begin(epoch, _RGB)
            self._run(numbers)
            if (numbers[:, _ANSWER] == 0).any():
                return False
        return True

    def _takes(self, channels: int) -> bool:
        """Whether a result may be made of pictures of so many channels."""
        return channels == _RGB or (channels <= _MOST_CHANNELS and self._sink.output.color != "bgr")

    def _begin(
        self, epoch: int, channels: int, strides: Sequence[int] = (0, 0, 0), kind: int = 0, *, raw: bool = False
    ) -> None:
        begun = epoch, channels, strides, kind, raw, self._room.numbers
        if begun == self._begun:
            return
        self._begun = begun
        native = (_RAW if raw else self._sink).numbers(channels)
        _HEAD.pack_into(
            self._plan, 0, self._seed, epoch, channels, *self._limits, kind, *strides,
            *native.four[0], *native.four[1], *self._room.numbers, self._at + _HEAD.size, self._count,
        )  # fmt: skip

    def _grow(self, size: int) -> None:
        """Have so many bytes to work in."""
        self._room.grow(size)
        self._let_work_in(self._room, self._plan)

    def _let_work_in(self, room: Room, plan: Any) -> None:
        """Have a copy of the plan, or itself, work in this memory."""
        _ROOM.pack_into(plan, _HEAD.size - _STEPS.size - _ROOM.size, *room.numbers)
        _STEPS.pack_into(plan, _HEAD.size - _STEPS.size, ctypes.addressof(plan) + _HEAD.size, self._count)

    def _run(self, numbers: np.ndarray, held: object = None) -> bool:
        """Carry out samples; those that lack memory to work in once more, with enough.

        `held` is what addresses among the numbers are good for as long as. Whether it is known at once that all are
        done, and of one size.
        """
        if not self._carry_out(numbers, held):
            return True
        while (most := int(numbers[:, _ANSWER].max(initial=0))) > 0:
            self._grow(most)
            lack = numbers[:, _ANSWER] > 0
            left = numbers[lack]
            self._carry_out(left, held)
            numbers[lack] = left
        return False

    def _carry_out(self, numbers: np.ndarray, held: object) -> bool:
        """Carry out samples, helped by other threads of the batch; whether it is not known that all are done."""
        at, count, threads = numbers.ctypes.data, len(numbers), of_this_thread()
        if threads is None or count < 2 or not numbers[0, _TARGET]:
            return bool(self._kernel(self._at, at, count, None))
        begun = ctypes.c_int64()

        def work(plan: int) -> None:
            self._kernel(plan, at, count, ctypes.addressof(begun))

        # An interrupt may end this thread's waiting: others go by what is now, and what they write to stays meanwhile.
        plan, needs = self._plan.raw, self._room.needs
        threads.share(lambda: work(self._at), lambda: self._in_spare_room(work, plan, needs, (numbers, held)))
        return True

    def _in_spare_room(self, work: Callable[[int], object], plan: bytes, needs: Needs, held: object) -> None:
        """Work at a copy of a plan, in memory that no other thread is at."""
        with spare_room(needs) as room:
            if room is not None:
                copy = ctypes.create_string_buffer(plan)
                self._let_work_in(room, copy)
                work(ctypes.addressof(copy))

    def _run_one(self) -> bool:
        """Carry out the one sample; whether the kernel does not take it."""
        self._kernel(self._at, self._one_at, 1, None)
        while (answer := _SAMPLE.unpack_from(self._one)[-1]) > 0:
            self._grow(answer)
            self._kernel(self._at, self._one_at, 1, None)
        return bool(answer)

    def _strides(self, out: np.ndarray, channels: int) -> tuple[int, Sequence[int]] | None:
        """Where results begin, in bytes; from row to row, pixel to pixel and channel to channel, in elements."""
        found = self._sink.numbers(channels).strides(out, channels) if out.flags.aligned else None
        return None if found is None else (found[0], found[2:])
