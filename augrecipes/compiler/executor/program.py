"""Run a program: a batch of samples takes one call of the kernel `program`, or a few."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from augrecipes.compiler.executor.inputs import AnyImage, MappedImages, coded_window, is_ready, read_pixels, scales_of
from augrecipes.compiler.executor.program_buffer import (
    ANSWER,
    BEGIN,
    CHANGED,
    DECODED,
    END,
    FIELDS,
    FILE,
    KEY,
    MOVES,
    PIXELS,
    PIXELS_SIZE,
    REDUCE,
    REFUSED,
    RESULT_SIZE,
    SAMPLE,
    SIZE,
    STOP,
    TARGET,
    WINDOW,
    ProgramBuffer,
)
from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.errors import DataError
from augrecipes.native.kernels import address_of, as_requests, written_as

_UNSET = (0,) * 10  # a sample's file, result and window
_ONE_ROW = range(1)
_UINT8 = np.dtype(np.uint8)
# (shape, dtype of a result) → an array of results and the row of each sample; None: there is no memory for this size.
Rows = Callable[[tuple[int, ...], np.dtype[Any]], tuple[np.ndarray, Sequence[int]] | None]


class ExitReached(NamedTuple):
    """A sample at a step that albumentations runs: the step's place in the program, and the image."""

    place: int
    image: np.ndarray


class Program(ProgramBuffer):
    """Steps that the native kernel runs; see `ProgramBuffer` for the arguments. One thread at a time."""

    def run_batch(
        self,
        epoch: int,
        keys: Sequence[tuple[int, int]] | np.ndarray,
        images: Sequence[AnyImage] | MappedImages,
        rows: Rows,
        begin: int = END,
        exits: dict[int, ExitReached] | None = None,
        size: tuple[int, int] | None = None,
        free: bool = False,
        moves: np.ndarray | None = None,
    ) -> list[int] | None:
        """Run samples whose results have one size.

        Args:
            epoch: the epoch of all samples.
            keys: index and tile of each sample.
            images: their images, with equal numbers of channels; behind an exit, what the step at `begin` left of them.
            rows: gives memory for the results: (shape, dtype) → an array and the row of each sample, or None.
            begin: place of the step that ran last; END: none.
            exits: receives the samples that reach an exit, by position; None: these are left to Python.
            size: height and width of all results, if known and if all images are in memory.
            free: nobody else holds the one image: where no step changes it, it goes to `exits` at END, uncopied.
            moves: receives how the steps of each sample move places, see native/moves.h.

        Returns:
            Positions of the samples left to Python, whose images may be damaged; None where result sizes differ.
        """
        everything = [*range(len(images))]
        channels = _channels_of(images)
        if channels is None or not self.takes(channels):
            return everything
        numbers = _mapped_table(keys, images) if isinstance(images, MappedImages) else _table(keys, images, begin)
        if moves is not None:
            numbers[:, MOVES] = address_of(moves) + np.arange(len(moves)) * moves.strides[0]
        ready = everything
        if same_size := size is not None:
            numbers[:, RESULT_SIZE] = size
        else:  # without pixels: sizes, windows and exits
            self._begin_without_pixels(epoch, channels)
            same_size = self._run(numbers)
        if not same_size:
            if exits is not None:
                self._make_exits(numbers, epoch, channels, images, exits)
                if len(exits) == len(images):
                    return everything
            ready = np.flatnonzero((numbers[:, ANSWER] == 0) & (numbers[:, STOP] == END)).tolist()
            if not ready:
                return everything
            if (numbers[ready, RESULT_SIZE] != numbers[ready[0], RESULT_SIZE]).any():
                return None
        elif free and exits is not None and not numbers[0, CHANGED] and self._sink.is_identity(images[0].dtype):  # type: ignore[index]
            exits[0] = ExitReached(END, images[0])  # type: ignore[index, arg-type]  # an array alone is free
            return everything
        if not self.leaves(channels):
            return everything
        height, width = size or numbers[ready[0], RESULT_SIZE].tolist()
        if (memory := rows(self._sink.shape(height, width, channels), self._sink.dtype)) is None:
            return None
        out, at = memory
        if (strides := self._strides(out, channels)) is None:  # kernels cannot write with these strides
            plain = np.empty((len(at), *out.shape[1:]), out.dtype)
            failed = self.run_batch(epoch, keys, images, lambda *_: (plain, range(len(at))), begin)
            out[at] = plain
            return failed
        start = address_of(out) + strides[0]
        numbers[:, TARGET] = start if len(at) == 1 and not at[0] else np.asarray(at) * out.strides[0] + start
        head = epoch, channels, strides[1], written_as(out)
        if not same_size:
            numbers[[*{*everything}.difference(ready)], ANSWER] = REFUSED
        if self._make(numbers, images, ready, head, out):
            return []
        return np.flatnonzero(numbers[:, ANSWER]).tolist()

    def note_moves(self, key: tuple[int, int, int], image: AnyImage, moves: np.ndarray) -> bool:
        """Write to `moves` how the steps of a sample move places, without pixels; False if an exit hides the rest."""
        numbers = _table([key[1:]], [image], END)
        numbers[0, MOVES] = address_of(moves)
        self._begin_without_pixels(key[0], image.shape[2])
        return self._run(numbers)

    def run_one(
        self,
        epoch: int,
        index: int,
        tile: int,
        image: AnyImage,
        allocate: Allocate,
        begin: int = END,
        free: bool = False,
    ) -> np.ndarray | ExitReached | None:
        """Run one sample and return its result, or the exit that it reaches; None where Python has to run it.

        `allocate(shape, dtype)` gives the memory of the result; a `free` image that no step changes is the result.
        """
        exits = dict[int, ExitReached]()
        result: Any = None

        def rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[np.ndarray, Sequence[int]]:
            nonlocal result
            result = allocate(shape, dtype)
            return result[None], _ONE_ROW

        if self.run_batch(epoch, [(index, tile)], [image], rows, begin, exits, free=free) == []:
            return result
        reached = exits.get(0)
        return reached.image if reached is not None and reached.place == END else reached

    def _make(self, numbers: np.ndarray, images: Any, ready: list[int], head: tuple[Any, ...], out: np.ndarray) -> bool:
        """Write the results; `head`: arguments of `_begin`. True if all are done; otherwise see column ANSWER."""
        if all(numbers[:, PIXELS.start].tolist()):
            self._begin(*head, raw=False)
            return self._run_some(numbers, ready, (out, images))
        numbers[ready, ANSWER] = REFUSED
        windows, reduces = numbers[:, WINDOW].tolist(), numbers[:, REDUCE].tolist()
        coded = {k: coded_window(images[k], windows[k]) for k in ready if reduces[k] == 1}
        parts = {k: part for k, part in coded.items() if part is not None}
        if parts:
            numbers[[*parts], PIXELS] = [(*part.lies(), *windows[k][:2]) for k, part in parts.items()]
            numbers[[*parts], FILE], files = as_requests([*parts.values()])
            self._room.decode(parts[min(parts)].codec, int(numbers[:, DECODED].max()))
            self._begin(*head, raw=False)
            try:
                self._run_some(numbers, [*parts], (out, files))
            finally:
                self._room.decoded()
        for k in ready:
            if k not in parts:
                self._make_read(numbers[k : k + 1], images[k], head, out)
        return False

    def _make_read(self, row: np.ndarray, image: AnyImage, head: tuple[Any, ...], out: np.ndarray) -> None:
        """Write the result of one sample whose pixels Python decodes or copies."""
        try:
            pixels = self._read(row, image, *head[:2])
        except DataError:  # Python runs this sample again and raises it there
            return
        if pixels is not None:
            self._begin(*head, raw=False)
            self._run(row, (out, pixels))

    def _read(self, row: np.ndarray, image: AnyImage, epoch: int, channels: int) -> np.ndarray | None:
        """Read the pixels that a sample needs and enter their address in its row; None for an unknown window."""
        reduce = int(row[0, REDUCE])
        if reduce > 1 and reduce not in scales_of(image):
            self._begin_without_pixels(epoch, channels)
            target, row[0, TARGET], row[0, REDUCE] = int(row[0, TARGET]), 0, 1
            self._run(row)
            row[0, TARGET], reduce = target, 1
        if (found := read_pixels(image, row[0, WINDOW].tolist(), reduce)) is None:
            return None
        pixels, top, left = found
        row[0, PIXELS] = address_of(pixels), pixels.strides[0], top, left
        row[0, PIXELS_SIZE : PIXELS_SIZE + 2] = pixels.shape[:2]
        return pixels

    def _make_exits(
        self, numbers: np.ndarray, epoch: int, channels: int, images: Any, exits: dict[int, ExitReached]
    ) -> None:
        """Compute the image of each sample that stops at an exit, as the step there will see it."""
        for k, sample in enumerate(numbers.tolist()):
            stop, changed = sample[STOP], sample[CHANGED]
            if sample[ANSWER] or stop not in self.opaque:
                continue
            row, image = numbers[k : k + 1], images[k]
            if not changed and isinstance(image, np.ndarray):
                exits[k] = ExitReached(stop, image)
                continue
            height, width = sample[RESULT_SIZE] if changed else sample[SIZE]
            pixels = image if sample[PIXELS.start] else self._read(row, image, epoch, channels)
            if pixels is None:
                continue
            out = np.empty((height, width, channels), np.uint8)
            row[0, TARGET], row[0, RESULT_SIZE], row[0, STOP] = address_of(out), (height, width), stop
            self._begin(epoch, channels, (width * channels, channels, 1), written_as(out))
            self._run(row, (out, pixels))
            if not row[0, ANSWER]:
                exits[k] = ExitReached(stop, out)

    def _run_some(self, numbers: np.ndarray, positions: list[int], owners: object) -> bool:
        """Run the samples at `positions`, keeping `owners` alive meanwhile; True if these were all and all are done."""
        if len(positions) == len(numbers):
            return self._run(numbers, owners)
        some = numbers[positions]
        self._run(some, owners)
        numbers[positions] = some
        return False


def _channels_of(images: Sequence[AnyImage] | MappedImages) -> int | None:
    """The number of channels of all images; None where they differ."""
    if isinstance(images, MappedImages):
        channels = images.shapes[:, 2]
        return int(channels[0]) if (channels == channels[0]).all() else None
    channels = images[0].shape[2]
    return channels if len(images) == 1 or all(image.shape[2] == channels for image in images) else None


def _table(keys: Sequence[tuple[int, int]] | np.ndarray, images: Sequence[AnyImage], begin: int) -> np.ndarray:
    """The kernel's table of samples, int64 (n, FIELDS), with the addresses of images that it can read in place."""
    packed = bytearray()
    for (index, tile), image in zip(keys, images, strict=True):
        rows, columns, _ = image.shape
        at, down, reduce = 0, 0, 1
        if is_ready(image):
            at, down = address_of(image), image.strides[0]
        elif scales_of(image):
            reduce = 0  # it may be decoded smaller
        packed += SAMPLE.pack(index, tile, rows, columns, at, down, 0, 0, *_UNSET, begin, END, 0, 0, reduce, 0, 0, 0)
    return np.frombuffer(packed, np.int64).reshape(-1, FIELDS)


def _mapped_table(keys: Sequence[tuple[int, int]] | np.ndarray, images: MappedImages) -> np.ndarray:
    """The same table for mapped images, which begin at the first step."""
    numbers = np.zeros((len(images), FIELDS), np.int64)
    numbers[:, KEY] = np.asarray(keys, np.uint64).view(np.int64)
    numbers[:, SIZE], numbers[:, PIXELS] = images.shapes[:, :2], images.lie
    numbers[:, BEGIN], numbers[:, STOP], numbers[:, REDUCE] = END, END, 1
    return numbers
