"""Samples of a batch side by side: rows of an array for each target, made by one thread or several."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from augrecipes.compiler.executor.inputs import InMemory
from augrecipes.compiler.executor.program import Places
from augrecipes.compiler.run.image_queue import ImageQueue, in_threads
from augrecipes.errors import CollateError, DataError

_LABELS = np.dtype(np.int64)
Sample = dict[str, Any]
Read = Callable[[int], Sample]
Room = Callable[[str, tuple[int, ...], np.dtype[Any]], np.ndarray]


@dataclass(frozen=True, slots=True)
class BatchSamples:
    """Samples that are there together.

    Attributes:
        image: of each.
        mask: of each; None: there are none.
        others: what each has beside these, such as boxes; None: nothing.
    """

    image: Sequence[Any] | InMemory
    mask: Sequence[Any] | InMemory | None = None
    others: Sequence[Sample] | None = None

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> BatchSamples | None:
        """The targets of some samples; None where they have not the same."""
        names = samples[0].keys()
        if any(sample.keys() != names for sample in samples) or "image" not in names:
            return None
        others = None
        if names - {"image", "mask"}:
            others = [{n: v for n, v in sample.items() if n not in ("image", "mask")} for sample in samples]
        mask = [sample["mask"] for sample in samples] if "mask" in names else None
        return cls([sample["image"] for sample in samples], mask, others)

    def __len__(self) -> int:
        return len(self.image)

    def names(self) -> set[str]:
        """Of their targets."""
        return {"image", *(() if self.mask is None else ("mask",)), *(self.others[0] if self.others else ())}

    def image_of(self, k: int) -> Any:
        """That of one."""
        return _one(self.image, k)

    def sample(self, k: int) -> Sample:
        """The targets of one."""
        found = {"image": _one(self.image, k)}
        if self.mask is not None:
            found["mask"] = _one(self.mask, k)
        return found | (self.others[k] if self.others else {})


def _one(column: Sequence[Any] | InMemory, k: int) -> Any:
    return column.array(k) if isinstance(column, InMemory) else column[k]


class Lane(Protocol):
    """A pipeline of one thread."""

    def several(
        self, epoch: int, keys: Sequence[tuple[int, int]], samples: BatchSamples, places: Callable[[str], Places]
    ) -> tuple[list[int], dict[int, Sample]] | None:
        """See `ProgramPipeline.several`."""

    def sample(self, epoch: int, index: int, tile: int, targets: Sample, allocate: Any) -> Sample:
        """One sample."""


@dataclass
class SampleBatch:
    """A batch in the making: sample k becomes row k of an array for each target; masks of labels as int64.

    Attributes:
        epoch: of the draws.
        keys: index and tile of each sample.
        room: gives the memory for all of a target, (target, shape of one, dtype) → (n, *shape).
        failed: what was wrong, by place.
        out: all of them by target, once the size of one is known.
        others: what each sample has beside these, by place.
        uneven: they differ in size.
        stopped: no more of them are begun.
    """

    epoch: int
    keys: Sequence[tuple[int, int]]
    room: Room
    failed: dict[int, DataError] = field(default_factory=dict)
    out: dict[str, np.ndarray] = field(default_factory=dict)
    others: dict[int, Sample] = field(default_factory=dict)
    uneven: bool = False
    stopped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, lanes: Sequence[Lane], read: Read, *, held: bool = False, evened: bool = False) -> None:
        """Make them, in a thread a lane; the first is this one. They are the same whatever the number of threads.

        Args:
            lanes: a pipeline for each thread.
            read: gives the targets of a sample by its place; called from several threads. DataError: it is broken.
            held: all images are in memory anyway.
            evened: see `ImageQueue`.
        """
        turns = ImageQueue(len(self.keys), len(lanes), held=held, evened=evened)

        def kept(k: int) -> Sample:
            try:
                return read(k)
            except DataError as error:
                self.fail(k, error)
                return {}

        def work(lane: Lane) -> None:
            try:
                while not self.stopped and (found := dict(turns.take(kept))):
                    if samples := {k: sample for k, sample in found.items() if k not in self.failed}:
                        self._make(lane, samples)
            except BaseException:
                self.stopped = True
                raise

        in_threads(work, lanes)

    def _make(self, lane: Lane, samples: dict[int, Sample]) -> None:
        if (together := BatchSamples.of([*samples.values()])) is not None:
            self.make(lane, [*samples], together)
        else:
            for k, sample in samples.items():
                self._one(lane, k, sample)

    def make(self, lane: Lane, places: Sequence[int], samples: BatchSamples) -> None:
        """Make some that are there together."""

        def rows(name: str) -> Places:
            def of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[np.ndarray, Sequence[int]] | None:
                out = self.rows(name, shape, dtype)
                return None if out is None else (out, places)

            return of

        found = lane.several(self.epoch, [self.keys[k] for k in places], samples, rows)
        # Of several sizes one by one: some may fail, and would have had another size.
        left, others = ([*range(len(places))], {}) if found is None else found
        self.others |= {places[at]: rest for at, rest in others.items()}
        for at in left:
            self._one(lane, places[at], samples.sample(at))

    def _one(self, lane: Lane, k: int, sample: Sample) -> None:
        """A sample that is made in Python, or that somebody has to be blamed for."""
        try:
            done = lane.sample(self.epoch, *self.keys[k], sample, partial(self.row, k))
        except DataError as error:
            self.fail(k, error)
            return
        if "mask" in done:
            mask = done["mask"]
            out = self.rows("mask", mask.shape, mask.dtype if mask.dtype.kind == "f" else _LABELS)
            if out is None:
                self.uneven = self.stopped = True
            else:
                out[k] = mask
        self.others[k] = {name: value for name, value in done.items() if name not in ("image", "mask")}

    def fail(self, k: int, error: DataError) -> None:
        """One is broken."""
        self.failed[k] = error

    def row(self, k: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Memory for one image."""
        if (out := self.rows("image", shape, dtype)) is None:
            self.uneven = self.stopped = True
            return np.empty(shape, dtype)
        return out[k]

    def image(self) -> np.ndarray:
        """All images.

        Raises:
            DataError: what was wrong with the first that is broken.
            CollateError: they differ in size.
        """
        if self.failed:
            raise self.failed[min(self.failed)]
        if self.uneven or "image" not in self.out:
            raise CollateError("images come out with different sizes; end the recipe in a crop or resize of fixed size")
        return self.out["image"]

    def rows(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray | None:
        """The array for all of a target; None where it is one of another size."""
        with self._lock:
            if name not in self.out:
                self.out[name] = self.room(name, shape, dtype)
            out = self.out[name]
            return out if out.shape[1:] == shape and out.dtype == dtype else None
