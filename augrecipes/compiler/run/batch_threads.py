"""Threads that share a batch: each takes some of its images, makes them by itself, and comes back for more.

What holds state each thread has a copy of, kept for the thread that comes after.
"""

import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, TypeVar

import numpy as np

from augrecipes.compiler.run.opencv_threads import cv2_single_thread

_MOST, _BYTES = 32, 1 << 22  # images, and bytes of them, that are taken at once
_LEAST = 1 << 20  # bytes of pixels that threads take at least: handing out smaller work takes longer than what it evens
_FILE = 4  # times as long as on pixels in memory works who has to decode them

Read = Callable[[int], dict[str, Any]]
T = TypeVar("T")


class BatchQueue:
    """The numbers of the samples of a batch, some at a time, as threads ask for them.

    At first they are many, for few calls, and fewer towards the end (guided self-scheduling, Polychronopoulos and Kuck
    1987): no thread waits long for another's last ones.

    Args:
        count: of samples.
        threads: that share them.
        in_memory: all images are there anyway, so that only their number matters.
    """

    def __init__(self, count: int, threads: int, *, in_memory: bool = False) -> None:
        self.count, self._next, self._bytes = count, itertools.count(), math.inf if in_memory else _BYTES
        self._threads, self._most = threads, min(_MOST, -(-count // threads))

    def take(self, read: Read) -> Iterator[tuple[int, dict[str, Any]]]:
        """The next ones, in order, with the targets that `read` gives, until that is enough for once."""
        size = pixels = 0
        few = self._most
        for taken in range(self._most):
            if size > self._bytes or (taken >= few and pixels >= _LEAST) or (k := next(self._next)) >= self.count:
                return
            targets = read(k)
            size += sum(getattr(target, "nbytes", 0) for target in targets.values())
            if not taken and self._threads > 1:
                few = 3 * (self.count - k) // (4 * self._threads)  # of a fair share three quarters
            pixels += _pixels(targets.get("image"))
            yield k, targets


def _pixels(image: Any) -> int:
    """How many values of pixels an image is; of a file as many as take as long."""
    count = math.prod(getattr(image, "shape", ()) or (_LEAST,))
    return count if isinstance(image, np.ndarray) else _FILE * count


def busy_threads(threads: int, images: Sequence[Any]) -> int:
    """How many of these threads a batch of images keeps busy: to wake one takes as long as some small images.

    >>> small = [np.zeros((32, 32, 3), np.uint8)] * 256
    >>> busy_threads(4, small), busy_threads(4, 3 * small), busy_threads(1, [])
    (1, 2, 1)
    """
    if threads < 2:
        return 1
    return max(1, min(threads, len(images), sum(map(_pixels, images)) // _LEAST))


def run_in_threads(work: Callable[[], None], threads: int) -> None:
    """Call `work` in some threads, of which the first is this one, and wait for all.

    What is raised is raised here, of several the first thread's.
    """
    if threads == 1:
        work()
        return
    with cv2_single_thread:
        others: list[Future[None]] = []
        raised: BaseException | None = None
        try:
            others += [_pool(threads - 1).submit(work) for _ in range(threads - 1)]
            work()
        except BaseException as error:  # the others are at what the next batch takes
            raised = error
        while not all(other.done() for other in others):
            try:
                wait(others)
            except KeyboardInterrupt as error:
                raised = error
    for problem in (raised, *(other.exception() for other in others)):
        if problem is not None:
            raise problem


_pools: dict[int, tuple[int, ThreadPoolExecutor]] = {}
_lock = threading.Lock()


def _pool(count: int) -> ThreadPoolExecutor:
    """This process's threads, `count` at least; a fork has none of its parent's."""
    with _lock:
        size, pool = _pools.get(os.getpid(), (0, None))
        if pool is None or size < count:
            _pools.clear()
            pool = ThreadPoolExecutor(count, "augrecipes-batch")
            _pools[os.getpid()] = count, pool
        return pool


def _forget_pools() -> None:
    global _lock  # noqa: PLW0603  # a thread that the fork has left behind may hold it
    _lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


class ThreadCopies(Generic[T]):
    """Copies by threads. A thread that bears the number of one that has ended goes on with its copy.

    So they outlive threads that read one epoch each, of which the next ones bear the same numbers. After a fork none is
    taken over: the thread that was at it is not there to finish.
    """

    def __init__(self) -> None:
        self._copies: dict[tuple[int, int], T] = {}

    def of_this_thread(self, make: Callable[[], T]) -> T:
        """The copy of the thread that asks; `make` makes one where there is none, and those of no thread go."""
        key = os.getpid(), threading.get_ident()
        if key not in self._copies:
            threading.current_thread()  # asked for, threads that others have started are counted below, too
            for gone in {*self._copies} - {(key[0], thread.ident or 0) for thread in threading.enumerate()}:
                self._copies.pop(gone, None)
            self._copies[key] = make()
        return self._copies[key]
