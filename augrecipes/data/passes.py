"""A pass: one iteration over the batches of an epoch, read by this thread, by threads or by processes.

Files of remote stores are fetched in the order in which the epoch needs them.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader

from augrecipes import machine, seeds
from augrecipes.compat.torch import end_workers, persistent_iterator
from augrecipes.compiler.run.batch_threads import cv2_single_thread
from augrecipes.data import batching, reader_plan, state, threads
from augrecipes.data.collate import AnyCollate
from augrecipes.data.fetch import FetchDataset
from augrecipes.data.order import BatchRequest, BatchSchedule, batch_requests
from augrecipes.data.processes import Processes, RequestSampler, unchanged
from augrecipes.errors import LoaderError, logger
from augrecipes.store.cache import SIZE, ReadAhead


@dataclass(eq=False)
class ReaderBackend:
    """The readers of a loader's passes: this thread, threads or processes, as its `ReaderPlan` says.

    Args:
        plan: the backend and the number of workers.
        dataset: the dataset.
        collate: the collate function.
        budget: how far threads read ahead.
        tune: whether to tune the allocator of this process if it reads batches.
        in_order: deliver batches in order.
        timeout: seconds to wait for a batch; 0: forever.
        options: arguments of the DataLoader that runs worker processes.
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
        processes = self.plan.backend == "processes"  # each reads alone, and torch pins what they send
        self.reader = FetchDataset(
            self.dataset,
            self.collate,
            readers=1 if processes else max(1, self.plan.workers),
            pin=self.options["pin_memory"] and not processes,
            empty=batching.empty if processes else self.pool.empty,
        )
        # A generator of our own: reading must neither use nor disturb the user's random numbers.
        self._generator = torch.Generator()
        self._requests = RequestSampler()
        self._workers: DataLoader[Any] | None = None

    def read(self, schedule: BatchSchedule, start: state.EpochProgress) -> Any:
        """The deliveries of an epoch from `start` on; an iterator that reads ahead has a `close`."""
        self.reader.set_epoch(start.epoch)
        wanted = prefetch_files(self.dataset, batch_requests(schedule, start.epoch, start.read))
        if self.plan.backend == "processes":
            if (workers := self._workers) is None:
                own: Any = {"batch_sampler": self._requests, "collate_fn": unchanged, "generator": self._generator}
                workers = DataLoader(self.reader, **{**self.options, **own})
            self._workers, self._requests.next_pass = workers if workers.persistent_workers else None, wanted
            # Seeds the random numbers of users' code in workers: new in every epoch, equal in every run.
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
        return (read(request) for request in wanted)

    def release(self) -> None:
        """End a pass: keep the memory of a few batches for the next pass, and free the rest."""
        self.pool.clear(but=batching.BATCH_BYTES if self.tune and machine.allocator_is_tuned() else 0)

    def close(self) -> None:
        """End persistent worker processes; the next pass starts new ones."""
        workers, self._workers = self._workers, None
        if workers is not None and (iterator := persistent_iterator(workers)) is not None:
            end_workers(iterator)


class EpochIterator(Iterator[Any]):
    """One pass of a loader over one epoch, or the rest of it. It ends with its last batch or its first error.

    It counts from its first batch on: Lightning creates the iterator, and sets the epoch only then. It may be used by
    one thread at a time.

    Args:
        position: the loader's position, which the pass advances.
        readers: the loader's readers.
    """

    def __init__(self, position: state.LoaderPosition, readers: ReaderBackend) -> None:
        self._position, self._readers, self._is_started, self._lock = position, readers, False, threading.Lock()
        self._open()

    def _open(self) -> None:
        self._inner: Any = None  # drops readers that read ahead, before others start
        self._position.update()
        self._moves, self._progress, self._schedule = (
            self._position.moves,
            self._position.start,
            self._position.schedule,
        )
        self._inner = self._readers.read(self._schedule, self._progress)

    def _moved(self) -> bool:
        """Whether the loader was moved elsewhere since the pass was opened."""
        self._position.update()
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
        if not self._is_started:
            self._is_started = True
            if self._moved():
                self._open()
            self._position.begin(self._progress)
        try:
            delivery = self._inner.__next__()
            if (error := delivery.error) is not None:
                try:
                    raise error
                finally:
                    # Breaks the cycle of error, traceback and this frame, which would keep the loader alive.
                    del error, delivery
        except StopIteration:
            self._inner = None
            self._position.finish(self._progress)
            self._readers.release()
            raise
        except BaseException:
            inner, self._inner = self._inner, None
            inner.close()
            self._readers.close()
            raise
        before = self._progress
        self._progress = state.EpochProgress(before.epoch, before.read + self._schedule.step)
        self._position.advance(before, self._progress, delivery.skipped)
        return delivery.batch


@contextmanager
def single_threaded() -> Iterator[None]:
    """Switch off OpenCV's and torch's threads inside the block, as in a worker.

    So a batch read in this process equals one read in a worker. Besides, threads that share a small copy wait for each
    other, which on busy cores takes far longer than the copy.
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


def prefetch_files(dataset: Any, wanted: Iterator[BatchRequest]) -> Iterator[BatchRequest]:
    """The requests of a pass; from the first request on, threads of this process fetch the files that they need."""
    return _fetching(dataset, list(wanted)) if getattr(dataset, "fetches", False) else wanted


def _fetching(dataset: Any, requests: Sequence[BatchRequest]) -> Iterator[BatchRequest]:
    read_ahead = _read_ahead(dataset, requests)  # on the first request, after workers were forked
    try:
        yield from requests
    finally:
        read_ahead.end()


def _read_ahead(dataset: Any, requests: Sequence[BatchRequest]) -> ReadAhead:
    """Start fetching the missing files that some requests need, in order, if the cache has room for all of them."""
    store, needed = dataset.store, dict[str, tuple[int, Callable[[], object]]]()
    count = sum(len(items.shards.files) for items in store.tables.values())
    for request in requests:
        for name, size, fetch in dataset.files_for(request.epoch, request.indices):
            needed.setdefault(name, (size, fetch))
        if len(needed) == count:
            break
    room = store.fetched.cache.limit
    total = sum(size for size, _ in needed.values())
    if total > room:  # files fetched too early would evict those being read
        logger.warning(
            "this epoch reads %s bytes of stores elsewhere, and their cache has room for %s: files are fetched when "
            "they are read and, where the order is shuffled, again for almost every sample; give the cache more (%s or "
            "cache_size=)",
            f"{total:,}",
            f"{room:,}",
            SIZE,
        )
        return ReadAhead(())
    return ReadAhead(fetch for name, (size, fetch) in needed.items() if not store.fetched.has(name, size))
