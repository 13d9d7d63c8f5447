"""A program in memory: its ops and samples as `native/layout.def` lays them out, and the calls of its kernels.

Python runs whatever the kernels refuse, with the same draws, because these depend on the sample's key alone.
"""

import ctypes
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.sink import Sink
from augrecipes.errors import DataError
from augrecipes.native import layout
from augrecipes.native.kernels import Codec, Library, address_of
from augrecipes.native.op_numbers import LIMITS
from augrecipes.ops.native_op import EXIT, NativeOp
from augrecipes.recipe.model import UINT8_HWC
from augrecipes.seeds import MASK, mix, site_key


@dataclass(frozen=True, slots=True)
class Op:
    """A step of a program.

    Attributes:
        label: the label that keys its draws.
        shared: all tiles of a bag share its draw.
        p: it acts where its first draw is below this.
        numbers: what it draws and does.
        cell: side in px of the grid cells that a pair's step counts in.
        may_exit: it runs by itself, so that albumentations can run it in place of the kernels.
        forced: its group has chosen it, so that it acts whatever its first draw.
        turn: what is added to its first word from epoch to epoch where its draws alternate; otherwise 0.
    """

    label: str
    shared: bool
    p: float
    numbers: NativeOp
    cell: int = 1
    may_exit: bool = False
    forced: bool = False
    turn: int = 0


_LEAST, _KEPT = 1 << 16, 1 << 25  # bytes of scratch at first; most bytes of decoded pixels kept for the next batch


class Workspace:
    """Scratch memory and decoder of one thread.

    Attributes:
        numbers: the fields `decode` to `workspace` of a program's head (native/layout.def): addresses of the decoder,
            its memory and its pixels, and the pixels' size; address and size of the steps' scratch memory.
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
        """Allocate `size` bytes of scratch memory for the steps."""
        self._scratch = np.empty(size, np.uint8)
        self._number()

    def decode(self, codec: Codec, most: int) -> None:
        """Prepare to decode parts of files of at most `most` bytes of pixels each."""
        if self._memory is None:
            self._memory = codec.memory()
        if most > len(self._pixels):
            self._pixels = np.empty(most, np.uint8)
        self._codec = codec
        self._number()

    def decoded(self) -> None:
        """End decoding for now, and free pixels beyond what most images need."""
        self._codec = None
        if len(self._pixels) > _KEPT:
            self._pixels = np.empty(0, np.uint8)
        self._number()


_HEAD, _STEP, SAMPLE = layout.PROGRAM.struct, layout.STEP.struct, layout.SAMPLE.struct
_WORKSPACE = layout.PROGRAM.part("decode", "workspace")
_DRAW, _ARGUMENTS = layout.STEP.offset("draw"), layout.STEP.offset("arguments")  # the effect follows the draw
_EFFECT_ARGUMENTS = _ARGUMENTS + 8 * LIMITS.DRAW_ARGUMENTS
_SPENT = layout.PROGRAM.offset("spent")  # address of the counters of elapsed time; 0: none
_RGB = 3
# Columns of a sample: its key, its size, its pixels' address, the file that it is decoded from, ...
KEY, SIZE = layout.SAMPLE.places("index", "tile"), layout.SAMPLE.places("rows", "columns")
PIXELS, FILE = layout.SAMPLE.places("at", "left"), layout.SAMPLE.places("file", "decoded")
RESULT_SIZE, WINDOW = layout.SAMPLE.places("height", "width"), layout.SAMPLE.places("window", "window")
DECODED, TARGET, BEGIN, STOP, CHANGED, ANSWER, REDUCE, PIXELS_SIZE, MOVES = map(
    layout.SAMPLE.place, ("decoded", "target", "begin", "stop", "changed", "answer", "reduce", "tall", "moves")
)
FIELDS = layout.SAMPLE.size // 8  # columns of a sample
IDLE, REFUSED = 1, -1
END = -1  # no step: a sample begins here, and stops here once it has run through
_RAW = Sink(UINT8_HWC)  # for images between two steps


class ProgramBuffer:
    """Ops and output as the native kernels take them. One thread at a time.

    Args:
        kernels: the native kernels.
        steps: the ops, in order.
        sink: the pipeline's sink.
        seed: the pipeline's seed.
        most: pixels that an image may have between steps.
        labels: the images are masks.

    Attributes:
        labels: the label of each op; empty for ops between two steps.
        stops: labels of the exits: steps that only albumentations knows.
        opaque: the transforms at exits by place, and whether their group has chosen them.
        unmerged: labels of merged steps that run one by one.
        idle: all steps are exits, so that Python runs them faster without the program.
        writes: results are the recipe's output; otherwise uint8 H×W×C, which Python's sink converts.
        fill_lengths: the numbers of channels for which its fills have a value per channel.
        steps: its transforms (None between steps) and their ops.
        python_draws: by place, the steps whose draws depend on boxes; `take_python_draws` enters these draws.
        stained: by place, steps that use the stains of a slide or bag, and their ops: exits for samples without known
            stains, see `take_stains`.
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
        self._begun: tuple[Any, ...] = ()  # arguments of the last `_begin`

    def timed(self, charge: Callable[[list[int]], object]) -> None:
        """Call `charge` after each call of the kernel with the nanoseconds that it took.

        The list has an entry for each op, one for the end (pending work, and writing the result) and one for decoding.
        A group's entry is its choice alone. A deferred step, such as a crop, takes next to nothing; the step that does
        its work takes the time.
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
        """Enter what the steps of `python_draws` have drawn, where they have drawn."""
        for place, step in self.python_draws.items():
            if step.params:
                numbers, at = self._expected_draws[place](step.params), _HEAD.size + place * _STEP.size + _ARGUMENTS
                struct.pack_into(f"={len(numbers)}d", self._plan, at, *numbers)

    def take_stains(self, stains: Mapping[str, Any] | None) -> None:
        """Enter the stains of the next samples, by the method that estimated them; None: they are not known."""
        if stains is self._stains:
            return
        self._stains = stains
        for place, (step, numbers) in self.stained.items():
            op, arguments = EXIT, ()
            if stains is not None and step.source_method in stains:
                op, arguments = numbers, step.native_arguments(stains[step.source_method])
            at = _HEAD.size + place * _STEP.size
            struct.pack_into("=2q", self._plan, at + _DRAW, op.draw, op.effect)
            struct.pack_into(f"={len(arguments)}d", self._plan, at + _EFFECT_ARGUMENTS, *arguments)

    def resize_to(self, place: int, size: tuple[int, int]) -> None:
        """Set the height and width, px, that the resizing step at `place` produces."""
        struct.pack_into("=2d", self._plan, _HEAD.size + place * _STEP.size + _EFFECT_ARGUMENTS, *size)

    def drawn(
        self, epoch: int, keys: Sequence[tuple[int, int]], rows: int, columns: int
    ) -> Iterator[list[float] | None]:
        """What the first step draws in samples of `rows` × `columns` px: its numbers, or None where it does not act.

        Draws that the kernel refuses are NaN.
        """
        numbers, drawn = np.zeros((len(keys), FIELDS), np.int64), np.full((len(keys), LIMITS.DRAWN), np.nan)
        numbers[:, KEY], numbers[:, SIZE] = keys, (rows, columns)
        self._begin(epoch, 3)
        self._draws(self._at, numbers.ctypes.data, len(numbers), drawn.ctypes.data)
        for answer, row in zip(numbers[:, ANSWER].tolist(), drawn.tolist(), strict=True):
            yield None if answer == IDLE else [np.nan] * LIMITS.DRAWN if answer == REFUSED else row

    def takes(self, channels: int) -> bool:
        """Whether the program takes images of `channels` channels."""
        if not self.fill_lengths <= {channels}:
            return False
        return channels == _RGB or (channels <= LIMITS.MOST_CHANNELS and self._sink.output.color != "bgr")

    def leaves(self, channels: int) -> bool:
        """Whether the output takes images of `channels` channels; otherwise Python runs the steps and raises."""
        try:
            self._sink.numbers(channels)
        except DataError:
            return False
        return True

    def _begin(
        self, epoch: int, channels: int, strides: Sequence[int] = (0, 0, 0), kind: int = 0, *, raw: bool = True
    ) -> None:
        """Write the program's head: the next samples and where they go; `raw`: nowhere, or as images at an exit."""
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
        """Write the head for samples of which no pixel is read or written; the last target may stay."""
        if self._begun[:2] != (epoch, channels):
            self._begin(epoch, channels)

    def _grow(self, size: int) -> None:
        """Enlarge the scratch memory to `size` bytes."""
        self._room.grow(size)
        _WORKSPACE.pack_into(self._plan, layout.PROGRAM.offset("decode"), *self._room.numbers)

    def _run(self, numbers: np.ndarray, owners: object = None) -> bool:
        """Run samples, those that lacked scratch memory again with enough; True if all are done and of one size.

        `owners` are kept alive while the addresses in `numbers` are used.
        """
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
        """The offset of results in bytes; row, pixel and channel strides in elements. None: no kernel writes so."""
        strides = self._sink.numbers(channels).strides(out, channels) if out.flags.aligned else None
        return None if strides is None else (strides[0], strides[2:])
