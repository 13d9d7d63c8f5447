"""Files of stores elsewhere, fetched in the order in which an epoch will need them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from torch.utils.data import ConcatDataset, Subset

from augrecipes.data.epochs import read_through
from augrecipes.data.order import Indices, Order
from augrecipes.store.cache import SIZE, Needed, ReadAhead

_log = logging.getLogger("augrecipes")


def with_files_ahead(dataset: Any, wanted: Iterator[Order]) -> Iterator[Order]:
    """The orders of a pass; the files that they need are fetched by threads of this process from the first order on."""
    return _ahead(dataset, list(wanted)) if _leaves(dataset) else wanted


def _ahead(dataset: Any, orders: Sequence[Order]) -> Iterator[Order]:
    reading: ReadAhead | None = None
    try:
        for number, order in enumerate(orders):
            if reading is None:  # now: workers that are forked have been
                reading = _begun(dataset, orders)
            reading.reached(number)
            yield order
    finally:
        if reading is not None:
            reading.end()


def _begun(dataset: Any, orders: Sequence[Order]) -> ReadAhead:
    """Reads ahead what some orders need and is not here yet, in their order."""
    stores = {id(leaf.store): leaf.store for leaf in _leaves(dataset)}
    count = sum(len(items.shards.files) for store in stores.values() for items in store.tables.values())
    needed: dict[tuple[int, str], Needed] = {}
    for number, order in enumerate(orders):
        for leaf, positions in _located(dataset, order.indices):
            for name, size, fetch in leaf.files_for(order.epoch, positions):
                needed.setdefault((id(leaf.store), name), Needed(number, size, fetch))
        if len(needed) == count:
            break
    room = min(store.fetched.cache.limit for store in stores.values())
    total = sum(one.size for one in needed.values())
    if total > room:
        _log.warning(
            "this epoch reads %s bytes of stores elsewhere, and their cache has room for %s: files are fetched again "
            "and again, where the order is shuffled for almost every sample; give the cache more (%s or cache_size=)",
            f"{total:,}",
            f"{room:,}",
            SIZE,
        )
    missing = [one for (store, name), one in needed.items() if not stores[store].fetched.has(name, one.size)]
    # Where not all of it has room, what was fetched too early would push out what is being read.
    return ReadAhead(missing, None if total <= room else room // 2)


def _leaves(dataset: Any) -> list[Any]:
    """The datasets over stores, which may fetch, that a dataset is made of, as torch combines them."""
    return [leaf for leaf in read_through(dataset) if getattr(leaf, "fetches", False)]


def _located(dataset: Any, indices: Indices) -> Iterator[tuple[Any, Indices]]:
    """Which positions of which of them some indices are."""
    if type(dataset) is Subset:
        inner = np.asarray(dataset.indices, np.int64)[indices % len(dataset)]
        yield from _located(dataset.dataset, inner)
    elif type(dataset) is ConcatDataset:
        ends = np.asarray(dataset.cumulative_sizes)
        positions = indices % ends[-1]
        member = np.searchsorted(ends, positions, side="right")
        for number in np.unique(member).tolist():
            first = int(ends[number - 1]) if number else 0
            yield from _located(dataset.datasets[number], positions[member == number] - first)
    elif getattr(dataset, "fetches", False):
        yield dataset, indices
