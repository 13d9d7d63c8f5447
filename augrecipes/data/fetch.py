"""Reading one batch: what runs in a worker, or in the user's process when there are no workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from torch.utils.data import Dataset

from augrecipes.data.epoch import clocks, reading
from augrecipes.data.sampler import Order
from augrecipes.data.skips import SkipError, Skipped, candidates, nothing_left, reason_of
from augrecipes.errors import AugrecipesError, DataError


@dataclass(frozen=True, slots=True)
class Fetched:
    """The samples of one batch on their way to be collated."""

    number: int
    samples: list[Any]
    skipped: tuple[Skipped, ...] = ()
    error: AugrecipesError | None = None


class Delivery(NamedTuple):
    """What a worker sends back. A named tuple, because torch pins the memory of those member by member.

    Attributes:
        number: which batch of the epoch.
        batch: the collated batch, or None with an error.
        skipped: samples of the batch that were replaced.
        error: raised in the user's process, where it keeps its type and what it carries.
    """

    number: int
    batch: Any
    skipped: tuple[Skipped, ...]
    error: AugrecipesError | None


class Fetcher(Dataset[Any]):
    """A dataset as our loader reads it: by `Order`, under the epoch that the order names.

    Works on anything with `len` and integer indices. What is inside may wrap our datasets in any way.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        # Datasets that read batches at once (and hold none of ours) are asked for whole batches.
        self._whole = not clocks(dataset) and callable(getattr(dataset, "__getitems__", None))

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitems__(self, order: Order) -> Fetched:
        """Read the batch that `order` names; a DataError becomes part of the answer."""
        samples: list[Any] = []
        skipped: list[Skipped] = []
        n = len(self.dataset)
        try:
            if self._whole:
                with reading(order.epoch, defer=True):
                    samples = list(self.dataset.__getitems__([int(v) % n for v in order.indices]))
            else:
                for virtual in order.indices:
                    samples.append(self._sample(order.epoch, int(virtual), n, skipped))
        except DataError as error:
            return Fetched(order.number, [], tuple(skipped), error)
        return Fetched(order.number, samples, tuple(skipped))

    def _sample(self, epoch: int, virtual: int, n: int, skipped: list[Skipped]) -> Any:
        repeat, position = divmod(virtual, n)
        try:
            with reading(epoch, repeat, defer=True, lost=skipped):
                return self.dataset[position]
        except SkipError as skip:
            sample = self._instead(skip, epoch, repeat, position, n, skipped)
            where = sample.get("path") if isinstance(sample, dict) else None
            record = Skipped(skip.error.path or "", reason_of(skip.error), epoch, skip.index)
            skipped.append(replace(record, replacement=where if isinstance(where, str) else None))
            return sample

    def _instead(self, skip: SkipError, epoch: int, repeat: int, position: int, n: int, skipped: list[Skipped]) -> Any:
        tried = 0
        for other in candidates(skip.seed, epoch, skip.index, n):
            if other == position:
                continue
            lost: list[Skipped] = []
            try:
                with reading(epoch, repeat, defer=True, lost=lost):
                    sample = self.dataset[other]
            except SkipError:
                tried += 1
                continue
            skipped += lost  # what a candidate lost that was not taken matters to nobody
            return sample
        raise nothing_left(skip.error, tried) from skip.error


@dataclass(frozen=True)
class Collator:
    """Calls the chosen collate function and sends its outcome on with the batch's records."""

    collate: Callable[[list[Any]], Any]

    def __call__(self, fetched: Fetched) -> Delivery:
        """Collate; a CollateError becomes part of the answer, too."""
        if fetched.error is not None:
            return Delivery(fetched.number, None, fetched.skipped, fetched.error)
        try:
            batch = self.collate(fetched.samples)
        except AugrecipesError as error:
            return Delivery(fetched.number, None, fetched.skipped, error)
        return Delivery(fetched.number, batch, fetched.skipped, None)
