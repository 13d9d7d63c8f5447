"""Batches read by worker processes: torch's DataLoader, which is handed orders a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from torch.utils.data import DataLoader, Sampler

from augrecipes.data.budget import Budget
from augrecipes.data.fetch import Delivery
from augrecipes.data.sampler import Order
from augrecipes.data.worker import dead_worker


class Orders(Sampler[Any]):
    """The batch sampler of the DataLoader inside: says that there is nothing more while enough is under way.

    torch asks it for an order whenever a batch has arrived. It takes StopIteration for "not now" as long as some batch
    is under way, and so can be held back.

    Attributes:
        given: orders handed to workers in this pass, less the batches that were handed to the user.
    """

    def __init__(self, budget: Budget, batches: int) -> None:
        self.budget, self._batches = budget, batches
        self._orders: Iterator[Order] = iter(())
        self.given = 0

    def begin(self, orders: Iterator[Order]) -> None:
        """What the next pass reads."""
        self._orders, self.given = orders, 0

    def __iter__(self) -> Orders:
        return self

    def __next__(self) -> Order:
        if self.given >= self.budget.allowed():
            raise StopIteration
        order = next(self._orders)
        self.given += 1
        return order

    def __len__(self) -> int:
        return self._batches


class Processes(Iterator[Delivery]):
    """The deliveries of a pass, read by the workers of a DataLoader whose batch sampler is `orders`."""

    def __init__(self, inner: DataLoader[Any], orders: Orders) -> None:
        self._inner: Any = iter(inner)
        self._orders = orders

    def __next__(self) -> Delivery:
        try:
            delivery: Delivery = next(self._inner)
            self._orders.given -= 1
            self._orders.budget.saw(delivery.batch)
            self._hand_in()
        except (RuntimeError, EOFError, OSError) as error:
            known = dead_worker(error)
            if known is None:
                raise
            raise known from error
        return delivery

    def _hand_in(self) -> None:
        """Let torch ask for as many orders as may be under way."""
        given = -1
        while given != self._orders.given:
            given = self._orders.given
            if given < self._orders.budget.allowed():
                self._inner._try_put_index()

    def close(self) -> None:
        """End the workers."""
        end_workers(self._inner)


def end_workers(passing: Any) -> None:
    """End the workers of an iterator of torch's DataLoader now, not when the garbage collector gets to them.

    An error's traceback keeps the iterator in a cycle, and torch then waits five seconds for each worker, at any later
    moment, because the collector has closed their queues.
    """
    # torch's signal handler raises wherever the program is when it hears of a dead worker, here too.
    with suppress(RuntimeError):
        passing._shutdown_workers()
