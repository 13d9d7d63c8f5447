"""Batches read in the user's own thread, when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

from augrecipes.data.loading.fetch import Delivery, FetchDataset
from augrecipes.data.loading.sampler import Order
from augrecipes.data.loading.worker import one_thread


class InProcess(Iterator[Delivery]):
    """The deliveries of a pass, each read when it is asked for."""

    def __init__(self, reader: FetchDataset, orders: Iterator[Order]) -> None:
        self._reader, self._orders = reader, orders

    def __next__(self) -> Delivery:
        order = next(self._orders)
        with one_thread():
            return self._reader.__getitems__(order)

    def close(self) -> None:
        """Nothing has to be ended."""
