"""Settings of who reads: one thread a worker, and an allocator that keeps its memory."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import cv2
import torch

from augrecipes.compat.torch import end_feeders
from augrecipes.data.loading.allocator import tune
from augrecipes.data.loading.orphan import end_with_parent


@dataclass(frozen=True)
class WorkerInit:
    """Runs once in every new worker, before the user's own `worker_init_fn`.

    It ends with its parent (torch itself looks every five seconds, and not while a sample is read), and with no thread
    that is still sending. OpenCV's and torch's threads are switched off (the workers are the parallelism, and a pool of
    threads does not survive a fork), and the allocator is tuned.

    Attributes:
        tune_allocator: whether it is.
        then: the user's own.
    """

    tune_allocator: bool = True
    then: Callable[[int], None] | None = None

    def __call__(self, worker: int) -> None:
        """Settle in worker number `worker`."""
        end_with_parent()
        atexit.register(end_feeders)
        cv2.setNumThreads(0)
        if self.tune_allocator:
            tune()
        if self.then is not None:
            self.then(worker)


@contextmanager
def one_thread() -> Iterator[None]:
    """OpenCV's and torch's threads are off inside the block, as in a worker.

    So a batch read in process equals one read in a worker; and threads that divide a small copy among them wait for
    each other, which on busy cores takes far longer than the copy.
    """
    before, of_torch = cv2.getNumThreads(), torch.get_num_threads()
    if before != 1:
        cv2.setNumThreads(0)
    if of_torch != 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if before != 1:
            cv2.setNumThreads(before)
        if of_torch != 1:
            torch.set_num_threads(of_torch)
