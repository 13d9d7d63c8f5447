"""Batches read by worker processes: torch's DataLoader, which is handed orders a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from torch.utils.data import DataLoader, Sampler

from augrecipes.compat.torch import ask_for_more, end_workers, is_over, kept_pass
from augrecipes.data.loading.budget import Budget
from augrecipes.data.loading.fetch import Delivery
from augrecipes.data.loading.orphan import Leash
from augrecipes.data.loading.sampler import Order
from augrecipes.data.loading.worker import dead_worker
from augrecipes.errors import LoaderError

# A pass of fewer batches than this for each worker is over before it matters when they begin.
_WORTH_SPREADING = 10


class Orders(Sampler[Any]):
    """The batch sampler of the DataLoader inside: says that there is nothing more while enough is under way.

    torch asks it for an order whenever a batch has arrived. It takes StopIteration for "not now" as long as some batch
    is under way, and so can be held back.

    Workers that begin together are done together, and all through the pass batches would come in bursts of as many as
    there are workers. So each begins its first batch a little after the one before.

    Args:
        budget: says how many may be under way.
        batches: in a whole pass.
        workers: that the orders go to, in turns.
    """

    def __init__(self, budget: Budget, batches: int, workers: int) -> None:
        self.budget, self._batches, self._workers = budget, batches, workers
        self._worth = batches // _WORTH_SPREADING
        self._orders: Iterator[Order] = iter(())
        self._under_way = self._spread = 0

    def begin(self, orders: Iterator[Order]) -> None:
        """What the next pass reads."""
        self._orders, self._under_way, self._spread = orders, 0, 0

    def arrived(self, delivery: Delivery) -> None:
        """A batch is handed to the user."""
        self._under_way -= 1
        self.budget.saw(delivery.batch, delivery.seconds)

    def hand_out(self, ask: Callable[[], object]) -> None:
        """Let torch ask for as many orders as may be under way."""
        before = -1
        while before != self._under_way < self.budget.allowed():
            before = self._under_way
            ask()

    def __iter__(self) -> Orders:
        return self

    def __next__(self) -> Order:
        if self._under_way >= self.budget.allowed():
            raise StopIteration
        order = next(self._orders)
        self._under_way += 1
        if self.budget.seconds and self._spread < self._workers <= min(self._worth, self.budget.allowed()):
            order = order._replace(wait=self.budget.seconds * self._spread / self._workers)
            self._spread += 1
        return order

    def __len__(self) -> int:
        return self._batches


class Processes(Iterator[Delivery]):
    """The deliveries of a pass, read by the workers of a DataLoader whose batch sampler is `orders`."""

    def __init__(self, inner: DataLoader[Any], orders: Orders) -> None:
        self._inner: Any = iter(inner) if kept_pass(inner) else _begun(inner)
        self._orders = orders

    def __next__(self) -> Delivery:
        if is_over(self._inner):
            raise LoaderError("the loader was closed, and its workers are gone; begin another pass")
        try:
            delivery: Delivery = next(self._inner)
            self._orders.arrived(delivery)
            self._orders.hand_out(lambda: ask_for_more(self._inner))
        except (RuntimeError, EOFError, OSError) as error:
            known = dead_worker(error)
            if known is None:
                raise
            raise known from error
        return delivery

    def close(self) -> None:
        """End the workers."""
        end_workers(self._inner)


def _begun(inner: DataLoader[Any]) -> Any:
    """A DataLoader's iterator, with new workers, which end when nothing refers to it any more."""
    leash = Leash()
    inner.worker_init_fn = replace(inner.worker_init_fn, leash=leash.end)  # type: ignore[type-var]
    passing = iter(inner)
    leash.tie(passing)
    return passing
