"""A pass: one run over the batches of an epoch, read by this thread, by threads or by processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import cv2
import torch
from torch.utils.data import DataLoader

from augrecipes.compat.torch import end_workers, kept_pass
from augrecipes.data import allocator
from augrecipes.data.ahead import with_files_ahead
from augrecipes.data.choice import Choice
from augrecipes.data.fetch import Deliveries, FetchDataset
from augrecipes.data.memory import Pool
from augrecipes.data.order import BatchSchedule, orders
from augrecipes.data.pacing import Budget
from augrecipes.data.processes import Orders, Processes, as_it_is
from augrecipes.data.state import EpochProgress, LoaderPosition
from augrecipes.data.threads import Threads
from augrecipes.errors import LoaderError
from augrecipes.seeds import mix


class Readers:
    """The readers of a loader's passes: this thread, threads or processes, as its `Choice` says.

    Args:
        choice: which backend, with how many workers.
        dataset: to read.
        collate: makes batches.
        budget: how far threads read ahead.
        tune: the allocator, where batches are read in this process.
        in_order: hand out batches in order.
        timeout: seconds to wait for a batch; 0: for ever.
        options: of the DataLoader that keeps processes.
    """

    def __init__(
        self,
        choice: Choice,
        dataset: Any,
        collate: Callable[[list[Any]], Any],
        budget: Budget,
        *,
        tune: bool,
        in_order: bool,
        timeout: float,
        options: Mapping[str, Any],
    ) -> None:
        self._backend, self._budget, self._tune = choice.backend, budget, tune
        self._in_order, self._timeout = in_order, timeout
        self._pool = Pool()
        if choice.backend == "processes":  # each reads alone, and what they send is pinned by torch
            self._reader = FetchDataset(dataset, collate)
        else:
            pin, threads = options["pin_memory"], max(1, choice.workers)
            self._reader = FetchDataset(dataset, collate, readers=threads, pin=pin, empty=self._pool.empty)
        # A generator of its own: reading must neither use nor disturb the user's random numbers.
        self._generator = torch.Generator()
        self._options = {**options, "generator": self._generator}
        self._orders = Orders()
        self._workers: DataLoader[Any] | None = None

    def read(self, plan: BatchSchedule, start: EpochProgress) -> Deliveries:
        """The batches of an epoch from `start` on."""
        self._reader.tell(start.epoch)
        wanted = with_files_ahead(self._reader.dataset, orders(plan, start.epoch, start.read))
        if self._backend == "processes":
            how: Any = {"batch_sampler": self._orders, "collate_fn": as_it_is, **self._options}
            workers: DataLoader[Any] = DataLoader(self._reader, **how) if self._workers is None else self._workers
            self._workers, self._orders.next_pass = workers if workers.persistent_workers else None, wanted
            # Seeds what users' own code draws in workers: different in every epoch, equal in every run.
            self._generator.manual_seed(mix(plan.seed, start.epoch, plan.rank) >> 1)
            try:
                return Processes(workers)
            except LoaderError:
                self.close()
                raise
        if self._tune:
            allocator.tune()
        if self._backend == "threads":
            return Threads(self._reader, wanted, self._budget, in_order=self._in_order, timeout=self._timeout)
        read = one_thread()(self._reader.__getitems__)
        return (read(order) for order in wanted)

    def rest(self) -> None:
        """A pass is over: keep the memory of a few batches for the next one, and no more."""
        self._pool.clear(but=allocator.BATCH_BYTES if self._tune and allocator.wanted() else 0)

    def give_up(self) -> None:
        """Leave a broken set of processes; the next pass starts new ones."""
        self._workers = None

    def close(self) -> None:
        """End processes that stayed; the next pass starts new ones."""
        workers, self._workers = self._workers, None
        if workers is not None and (passing := kept_pass(workers)) is not None:
            end_workers(passing)


class Pass(Iterator[Any]):
    """One pass of a loader over one epoch, or over what is left of it. Ends with its last batch or its first error.

    It begins with its first batch: Lightning asks for a pass, and says the epoch only then.

    Args:
        position: of the loader; the pass moves it on.
        readers: of the loader.
    """

    def __init__(self, position: LoaderPosition, readers: Readers) -> None:
        self._position, self._readers, self._begun = position, readers, False
        self._open()

    def _open(self) -> None:
        self._inner: Deliveries | None = None  # what was read ahead ends, before other readers begin
        self._position.look()
        self._moves, self._progress, plan = self._position.moves, self._position.start, self._position.plan
        self._step, self._inner = plan.step, self._readers.read(plan, self._progress)

    def _moved(self) -> bool:
        """Whether it was said, since the pass was opened, that it begins elsewhere."""
        self._position.look()
        return self._position.moves != self._moves and self._position.start != self._progress

    def __next__(self) -> Any:
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
            self._readers.rest()
            raise
        except BaseException:
            inner, self._inner = self._inner, None
            self._readers.give_up()
            inner.close()
            raise
        before, self._progress = self._progress, EpochProgress(self._progress.epoch, self._progress.read + self._step)
        self._position.handed_out(before, self._progress, delivery.skipped)
        return delivery.batch


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
