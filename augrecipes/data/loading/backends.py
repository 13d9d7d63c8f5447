"""The three ways of reading a pass, by one name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.utils.data import DataLoader

from augrecipes.compat.torch import end_workers, kept_pass
from augrecipes.data.batches.pool import Pool
from augrecipes.data.loading import allocator
from augrecipes.data.loading.budget import Budget
from augrecipes.data.loading.choice import Choice
from augrecipes.data.loading.fetch import Deliveries, FetchDataset, as_it_is
from augrecipes.data.loading.processes import Orders, Processes
from augrecipes.data.loading.sampler import BatchSchedule, Order
from augrecipes.data.loading.threads import Threads
from augrecipes.data.loading.worker import one_thread
from augrecipes.errors import LoaderError
from augrecipes.seeds import mix


class Readers:
    """The readers of a loader's passes: this thread, threads or processes, as its `Choice` says.

    Args:
        choice: which backend, with how many workers.
        dataset: to read.
        collate: makes batches.
        plan: of the loader.
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
        plan: BatchSchedule,
        budget: Budget,
        *,
        tune: bool,
        in_order: bool,
        timeout: float,
        options: Mapping[str, Any],
    ) -> None:
        self.plan, self._choice, self._budget, self._tune = plan, choice, budget, tune
        self._in_order, self._timeout, self._options = in_order, timeout, options
        self._pool = Pool()
        if choice.backend == "processes":  # each reads alone, and what they send is pinned by torch
            self._reader = FetchDataset(dataset, collate)
        else:
            pin, threads = options["pin_memory"], max(1, choice.workers)
            self._reader = FetchDataset(dataset, collate, readers=threads, pin=pin, empty=self._pool.empty)
        # A generator of its own: reading must neither use nor disturb the user's random numbers.
        self._generator = torch.Generator()
        self._processes: tuple[DataLoader[Any], Orders] | None = None

    def rest(self) -> None:
        """A pass is over: keep the memory of a few batches for the next one, and no more."""
        self._pool.clear(but=allocator.BATCH_BYTES if self._tune and allocator.wanted() else 0)

    def read(self, wanted: Iterator[Order], epoch: int) -> Deliveries:
        """The batches that `wanted` names, of a pass over `epoch`."""
        self._reader.tell(epoch)
        if self._choice.backend == "processes":
            inner, handed = self._processes or self._started()
            handed.begin(wanted)
            # Seeds what users' own code draws in workers: different in every epoch, equal in every run.
            self._generator.manual_seed(mix(self.plan.seed, epoch, self.plan.rank) >> 1)
            try:
                return Processes(inner)
            except LoaderError:
                self.close()
                raise
        if self._tune:
            allocator.tune()
        if self._choice.backend == "threads":
            return Threads(self._reader, wanted, self._budget, in_order=self._in_order, timeout=self._timeout)
        read = one_thread()(self._reader.__getitems__)
        return (read(order) for order in wanted)

    def give_up(self) -> None:
        """Leave a broken set of processes; the next pass starts new ones."""
        self._processes = None

    def close(self) -> None:
        """End processes that stayed; the next pass starts new ones."""
        kept, self._processes = self._processes, None
        if kept is not None and (passing := kept_pass(kept[0])) is not None:
            end_workers(passing)

    def _started(self) -> tuple[DataLoader[Any], Orders]:
        handed = Orders(self.plan.batches)
        inner: DataLoader[Any] = DataLoader(
            self._reader, batch_sampler=handed, collate_fn=as_it_is, generator=self._generator, **self._options
        )
        if inner.persistent_workers:
            self._processes = inner, handed
        return inner, handed
