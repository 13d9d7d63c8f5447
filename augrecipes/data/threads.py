"""Batches read by threads of the user's process. All threads work on the batch that is due first."""

import atexit
import os
import queue
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from augrecipes.compiler.run.batch_threads import cv2_single_thread
from augrecipes.data.fetch import Delivery, FetchDataset, PendingBatch
from augrecipes.data.order import BatchRequest
from augrecipes.errors import LoaderError

# How long a program that ends, or met an error, waits for samples that are being read.
_PATIENCE_SECONDS = 5.0


class ReaderPool:
    """A pool of threads that work on pieces of batches, first come, first served.

    The threads reference only the pool, so dropping the user's iterator ends them. OpenCV's threads are off while a
    pool lives, and torch's in its threads.

    Args:
        count: number of threads.
        device: the GPU to pin memory for, if any; without it, pinning would initialise the first one.

    Attributes:
        process: the process of the threads; a fork of it has none of them.
    """

    def __init__(self, count: int, device: int | None = None) -> None:
        self._device = device
        self._pieces: queue.SimpleQueue[tuple[PendingBatch, range] | None] = queue.SimpleQueue()
        self.done: queue.SimpleQueue[tuple[int, Delivery | BaseException]] = queue.SimpleQueue()
        self._stopped, self.process = False, os.getpid()
        ready = threading.Barrier(count + 1)
        self._threads = [
            threading.Thread(target=self._work, args=(ready,), name=f"augrecipes-reader-{k}", daemon=True)
            for k in range(count)
        ]
        torch_threads = torch.get_num_threads()
        cv2_single_thread.acquire()
        try:
            for thread in self._threads:
                thread.start()
            ready.wait()
        except BaseException:
            ready.abort()
            cv2_single_thread.release()
            raise
        # torch gives later threads the number that any thread set last: restore the user's.
        torch.set_num_threads(torch_threads)
        _pools.add(self)

    def add(self, batch: PendingBatch) -> None:
        """Queue a batch; its number and its delivery, or the error that was raised, arrive in `done`."""
        for piece in batch.pieces:
            self._pieces.put((batch, piece))

    def stop(self) -> None:
        """Let the threads end after their current samples. May be called repeatedly, and from any thread."""
        # After a fork the threads belong to the parent.
        if self._stopped or os.getpid() != self.process:
            return
        self._stopped = True
        for _ in self._threads:
            self._pieces.put(None)
        cv2_single_thread.release()

    def join(self, seconds: float = _PATIENCE_SECONDS) -> None:
        """Wait for stopped threads, for a limited time, since reading a sample may take forever."""
        until = time.monotonic() + seconds
        for thread in self._threads:
            if os.getpid() == self.process and thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    def _work(self, ready: threading.Barrier) -> None:
        torch.get_num_threads()  # the first call in a thread resets the number, so it must precede the next line
        torch.set_num_threads(1)
        try:
            ready.wait()
        except threading.BrokenBarrierError:
            return
        while (job := self._pieces.get()) is not None and not self._stopped:
            batch, piece = job
            try:
                if self._device is not None:
                    torch.cuda.set_device(self._device)
                if batch.work(piece):
                    self.done.put((batch.number, batch.delivery()))
            except BaseException as error:  # raised again in the user's thread
                self.done.put((batch.number, error))
            del batch, job  # do not keep a batch in memory while waiting for the next


_pools: weakref.WeakSet[ReaderPool] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    pools = list(_pools)
    for pool in pools:
        pool.stop()
    for pool in pools:
        pool.join()


class Budget:
    """The number of batches that may be in flight: being read, or waiting for the user.

    Before the first batch it is `first`; then as many as fit into `limit` bytes if each is as large as the largest so
    far, but at least one, and at most `most`.

    >>> budget = Budget(1000, most=8)
    >>> budget.allowed()
    1
    >>> budget.add({"image": torch.zeros(300, dtype=torch.uint8)})
    >>> budget.allowed()
    3
    """

    def __init__(self, limit: int, most: int, *, first: int = 1) -> None:
        self._limit, self._most, self._first, self._largest = limit, most, first, 0

    def allowed(self) -> int:
        """The number of batches that may be in flight now."""
        return max(1, min(self._most, self._limit // self._largest if self._largest else self._first))

    def add(self, batch: Any) -> None:
        """Note the size of a batch that was read."""
        self._largest = max(self._largest, size_of(batch), 1)


def size_of(batch: Any) -> int:
    """The bytes of all tensors and arrays in a nested batch.

    >>> size_of({"image": torch.zeros(2, 3), "more": [np.zeros(4, np.uint8)], "path": ["a"]})
    28
    """
    if isinstance(batch, torch.Tensor | np.ndarray):
        return batch.nbytes
    if isinstance(batch, Mapping):
        return sum(map(size_of, batch.values()))
    return sum(map(size_of, batch)) if isinstance(batch, Sequence) and not isinstance(batch, str | bytes) else 0


class Threads(Iterator[Delivery]):
    """The deliveries of a pass, read by threads.

    Args:
        reader: reads the batches.
        requests: the requests for the batches.
        budget: limits the batches in flight.
        in_order: deliver in the order of `requests`; else as soon as a batch is done.
        timeout: seconds to wait for a batch; 0: forever.
    """

    def __init__(
        self, reader: FetchDataset, requests: Iterator[BatchRequest], budget: Budget, *, in_order: bool, timeout: float
    ) -> None:
        self._reader, self._requests, self._budget = reader, requests, budget
        self._in_order, self._timeout = in_order, timeout or None
        self._in_flight: list[int] = []
        self._done: dict[int, Delivery | BaseException] = {}
        self._pool = ReaderPool(reader.readers, torch.cuda.current_device() if reader.pin else None)
        self._end = weakref.finalize(self, self._pool.stop)
        self._end.atexit = False  # `_end_all` stops the pool at exit, and waits

    def __next__(self) -> Delivery:
        if os.getpid() != self._pool.process:
            raise LoaderError("threads of another process read this pass, which was forked: begin one here, by iter()")
        self._submit()
        if not self._in_flight:
            self.close()
            raise StopIteration
        number = self._wait()
        self._in_flight.remove(number)
        outcome = self._done.pop(number)
        if isinstance(outcome, BaseException):
            self.close()
            try:
                raise outcome
            finally:
                del outcome  # breaks the cycle of error, traceback and this frame
        self._budget.add(outcome.batch)
        if outcome.error is None:
            self._submit()  # read ahead while the user works with this batch
        return outcome

    def close(self) -> None:
        """End the threads."""
        self._end()
        self._pool.join()

    def _submit(self) -> None:
        while len(self._in_flight) < self._budget.allowed() and (request := next(self._requests, None)) is not None:
            self._in_flight.append(request.number)
            self._pool.add(PendingBatch(self._reader, request))

    def _wait(self) -> int:
        """Wait for the next batch to deliver; return its number."""
        while True:
            due = self._in_flight[:1] if self._in_order else [*self._done]
            if due and due[0] in self._done:
                return due[0]
            try:
                number, outcome = self._pool.done.get(timeout=self._timeout)
            except queue.Empty:
                raise LoaderError(
                    f"timed out after {self._timeout} seconds; a sample took longer than timeout= allows, or hangs"
                ) from None
            self._done[number] = outcome
