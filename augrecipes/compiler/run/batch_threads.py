"""Threads that share a batch: each takes some samples, runs them, and comes back for more.

Each thread has its own copy of what holds state; the copy outlives the thread and serves the next. OpenCV's own
threads are switched off while ours work.
"""

import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, TypeVar

import cv2
import numpy as np

_MOST, _BYTES = 32, 1 << 22  # most images, and bytes of them, that a thread takes at once
_LEAST = 1 << 20  # least bytes of pixels that a thread takes: handing out less costs more than it balances
_FILE = 4  # a pixel that must be decoded takes about as long as so many in memory

Read = Callable[[int], dict[str, Any]]
T = TypeVar("T")


class BatchQueue:
    """Hands out the samples of a batch to threads, some at a time.

    Portions are large at first, for few calls, and small towards the end, so that no thread waits long for another's
    last portion (guided self-scheduling, Polychronopoulos and Kuck 1987).

    Args:
        count: number of samples.
        threads: number of threads.
        in_memory: all images are in memory already, so that portions are not limited in bytes.
    """

    def __init__(self, count: int, threads: int, *, in_memory: bool = False) -> None:
        self.count, self._next, self._bytes = count, itertools.count(), math.inf if in_memory else _BYTES
        self._threads, self._most = threads, min(_MOST, -(-count // threads))

    def take(self, read: Read) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the positions and targets of the next portion, in order; `read` gives the targets."""
        size = pixels = 0
        few = self._most
        for number in range(self._most):
            if size > self._bytes or (number >= few and pixels >= _LEAST) or (k := next(self._next)) >= self.count:
                return
            targets = read(k)
            size += sum(getattr(target, "nbytes", 0) for target in targets.values())
            if not number and self._threads > 1:
                few = 3 * (self.count - k) // (4 * self._threads)  # three quarters of a fair share
            pixels += _pixels(targets.get("image"))
            yield k, targets


def _pixels(image: Any) -> int:
    """The number of pixel values of an image, weighted by the work of decoding."""
    count = math.prod(getattr(image, "shape", ()) or (_LEAST,))
    return count if isinstance(image, np.ndarray) else _FILE * count


def busy_threads(threads: int, images: Sequence[Any]) -> int:
    """How many of `threads` a batch of images keeps busy: waking a thread takes as long as a few small images.

    >>> small = [np.zeros((32, 32, 3), np.uint8)] * 256
    >>> busy_threads(4, small), busy_threads(4, 3 * small), busy_threads(1, [])
    (1, 2, 1)
    """
    if threads < 2:
        return 1
    return max(1, min(threads, len(images), sum(map(_pixels, images)) // _LEAST))


def run_in_threads(work: Callable[[], None], threads: int) -> None:
    """Call `work` in `threads` threads, this one included, and wait for all.

    An exception of a thread is raised here; of several, that of the first thread.
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
        except BaseException as error:  # the other threads must end before the next batch uses the same memory
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
    """This process's pool of at least `count` threads; a fork does not inherit its parent's threads."""
    with _lock:
        size, pool = _pools.get(os.getpid(), (0, None))
        if pool is None or size < count:
            _pools.clear()
            pool = ThreadPoolExecutor(count, "augrecipes-batch")
            _pools[os.getpid()] = count, pool
        return pool


def _forget_pools() -> None:
    global _lock  # noqa: PLW0603  # a thread of the parent may hold it
    _lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


class ThreadCopies(Generic[T]):
    """A copy per thread. A thread with the identifier of an ended one inherits its copy.

    So copies survive threads that read one epoch each, since the system reuses identifiers. A forked process inherits
    none: the thread that may have been using a copy is not there to finish.
    """

    def __init__(self) -> None:
        self._copies: dict[tuple[int, int], T] = {}

    def of_this_thread(self, make: Callable[[], T]) -> T:
        """The calling thread's copy; `make` makes a missing one, and copies of ended threads are dropped."""
        key = os.getpid(), threading.get_ident()
        if key not in self._copies:
            threading.current_thread()  # registers a thread that C code started, so that `enumerate` lists it
            for ended in {*self._copies} - {(key[0], thread.ident or 0) for thread in threading.enumerate()}:
                self._copies.pop(ended, None)
            self._copies[key] = make()
        return self._copies[key]


class SingleThread:
    """A lock that many threads may hold at once; OpenCV's threads, one setting per process, are off meanwhile.

    The last `release` restores the user's setting, unless it was changed meanwhile.

    >>> before = cv2.getNumThreads()
    >>> cv2_single_thread.acquire(); cv2_single_thread.acquire(); cv2_single_thread.release(); cv2.getNumThreads()
    1
    >>> cv2_single_thread.release(); cv2.getNumThreads() == before
    True
    """

    def __init__(self) -> None:
        self._holders, self._before = 0, 1
        self._lock = threading.RLock()  # the garbage collector may release while another call is under way

    def acquire(self) -> None:
        """Switch OpenCV's threads off."""
        with self._lock:
            if not self._holders:
                self._before = cv2.getNumThreads()
                cv2.setNumThreads(0)
            self._holders += 1

    def release(self) -> None:
        """End an `acquire`; the last one switches OpenCV's threads on again."""
        with self._lock:
            self._holders -= 1
            if not self._holders and cv2.getNumThreads() == 1 != self._before:
                cv2.setNumThreads(self._before)

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: Any) -> None:
        self.release()


# Whatever works in threads of this process holds this lock.
cv2_single_thread = SingleThread()
