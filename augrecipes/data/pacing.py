"""How much threads do at a time: how many of them read, and how many batches they may have under way."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from augrecipes.data.checks import count

# Python holds its lock for about so many seconds of a sample. Samples that take more of each thread's time keep them
# all busy.
_SMALL_SECONDS = 0.0003
# How long a number of threads is measured, and after how many measurements others are tried again: then twice as many.
_MEASURED_SECONDS = 0.04
_KEPT = 32
# What is read ahead at most unless `prefetch_bytes` says otherwise: eight batches of 256 float32 images of 224².
MOST_BYTES = 1 << 30

_log = logging.getLogger("augrecipes")


class ActiveThreads:
    """Finds how many threads read small samples fastest, while they read: nothing that they read depends on it.

    Around every call of a decoder or of OpenCV a thread gives up the interpreter's lock and asks for it again. Where
    the calls are short, several threads pass it to and fro, and read less together than one does alone.

    What is measured is the time from a sample's beginning to its end, which waiting for the interpreter's lock
    lengthens, divided by the number of threads. Half as many and twice as many as the best so far are tried.

    Args:
        threads: that there are.

    Attributes:
        active: how many read now; those with lower numbers.

    >>> turns = ActiveThreads(2)
    >>> turns.worked(0, 400, seconds=0.08, cpu=0.06)  # two read 400 samples in 40 ms
    >>> turns.active
    1
    >>> turns.worked(0, 800, seconds=0.04, cpu=0.04)  # one reads 800
    >>> turns.active
    1
    """

    def __init__(self, threads: int) -> None:
        self.threads = self.active = max(1, threads)
        self._counts = sorted({-(-self.threads >> k) for k in range(self.threads.bit_length())} | {1})
        self._lock = threading.Lock()
        self._paces: dict[int, float] = {}
        self._kept, self._measured = _KEPT, 0
        self._samples, self._seconds, self._cpu = 0, 0.0, 0.0

    def __reduce__(self) -> tuple[type[ActiveThreads], tuple[int]]:
        return ActiveThreads, (self.threads,)

    def worked(self, thread: int, samples: int, *, seconds: float, cpu: float) -> None:
        """A thread has read samples, which took it so long, and so much of a core's time."""
        if self.threads == 1:
            return
        with self._lock:
            if thread >= self.active:  # it began when there were more
                return
            self._samples, self._seconds, self._cpu = self._samples + samples, self._seconds + seconds, self._cpu + cpu
            if self._seconds < _MEASURED_SECONDS * self.active:
                return
            small = self._cpu < _SMALL_SECONDS * self.threads * self._samples
            pace = self._seconds / self._samples / self.active
            self._found(pace if small or self.active < self.threads else None)

    def held_up(self, active: int) -> None:
        """So many threads wait for something else than the lock: a disk, or what is far away."""
        with self._lock:
            if active == self.active < self.threads:
                self._found(math.inf)

    def _found(self, pace: float | None) -> None:
        """The number that reads now takes so many seconds a sample; None: it was not measured."""
        self._samples, self._seconds, self._cpu = 0, 0.0, 0.0
        if pace is None:
            return
        self._paces[self.active] = pace
        best = min(self._paces, key=self._paces.__getitem__)
        at = self._counts.index(best)
        untried = [count for count in self._counts[max(0, at - 1) : at + 2] if count not in self._paces]
        self.active = untried[0] if untried else best
        self._measured += not untried
        if self._measured == self._kept:  # what slowed the others down may be over
            self._paces, self._kept, self._measured = {best: self._paces[best]}, 2 * self._kept, 0


class Budget:
    """Says how many batches may be under way: being read, or waiting to be handed out.

    Before the first batch is seen that is `first`; then as many as fit into `limit` bytes, were each as large as the
    largest so far, but at least one, and at most `most`.

    Args:
        limit: bytes.
        most: batches.
        first: batches, while none has been seen.

    Attributes:
        largest: bytes of the largest batch so far.

    >>> budget = Budget(1000, most=8)
    >>> budget.allowed()
    1
    >>> budget.saw({"image": torch.zeros(300, dtype=torch.uint8)})
    >>> budget.allowed()
    3
    """

    def __init__(self, limit: int, most: int, *, first: int = 1) -> None:
        self.limit, self.most, self.first = limit, most, first
        self.largest: int | None = None

    def allowed(self) -> int:
        """Batches that may be under way now."""
        if self.largest is None:
            return min(self.first, self.most)
        return max(1, min(self.most, self.limit // max(self.largest, 1)))

    def saw(self, batch: Any) -> None:
        """A batch has arrived."""
        self.largest = max(self.largest or 0, size_of(batch))


def size_of(batch: Any) -> int:
    """Bytes of the tensors and arrays in a batch, however they are nested.

    >>> size_of({"image": torch.zeros(2, 3), "more": [np.zeros(4, np.uint8)], "path": ["a"]})
    28
    """
    if isinstance(batch, torch.Tensor):
        return batch.element_size() * batch.nelement()
    if isinstance(batch, np.ndarray):
        return batch.nbytes
    if isinstance(batch, Mapping):
        return sum(map(size_of, batch.values()))
    if isinstance(batch, str | bytes) or not isinstance(batch, Sequence):
        return 0
    if batch and isinstance(batch[0], str) and isinstance(batch[-1], str):  # names of files: of a few bytes, but many
        return 0
    return sum(map(size_of, batch))


def bytes_ahead(given: Any, backend: str) -> int:
    """How many bytes may be read ahead, which only threads heed, from what was given as `prefetch_bytes=`."""
    if given is not None and backend == "processes":
        _log.warning("prefetch_bytes is for threads: processes read prefetch_factor batches each ahead")
    return MOST_BYTES if given is None else count("prefetch_bytes", given, 1)
