"""How many of a crew's threads read at the same time: fewer where samples are so small that more are slower.

Around every call of a decoder or of OpenCV a thread gives up the interpreter's lock and asks for it again. Where the
calls are short, several threads pass it to and fro, and read less together than one does alone.
"""

from __future__ import annotations

import math
import threading

# Python holds its lock for about so many seconds of a sample. Samples that take more of each thread's time keep them
# all busy.
_SMALL_SECONDS = 0.0003
# How long a number of threads is measured, and after how many measurements others are tried again: then twice as many.
_MEASURED_SECONDS = 0.04
_KEPT = 32


class ActiveThreads:
    """Finds how many threads read small samples fastest, while they read: nothing that they read depends on it.

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
            if self.active < self.threads or self._cpu < _SMALL_SECONDS * self.threads * self._samples:
                self._found(self._seconds / self._samples / self.active)
            self._begin()

    def held_up(self, active: int) -> None:
        """So many threads wait for something else than the lock: a disk, or what is far away."""
        with self._lock:
            if active == self.active < self.threads:
                self._found(math.inf)
                self._begin()

    def _begin(self) -> None:
        self._samples, self._seconds, self._cpu = 0, 0.0, 0.0

    def _found(self, pace: float) -> None:
        """The number that reads now takes so many seconds a sample."""
        self._paces[self.active] = pace
        best = min(self._paces, key=self._paces.__getitem__)
        at = self._counts.index(best)
        untried = [count for count in self._counts[max(0, at - 1) : at + 2] if count not in self._paces]
        self.active = untried[0] if untried else best
        self._measured += not untried
        if self._measured == self._kept:  # what slowed the others down may be over
            self._paces, self._kept, self._measured = {best: self._paces[best]}, 2 * self._kept, 0
