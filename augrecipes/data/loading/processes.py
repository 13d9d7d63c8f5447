"""Batches read by worker processes: torch's DataLoader, which is handed orders, and errors that say who died."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch.utils.data import DataLoader, Sampler

from augrecipes.compat.torch import begun, end_workers, is_over, kept_pass, terminate, workers_of
from augrecipes.data.loading.deaths import dead_worker, the_dead
from augrecipes.data.loading.fetch import Delivery
from augrecipes.data.loading.sampler import Order
from augrecipes.errors import LoaderError


class Orders(Sampler[Any]):
    """The batch sampler of the DataLoader inside.

    Args:
        batches: in a whole pass.
    """

    def __init__(self, batches: int) -> None:
        self._batches = batches
        self._orders: Iterator[Order] = iter(())

    def begin(self, orders: Iterator[Order]) -> None:
        """What the next pass reads."""
        self._orders = orders

    def __iter__(self) -> Iterator[Order]:
        return self._orders

    def __len__(self) -> int:
        return self._batches


class Processes(Iterator[Delivery]):
    """The deliveries of a pass, read by the workers of a DataLoader whose batch sampler gives orders.

    Who died since the last batch is missed when the next one is asked for, not wherever the program is by then.

    Raises:
        LoaderError: a worker died.
    """

    def __init__(self, inner: DataLoader[Any]) -> None:
        self._inner: Any = kept_pass(inner)
        with self._heard():
            if self._inner is None:
                self._inner = begun(inner)
            else:
                self._all_alive()
                iter(inner)  # the same, from its beginning

    def __next__(self) -> Delivery:
        if is_over(self._inner):
            raise LoaderError("the loader was closed, and its workers are gone; begin another pass")
        with self._heard():
            self._all_alive()
            delivery: Delivery = next(self._inner)
        return delivery

    def _all_alive(self) -> None:
        if died := the_dead(workers_of(self._inner)):
            raise died

    @contextmanager
    def _heard(self) -> Iterator[None]:
        try:
            yield
        except StopIteration:
            raise
        except Exception as error:  # of many types: whatever was being received when it died
            known = dead_worker(error, workers_of(self._inner))
            if known is None:
                raise
            terminate(self._inner)  # who lives may wait for ever for what the dead one held
            raise known from (None if known is error else error)

    def close(self) -> None:
        """End the workers."""
        end_workers(self._inner)
