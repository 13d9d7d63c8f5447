"""Settings of who reads: one thread a worker, and an allocator that keeps its memory."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

import cv2
import torch

from augrecipes.compat.torch import end_feeders, from_worker, says_dead_worker, says_timeout
from augrecipes.data.loading.allocator import tune
from augrecipes.data.loading.orphan import end_with_parent
from augrecipes.errors import LoaderError


@dataclass(frozen=True)
class WorkerInit:
    """Runs once in every new worker, before the user's own `worker_init_fn`.

    It ends with its parent (torch itself looks every five seconds, and not while a sample is read), and with no thread
    that is still sending. OpenCV's and torch's threads are switched off (the workers are the parallelism, and a pool of
    threads does not survive a fork), and the allocator is tuned.

    Attributes:
        tune_allocator: whether it is.
        then: the user's own.
        leash: ends the worker when it can be read from.
    """

    tune_allocator: bool = True
    then: Callable[[int], None] | None = None
    leash: Connection | None = None

    def __call__(self, worker: int) -> None:
        """Settle in worker number `worker`."""
        end_with_parent(self.leash)
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


def dead_worker(error: Exception) -> LoaderError | None:
    """What torch's error about a lost worker means, or None where the error is about something else."""
    text = str(error)
    if from_worker(text):  # raised by the user's own code in a worker, and handed on by torch
        return None
    if says_timeout(text):
        return LoaderError(f"{text}; a sample took longer than timeout= allows, or a worker hangs")
    if isinstance(error, EOFError | ConnectionError | FileNotFoundError):
        # It died before its last batch was fetched from it.
        text = "the connection to it was lost"
    elif not says_dead_worker(text):
        return None
    return LoaderError(
        f"a worker died: {text.splitlines()[0]}\n"
        "Likely reasons: the system ran out of memory and killed it (use fewer workers, smaller batches or a lower "
        "prefetch_factor), /dev/shm is full, a library crashed, or, with spawn and forkserver, the script starts "
        'work at import: guard it with `if __name__ == "__main__":`. '
        "num_workers=0 runs the same samples in this process, where the reason shows."
    )
