"""A pass: one run over the batches of an epoch, read by this thread, by threads or by processes.

Files of stores elsewhere are fetched in the order in which the epoch will need them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader

from augrecipes import machine, seeds
from augrecipes.compat.torch import end_workers, persistent_iterator
from augrecipes.compiler.run.opencv_threads import cv2_single_thread
from augrecipes.data import batching, reader_plan, state, threads
from augrecipes.data.collate import AnyCollate
from augrecipes.data.fetch import FetchDataset
from augrecipes.data.order import BatchSchedule, Order, orders
from augrecipes.data.processes import Orders, Processes, unchanged
from augrecipes.errors import LoaderError
from augrecipes.store.cache import SIZE, ReadAhead

_log = logging.getLogger("augrecipes")


@dataclass(eq=False)
class ReaderBackend:
    """The readers of a loader's passes: this thread, threads or processes, as its `ReaderPlan` says.

    Args:
        plan: which backend, with how many workers.
        dataset: to read.
        collate: makes batches.
        budget: how far threads read ahead.
        tune: the allocator, where batches are read in this process.
        in_order: hand out batches in order.
        timeout: seconds to wait for a batch; 0: for ever.
        options: of the DataLoader that keeps processes.
    """

    plan: reader_plan.ReaderPlan
    dataset: Any
    collate: AnyCollate
    budget: threads.Budget
    tune: bool
    in_order: bool
    timeout: float
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        self.pool = batching.Pool()
        processes = self.plan.backend == "processes"  # each reads alone, and what they send is pinned by torch
        self.reader = FetchDataset(
            self.dataset,
            self.collate,
            readers=1 if processes else max(1, self.plan.workers),
            pin=self.options["pin_memory"] and not processes,
            empty=batching.empty if processes else self.pool.empty,
        )
        # A generator of its own: reading must neither use nor disturb the user's random numbers.
        self._generator = torch.Generator()
        self._orders = Orders()
        self._workers: DataLoader[Any] | None = None

    def read(self, schedule: BatchSchedule, start: state.EpochProgress) -> Any:
        """The batches of an epoch from `start` on, each a `Delivery`; what reads ahead has a `close`."""
        self.reader.set_epoch(start.epoch)
        wanted = with_files_ahead(self.dataset, orders(schedule, start.epoch, start.read))
        if self.plan.backend == "processes":
            if (workers := self._workers) is None:
                own: Any = {"batch_sampler": self._orders, "collate_fn": unchanged, "generator": self._generator}
                workers = DataLoader(self.reader, **{**self.options, **own})
            self._workers, self._orders.next_pass = workers if workers.persistent_workers else None, wanted
            # Seeds what users' own code draws in workers: different in every epoch, equal in every run.
            self._generator.manual_seed(seeds.mix(schedule.seed, start.epoch, schedule.rank) >> 1)
            try:
                return Processes(workers)
            except LoaderError:
                self.close()
                raise
        if self.tune:
            machine.tune_allocator()
        if self.plan.backend == "threads":
            return threads.Threads(self.reader, wanted, self.budget, in_order=self.in_order, timeout=self.timeout)
        read = single_threaded()(self.reader.__getitems__)
        return (read(order) for order in wanted)

    def release(self) -> None:
        """A pass is over: keep the memory of a few batches for the next one, and no more."""
        self.pool.clear(but=batching.BATCH_BYTES if self.tune and machine.allocator_is_tuned() else 0)

    def close(self) -> None:
        """End processes that stayed; the next pass starts new ones."""
        workers, self._workers = self._workers, None
        if workers is not None and (passing := persistent_iterator(workers)) is not None:
            end_workers(passing)


class EpochIterator(Iterator[Any]):
    """One pass of a loader over one epoch, or over what is left of it. Ends with its last batch or its first error.

    It begins with its first batch: Lightning asks for a pass, and says the epoch only then. One thread asks at a time.

    Args:
        position: of the loader; the pass moves it on.
        readers: of the loader.
    """

    def __init__(self, position: state.LoaderPosition, readers: ReaderBackend) -> None:
        self._position, self._readers, self._begun, self._lock = position, readers, False, threading.Lock()
        self._open()

    def _open(self) -> None:
        self._inner: Any = None  # what was read ahead ends, before other readers begin
        self._position.look()
        self._moves, self._progress, self._schedule = (
            self._position.moves,
            self._position.start,
            self._position.schedule,
        )
        self._inner = self._readers.read(self._schedule, self._progress)

    def _moved(self) -> bool:
        """Whether it was said, since the pass was opened, that it begins elsewhere."""
        self._position.look()
        return self._position.moves != self._moves and self._position.start != self._progress

    def __next__(self) -> Any:
        if not self._lock.acquire(blocking=False):
            raise LoaderError("another thread is reading this pass: begin one in each, or hand batches on by a Queue")
        try:
            return self._next()
        finally:
            self._lock.release()

    def _next(self) -> Any:
        if self._inner is None:
            raise StopIteration
        if not self._begun:
            self._begun = True
            if self._moved():
                self._open()
            self._position.begun(self._progress)
        try:
            delivery = self._inner.__next__()
            if (error := delivery.error) is not None:
                try:
                    raise error
                finally:
                    # An error whose traceback holds the error is a cycle, with the loader and its workers in it.
                    del error, delivery
        except StopIteration:
            self._inner = None
            self._position.finished(self._progress)
            self._readers.release()
            raise
        except BaseException:
            inner, self._inner = self._inner, None
            inner.close()
            self._readers.close()
            raise
        before = self._progress
        self._progress = state.EpochProgress(before.epoch, before.read + self._schedule.step)
        self._position.handed_out(before, self._progress, delivery.skipped)
        return delivery.batch


@contextmanager
def single_threaded() -> Iterator[None]:
    """OpenCV's and torch's threads are off inside the block, as in a worker.

    So a batch read in process equals one read in a worker; and threads that divide a small copy among them wait for
    each other, which on busy cores takes far longer than the copy.
    """
    torch_threads = torch.get_num_threads()
    with cv2_single_thread:
        if torch_threads != 1:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch_threads != 1:
                torch.set_num_threads(torch_threads)


def with_files_ahead(dataset: Any, wanted: Iterator[Order]) -> Iterator[Order]:
    """The orders of a pass; the files that they need are fetched by threads of this process from the first order on."""
    return _fetching(dataset, list(wanted)) if getattr(dataset, "fetches", False) else wanted


def _fetching(dataset: Any, orders: Sequence[Order]) -> Iterator[Order]:
    fetched = _read_ahead(dataset, orders)  # when the first order is asked for: workers that are forked have been
    try:
        yield from orders
    finally:
        fetched.end()


def _read_ahead(dataset: Any, orders: Sequence[Order]) -> ReadAhead:
    """Reads ahead what some orders need and is not here yet, in their order, where the cache has room for all of it."""
    store, needed = dataset.store, dict[str, tuple[int, Callable[[], object]]]()
    count = sum(len(items.shards.files) for items in store.tables.values())
    for order in orders:
        for name, size, fetch in dataset.files_for(order.epoch, order.indices):
            needed.setdefault(name, (size, fetch))
        if len(needed) == count:
            break
    room = store.fetched.cache.limit
    total = sum(size for size, _ in needed.values())
    if total > room:  # what was fetched too early would push out what is being read
        _log.warning(
            "this epoch reads %s bytes of stores elsewhere, and their cache has room for %s: files are fetched when "
            "they are read and, where the order is shuffled, again for almost every sample; give the cache more (%s or "
            "cache_size=)",
            f"{total:,}",
            f"{room:,}",
            SIZE,
        )
        return ReadAhead(())
    return ReadAhead(fetch for name, (size, fetch) in needed.items() if not store.fetched.has(name, size))
