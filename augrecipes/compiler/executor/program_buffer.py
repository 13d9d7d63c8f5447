"""A program in memory: its ops and samples as `native/layout.def` has them, and the calls of its kernels.

Whatever the kernels do not take is Python's to do, with the same draws, because these depend on the sample's key alone.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.sink import Sink
from augrecipes.errors import DataError
from augrecipes.native import layout
from augrecipes.native.kernels import Library, address_of
from augrecipes.native.libjpeg import Codec
from augrecipes.native.op_numbers import LIMITS
from augrecipes.ops.native_op import EXIT, NativeOp
from augrecipes.recipe.model import UINT8_HWC
from augrecipes.seeds import MASK, mix, site_key


@dataclass(frozen=True, slots=True)
class Op:
    """A step of a program.

    Attributes:
        label: keys its draws.
        shared: whether the tiles of a bag draw as one.
        p: it acts where its first draw is below.
        numbers: what it draws and does.
        cell: pixels along each of the squares that it counts: of a pair's steps.
        may_exit: it is carried out by itself, so that albumentations may do it in the place of the kernels.
        forced: its group has chosen it, so that it acts whatever its first draw would be.
        turn: what its first word moves on by from epoch to epoch, where its draws alternate; else 0.
    """

    label: str
    shared: bool
    p: float
    numbers: NativeOp
    cell: int = 1
    may_exit: bool = False
    forced: bool = False
    turn: int = 0


_LEAST, _KEPT = 1 << 16, 1 << 25  # bytes for steps at first; and of decoded pixels that are kept for the next batch


class Workspace:
    """Memory of one thread.

    Attributes:
        numbers: how the head of a program names it, from `decode` to `workspace` in native/layout.def: addresses of the
            decoder, its memory and its pixels, bytes of these; the steps' memory, and bytes of it.
    """

    def __init__(self) -> None:
        self._pixels = np.empty(0, np.uint8)
        self._codec: Codec | None = None
        self._memory: Any = None
        self.grow(_LEAST)

    def _number(self) -> None:
        decoder = 0, 0, 0, 0
        if self._codec is not None:
            memory, pixels = ctypes.addressof(self._memory), self._pixels.ctypes.data
            decoder = self._codec.address, memory, pixels, len(self._pixels)
        self.numbers = *decoder, self._scratch.ctypes.data, len(self._scratch)

    def grow(self, size: int) -> None:
        """Have so many bytes for steps."""
        self._scratch = np.empty(size, np.uint8)
        self._number()

    def decode(self, codec: Codec, most: int) -> None:
        """Be ready to decode parts of files that take so many bytes at most."""
        if self._memory is None:
            self._memory = codec.memory()
        if most > len(self._pixels):
            self._pixels = np.empty(most, np.uint8)
        self._codec = codec
        self._number()

    def decoded(self) -> None:
        """No more is decoded for now: keep what most images take."""
        self._codec = None
        if len(self._pixels) > _KEPT:
            self._pixels = np.empty(0, np.uint8)
        self._number()


_HEAD, _STEP, SAMPLE = layout.PROGRAM.struct, layout.STEP.struct, layout.SAMPLE.struct
_WORKSPACE = layout.PROGRAM.part("decode", "workspace")
_DRAW, _ARGUMENTS = layout.STEP.offset("draw"), layout.STEP.offset("arguments")  # behind a draw stands its effect
_DOES = _ARGUMENTS + 8 * LIMITS.DRAW_ARGUMENTS  # where the effect's arguments are
_SPENT = layout.PROGRAM.offset("spent")  # where the head says to what counters its time goes; 0: to none
_RGB = 3
# Among the numbers of a sample: its key, its size, where it lies, the file that it is decoded of, ...
KEY, SIZE = layout.SAMPLE.places("index", "tile"), layout.SAMPLE.places("rows", "columns")
PIXELS, FILE = layout.SAMPLE.places("at", "left"), layout.SAMPLE.places("file", "decoded")
RESULT_SIZE, WINDOW = layout.SAMPLE.places("height", "width"), layout.SAMPLE.places("window", "window")
DECODED, TARGET, BEGIN, STOP, CHANGED, ANSWER, REDUCE, PIXELS_SIZE, MOVES = map(
    layout.SAMPLE.place, ("decoded", "target", "begin", "stop", "changed", "answer", "reduce", "tall", "moves")
)
FIELDS = layout.SAMPLE.size // 8  # numbers of a sample
IDLE, REFUSED = 1, -1
END = -1  # no step: where a sample begins, and where it has run through
_RAW = Sink(UINT8_HWC)  # of images between two steps


class ProgramBuffer:
    """Steps as the native kernels take them, and what makes the last image a result. One thread at a time.

    Args:
        kernels: the native kernels.
        steps: in order.
        sink: of the pipeline.
        seed: of the pipeline.
        most: pixels that an image may have on its way.
        labels: images are masks.

    Attributes:
        labels: of its steps; empty of what is done between two of them.
        stops: labels of steps that only albumentations knows: a sample stops there, and goes on behind them.
        opaque: these steps, by their places; and whether their group has chosen them.
        unmerged: sites of merged steps that run one by one.
        idle: all of its steps are opaque, so that Python goes through them faster by itself.
        writes: results are the output's; otherwise uint8 H×W×C, which the sink makes into that.
        fill_lengths: how many channels its fills have a level each for.
        steps: its transforms, or None for what is done between them, and their ops.
        python_draws: steps whose draws go by boxes, by their places; `take_python_draws` takes them over.
        stained: steps that go by the stains of a slide or bag, and their ops, by their places: exits but for samples
            whose stains are known, see `take_stains`.
    """

    def __init__(
        self,
        kernels: Library,
        steps: Sequence[Op],
        sink: Sink,
        seed: int,
        most: int,
        *,
        labels: bool = False,
    ) -> None:
        self._kernel, self._draws = kernels.kernel("program", "ppl"), kernels.kernel("program_draws", "pplp")
        self._seed, self._sink, self._limits = seed & MASK, sink, (most, int(labels))
        self._room = Workspace()
        self.labels = tuple(step.label for step in steps)
        self.stops = tuple(step.label for step in steps if step.numbers is EXIT)
        self.steps: Sequence[tuple[Any, Op]] = ()
        self.python_draws: dict[int, Any] = {}
        self.stained: dict[int, tuple[Any, NativeOp]] = {}
        self._stains: Mapping[str, Any] | None = None
        self.opaque: Mapping[int, tuple[Any, bool]] = {}
        self.unmerged: set[str] = set()
        self.idle, self.writes = False, True
        self.fill_lengths: frozenset[int] = frozenset()
        self._expected_draws = [step.numbers.expected_draws for step in steps]
        self._plan = ctypes.create_string_buffer(_HEAD.size + len(steps) * _STEP.size)
        self._at, self._count = ctypes.addressof(self._plan), len(steps)
        for k, (step, numbers) in enumerate((step, step.numbers) for step in steps):
            _STEP.pack_into(
                self._plan, _HEAD.size + k * _STEP.size, numbers.draw, numbers.effect, step.shared, step.cell,
                mix(self._seed, site_key(step.label)), site_key(step.label), step.turn, step.p,
                *numbers.arguments, *[0.0] * (LIMITS.DRAW_ARGUMENTS - len(numbers.arguments)),
                *numbers.effect_arguments, *[0.0] * (LIMITS.EFFECT_ARGUMENTS - len(numbers.effect_arguments)),
            )  # fmt: skip
        self._begun: tuple[Any, ...] = ()  # what the head says

    def timed(self, charge: Callable[[list[int]], object]) -> None:
        """Let a function have what each call takes from now on, in whatever thread, in nanoseconds.

        It is called with that of each step, and behind these of what comes last (what is still pending is carried out,
        and the result written), and of decoding. A group has its choice alone. A step whose work is put off, as that of
        a crop is, takes next to nothing, and what carries the work out takes it all.
        """
        kernel = self._kernel

        def counted(plan: int, *samples: Any) -> int:
            spent, place = (ctypes.c_int64 * (self._count + 2))(), ctypes.c_int64.from_address(plan + _SPENT)
            place.value = ctypes.addressof(spent)
            try:
                return kernel(plan, *samples)
            finally:
                place.value = 0
                charge(list(spent))

        self._kernel = counted

    def take_python_draws(self) -> None:
        """Take over what the steps of `python_draws` have drawn, those that have."""
        for place, step in self.python_draws.items():
            if step.params:
                self._take(place, self._expected_draws[place](step.params))

    def _take(self, place: int, numbers: Sequence[float]) -> None:
        """Let a step draw these."""
        struct.pack_into(f"={len(numbers)}d", self._plan, _HEAD.size + place * _STEP.size + _ARGUMENTS, *numbers)

    def take_stains(self, stains: Mapping[str, Any] | None) -> None:
        """Take over the stains of the samples to come, by the method that told them; None: nobody knows them."""
        if stains is self._stains:
            return
        self._stains = stains
        for place, (step, numbers) in self.stained.items():
            does, arguments = EXIT, ()
            if stains is not None and step.source_method in stains:
                does, arguments = numbers, step.native_arguments(stains[step.source_method])
            at = _HEAD.size + place * _STEP.size
            struct.pack_into("=2q", self._plan, at + _DRAW, does.draw, does.effect)
            struct.pack_into(f"={len(arguments)}d", self._plan, at + _DOES, *arguments)

    def resize_to(self, place: int, size: tuple[int, int]) -> None:
        """Let a step that resizes make images of this height and width, px."""
        struct.pack_into("=2d", self._plan, _HEAD.size + place * _STEP.size + _DOES, *size)

    def drawn(
        self, epoch: int, keys: Sequence[tuple[int, int]], rows: int, columns: int
    ) -> Iterator[list[float] | None]:
        """What the first step draws in samples of `rows` × `columns` px: its numbers, or None where it does not act.

        Numbers that it does not know how to draw are not finite.
        """
        numbers, drawn = np.zeros((len(keys), FIELDS), np.int64), np.full((len(keys), LIMITS.DRAWN), np.nan)
        numbers[:, KEY], numbers[:, SIZE] = keys, (rows, columns)
        self._begin(epoch, 3)
        self._draws(self._at, numbers.ctypes.data, len(numbers), drawn.ctypes.data)
        for answer, made in zip(numbers[:, ANSWER].tolist(), drawn.tolist(), strict=True):
            yield None if answer == IDLE else [np.nan] * LIMITS.DRAWN if answer == REFUSED else made

    def takes(self, channels: int) -> bool:
        """Whether a result may be made of images of so many channels."""
        if not self.fill_lengths <= {channels}:
            return False
        return channels == _RGB or (channels <= LIMITS.MOST_CHANNELS and self._sink.output.color != "bgr")

    def leaves(self, channels: int) -> bool:
        """Whether the output is made of images of so many channels: else steps in Python say first what they take."""
        try:
            self._sink.numbers(channels)
        except DataError:
            return False
        return True

    def _begin(
        self, epoch: int, channels: int, strides: Sequence[int] = (0, 0, 0), kind: int = 0, *, raw: bool = True
    ) -> None:
        """Say what samples come next, and where they are written; `raw`: nowhere, or as images between two steps."""
        begun = epoch, channels, strides, kind, raw, self._room.numbers
        if begun == self._begun:
            return
        self._begun = begun
        native = (_RAW if raw else self._sink).numbers(channels)
        _HEAD.pack_into(
            self._plan, 0, self._seed, epoch, channels, *self._limits, kind, *strides,
            *native.four[0], *native.four[1], *self._room.numbers, self._at + _HEAD.size, self._count, 0,
        )  # fmt: skip

    def _begin_without_pixels(self, epoch: int, channels: int) -> None:
        """Say what samples come next, of which nothing is read or written: wherever the last ones were."""
        if self._begun[:2] != (epoch, channels):
            self._begin(epoch, channels)

    def _grow(self, size: int) -> None:
        """Have so many bytes to work in."""
        self._room.grow(size)
        _WORKSPACE.pack_into(self._plan, layout.PROGRAM.offset("decode"), *self._room.numbers)

    def _run(self, numbers: np.ndarray, owners: object = None) -> bool:
        """Carry out samples; those that lack memory to work in once more, with enough.

        `owners` have to live as long as addresses among the numbers are used. Whether all are done, and of one size.
        """
        del owners
        if not self._kernel(self._at, address_of(numbers), len(numbers)):
            return True
        while (most := int(numbers[:, ANSWER].max(initial=0))) > 0:
            self._grow(most)
            lack = numbers[:, ANSWER] > 0
            again = numbers[lack]
            self._kernel(self._at, address_of(again), len(again))
            numbers[lack] = again
        return False

    def _strides(self, out: np.ndarray, channels: int) -> tuple[int, Sequence[int]] | None:
        """Where results begin, in bytes; from row to row, pixel to pixel and channel to channel, in elements."""
        found = self._sink.numbers(channels).strides(out, channels) if out.flags.aligned else None
        return None if found is None else (found[0], found[2:])
