"""Batches read by threads of the user's own process. All threads work on the batch that is due first."""

from __future__ import annotations

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

from augrecipes.compiler.run.opencv_threads import cv2_single_thread
from augrecipes.data.fetch import Delivery, FetchDataset, PendingBatch
from augrecipes.data.order import Order
from augrecipes.errors import LoaderError

# How long an ending program, or one that has met an error, waits for samples that are being read.
_PATIENCE_SECONDS = 5.0


class ReaderPool:
    """Threads that work on pieces of batches, in the order in which they are handed in.

    Threads know the pool and nothing else, so whatever drops the iterator that the user holds ends them. OpenCV's
    threads are off while a pool lives, and torch's in its threads.

    Args:
        count: of threads.
        device: the GPU that they pin memory for, if any; else each would wake the first one.

    Attributes:
        process: that they belong to: one that is forked has none of them.
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
        of_torch = torch.get_num_threads()
        cv2_single_thread.acquire()
        try:
            for thread in self._threads:
                thread.start()
            ready.wait()
        except BaseException:
            ready.abort()
            cv2_single_thread.release()
            raise
        # What a thread sets for itself is also what torch gives to later threads of anyone: they get the user's again.
        torch.set_num_threads(of_torch)
        _pools.add(self)

    def add(self, batch: PendingBatch) -> None:
        """Hand in a batch; its number and its delivery come to `done`, or what was raised instead."""
        for piece in batch.pieces:
            self._pieces.put((batch, piece))

    def stop(self) -> None:
        """Let the threads end after the samples that they are reading. May be called again, and from anywhere."""
        # After a fork the threads are the other process's.
        if self._stopped or os.getpid() != self.process:
            return
        self._stopped = True
        for _ in self._threads:
            self._pieces.put(None)
        cv2_single_thread.release()

    def join(self, seconds: float = _PATIENCE_SECONDS) -> None:
        """Wait for stopped threads; not for ever, since reading a sample may."""
        until = time.monotonic() + seconds
        for thread in self._threads:
            if os.getpid() == self.process and thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    def _work(self, ready: threading.Barrier) -> None:
        torch.get_num_threads()  # a new thread's first word to torch sets its number, also after it was set
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
            except BaseException as error:  # whatever it is, the user's own thread is to have it
                self.done.put((batch.number, error))
            del batch, job  # else the thread keeps a batch in memory until it gets the next


_pools: weakref.WeakSet[ReaderPool] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    pools = list(_pools)
    for pool in pools:
        pool.stop()
    for pool in pools:
        pool.join()


class Budget:
    """Says how many batches may be under way: being read, or waiting to be handed out.

    Before the first batch is seen that is `first`; then as many as fit into `limit` bytes, were each as large as the
    largest so far, but at least one, and at most `most`.

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
        """Batches that may be under way now."""
        return max(1, min(self._most, self._limit // self._largest if self._largest else self._first))

    def add(self, batch: Any) -> None:
        """A batch has arrived."""
        self._largest = max(self._largest, size_of(batch), 1)


def size_of(batch: Any) -> int:
    """Bytes of the tensors and arrays in a batch, however they are nested.

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
        orders: names them.
        budget: says how many may be under way.
        in_order: hand them out in the order of `orders`; else as they are done.
        timeout: seconds to wait for a batch; 0: for ever.
    """

    def __init__(
        self, reader: FetchDataset, orders: Iterator[Order], budget: Budget, *, in_order: bool, timeout: float
    ) -> None:
        self._reader, self._orders, self._budget = reader, orders, budget
        self._in_order, self._timeout = in_order, timeout or None
        self._under_way: list[int] = []
        self._done: dict[int, Delivery | BaseException] = {}
        self._pool = ReaderPool(reader.readers, torch.cuda.current_device() if reader.pin else None)
        self._end = weakref.finalize(self, self._pool.stop)
        self._end.atexit = False  # _end_all does that, and waits

    def __next__(self) -> Delivery:
        if os.getpid() != self._pool.process:
            raise LoaderError("threads of another process read this pass, which was forked: begin one here, by iter()")
        self._hand_in()
        if not self._under_way:
            self.close()
            raise StopIteration
        number = self._wait()
        self._under_way.remove(number)
        outcome = self._done.pop(number)
        if isinstance(outcome, BaseException):
            self.close()
            try:
                raise outcome
            finally:
                del outcome  # its traceback holds this frame
        self._budget.add(outcome.batch)
        if outcome.error is None:
            self._hand_in()  # they read on while the user works with this batch
        return outcome

    def close(self) -> None:
        """End the threads."""
        self._end()
        self._pool.join()

    def _hand_in(self) -> None:
        while len(self._under_way) < self._budget.allowed() and (order := next(self._orders, None)) is not None:
            self._under_way.append(order.number)
            self._pool.add(PendingBatch(self._reader, order))

    def _wait(self) -> int:
        """The number of the batch to hand out."""
        while True:
            due = self._under_way[:1] if self._in_order else [*self._done]
            if due and due[0] in self._done:
                return due[0]
            try:
                number, outcome = self._pool.done.get(timeout=self._timeout)
            except queue.Empty:
                raise LoaderError(
                    f"timed out after {self._timeout} seconds; a sample took longer than timeout= allows, or hangs"
                ) from None
            self._done[number] = outcome
