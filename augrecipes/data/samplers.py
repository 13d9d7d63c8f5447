"""Samplers: schedules by a user's own sampler, and the sampler of a loader that other libraries see.

Libraries use the sampler and the batch sampler of a DataLoader. Lightning, Fabric and Ray leave a DataLoader alone if
its sampler is a DistributedSampler, except for predictions, where Lightning wraps the batch sampler in another loader.
accelerate builds a DataLoader of its own from a loader's parts, and gives each rank its share of the batches: it asks
first (`Loader._is_accelerate_prepared`), and from then on our batch sampler yields the batches of all ranks.

Such a DataLoader reads plain positions. So the datasets are told the epoch, which gives the random parameters of the
loader's own pass; repeats are later reads, with parameters of their own.
"""

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from operator import length_hint
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DistributedSampler

from augrecipes.data import checks, epochs, order
from augrecipes.data.state import LoaderPosition
from augrecipes.seeds import mix

_SAMPLER = 3  # a stream apart from those of `BatchSchedule`


@dataclass(frozen=True, eq=False)
class SampledSchedule(order.BatchSchedule):
    """A schedule by a sampler or batch sampler of positions.

    The sampler is iterated once per pass, after `set_epoch` if it has one, with all global random generators (torch's,
    numpy's, Python's) and its own torch `generator=` seeded by seed and epoch. So every rank gets the same order, of
    which it takes its share. A position that comes again in an epoch is a repeat, with draws of its own.

    Attributes:
        sampler: yields positions, or lists of positions.
        gives_batches: whether it yields lists.
    """

    sampler: Any = None
    gives_batches: bool = False

    @property
    def total(self) -> int:
        """The length of an epoch in samples, or in batches for a batch sampler."""
        return len(self.sampler)

    @property
    def step(self) -> int:
        """How far the position advances with each batch, in samples or batches."""
        return self.world_size if self.gives_batches else self.batch_size * self.world_size

    def whole(self, epoch: int) -> order.Indices:
        """The virtual indices of an epoch, for all ranks together."""
        drawn = self._drawn(epoch)
        return self._virtual(chain.from_iterable(drawn) if self.gives_batches else drawn)

    def split(self, epoch: int, read: int = 0) -> Iterable[order.Indices]:
        """The batches of this rank after the first `read` samples, or batches, of all ranks."""
        if not self.gives_batches:
            return super().split(epoch, read)
        drawn = self._drawn(epoch)
        numbers = np.arange(len(drawn))
        if self.even:
            numbers = order.padded_order(numbers, self.world_size, len(drawn), read)
        batches = [drawn[k % len(drawn)] for k in numbers.tolist()]
        whole = np.split(self._virtual(chain.from_iterable(batches)), np.cumsum([*map(len, batches)])[:-1])
        return (whole[k] for (k,) in order.rank_batches(np.arange(read, len(batches)), self.rank, self.world_size, 1))

    def fingerprint(self) -> dict[str, Any]:
        """As in `BatchSchedule`, with the samplers' classes, and batch size or number of ranks if these decide it."""
        own: dict[str, Any] = {"sampler": " of ".join(type(each).__name__ for each in samplers_in(self.sampler))}
        own |= {"batch_size": self.batch_size} if self.gives_batches else {}
        own |= {} if (ranks := ranks_of(self.sampler)) is None else {"world_size": ranks}
        return super().fingerprint() | own

    def order_digest(self, epoch: int) -> str | None:
        """A digest of the order, since a sampler with a generator of its own may not repeat it.

        None for a sampler that divides by ranks, whose order differs between ranks.
        """
        return order.digest(self.whole(epoch)) if ranks_of(self.sampler) is None else None

    def _drawn(self, epoch: int) -> list[Any]:
        """The positions, or lists of them, that the sampler yields in this epoch."""
        samplers = samplers_in(self.sampler)
        with _seed_all(mix(self.seed, epoch, _SAMPLER), samplers):
            for each in samplers:
                if callable(set_epoch := getattr(each, "set_epoch", None)):
                    set_epoch(epoch)
            return list(self.sampler)

    def _virtual(self, drawn: Iterable[Any]) -> order.Indices:
        positions = np.array([checks.position_of(checks.as_index(index), self.n) for index in drawn], np.int64)
        return order.number_repeats(positions, self.n)


@contextmanager
def _seed_all(seed: int, samplers: Iterable[Any]) -> Iterator[None]:
    """Seed all global random generators inside the block, and restore them afterwards.

    A sampler's own torch generator is seeded with this seed and its own initial one.
    """
    generators = [each.generator for each in samplers if isinstance(getattr(each, "generator", None), torch.Generator)]
    before = [(each, each.get_state()) for each in (torch.default_generator, *generators)]
    numpy_state, python_state = np.random.get_state(legacy=False), random.getstate()
    torch.default_generator.manual_seed(seed >> 1)
    for each in generators:
        each.manual_seed(mix(seed, each.initial_seed()) >> 1)
    np.random.seed(seed & 0xFFFFFFFF)
    random.seed(seed)
    try:
        yield
    finally:
        for generator, state in before:
            generator.set_state(state)
        np.random.set_state(numpy_state)
        random.setstate(python_state)


def samplers_in(sampler: Any, depth: int = 8) -> list[Any]:
    """A sampler and those that it wraps."""
    wrapped = [getattr(sampler, name, None) for name in ("sampler", "batch_sampler")] if depth else []
    return [sampler, *(inner for each in wrapped if each is not None for inner in samplers_in(each, depth - 1))]


def ranks_of(sampler: Any) -> int | None:
    """The number of ranks among which a sampler divides; None if it does not divide."""
    numbers = [getattr(each, name, None) for each in samplers_in(sampler) for name in ("num_replicas", "num_processes")]
    return next((number for number in numbers if number is not None), None)


def schedule_by(sampler: Any, batch_sampler: Any, plan: order.BatchSchedule, **others: Any) -> SampledSchedule:
    """The schedule by a user's own sampler; a sampler that divides by ranks is read as it is.

    Raises:
        TypeError, ValueError: the sampler is none, or is empty; or one of `others`, which decide the order too, is set.
    """
    name, chosen = ("sampler", sampler) if batch_sampler is None else ("batch_sampler", batch_sampler)
    if sampler is not None and batch_sampler is not None:
        raise ValueError("give a sampler or a batch_sampler, not both")
    if not hasattr(chosen, "__len__") or not hasattr(chosen, "__iter__"):
        raise TypeError(f"{name} must have a length, and give the positions of an epoch, got {type(chosen).__name__}")
    if batch_sampler is not None:
        others |= {"drop_last": plan.drop_last, "batch_size": plan.batch_size != 1}
        size = getattr(chosen, "batch_size", None)  # batches may differ in size all the same
        plan = replace(plan, batch_size=size) if isinstance(size, int) and size > 0 else plan
    for other, value in others.items():
        if value not in (None, False):
            raise ValueError(f"{name} says the order: leave {other} out")
    if not length_hint(chosen, 1):
        raise ValueError(f"{name} is empty: its len() is 0; give it more positions, or smaller batches")
    if ranks_of(chosen) is not None:
        plan = replace(plan, rank=0, world_size=1)
    return SampledSchedule(**vars(plan), sampler=chosen, gives_batches=batch_sampler is not None)


class LoaderSampler(DistributedSampler[Any]):
    """The `sampler` of a loader: yields the (epoch, index) pairs of this rank in its next pass.

    It is a DistributedSampler to show that the loader divides by ranks itself.

    Args:
        position: the loader's position; `set_epoch` moves it, as the loader's own does.
        dataset: the dataset.

    Attributes:
        is_divided: whether another DataLoader divides the batches by ranks, and reads them.
    """

    is_divided = False

    def __init__(self, position: LoaderPosition, dataset: Any) -> None:
        self.position, self._dataset = position, dataset

    @property
    def num_replicas(self) -> int:  # type: ignore[override]
        """Number of ranks."""
        return self.position.schedule.world_size

    @property
    def rank(self) -> int:  # type: ignore[override]
        """This rank."""
        return self.position.schedule.rank

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the loader's next pass."""
        self.position.set_epoch(epoch)
        if self.is_divided:  # accelerate calls it before it starts workers
            self._tell_datasets()

    @property
    def epoch(self) -> int:  # type: ignore[override]
        """The epoch of the loader's next pass."""
        self.position.update()
        return self.position.start.epoch

    def batches(self, drop_last: bool) -> Iterator[list[int]]:
        """The positions of each batch of the next pass, which begins with the first.

        torch creates several iterators per pass, and starts workers in between: foreign datasets in them must be told
        the epoch now.
        """
        epochs.set_foreign_epoch(self._dataset, self.epoch)
        return self._batches_of_pass(drop_last)

    def _batches_of_pass(self, drop_last: bool) -> Iterator[list[int]]:
        self._tell_datasets()
        start, plan = self.position.start, self.whole(drop_last)
        self.position.begin(start)
        for request in order.batch_requests(plan, start.epoch, start.read):
            yield (request.indices % plan.n).tolist()

    def whole(self, drop_last: bool) -> order.BatchSchedule:
        """The schedule of the DataLoader that reads: of all ranks where it divides by itself."""
        plan = replace(self.position.schedule, drop_last=drop_last)
        return replace(plan, rank=0, world_size=1) if self.is_divided else plan

    def _tell_datasets(self) -> None:
        epoch = self.epoch
        for clock in epochs.clocks(self._dataset):
            clock.follow(epoch)
        epochs.set_foreign_epoch(self._dataset, epoch)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        epoch = self.epoch
        yield from ((epoch, int(index)) for index in self.position.schedule.order(epoch))

    def __len__(self) -> int:
        return len(self.position.schedule.order(self.epoch))


class LoaderBatches(BatchSampler):
    """The `batch_sampler` of a loader, by which other DataLoaders read its batches; torch's for other samplers."""

    def __iter__(self) -> Iterator[list[Any]]:
        return self.sampler.batches(self.drop_last) if isinstance(self.sampler, LoaderSampler) else super().__iter__()

    def __len__(self) -> int:
        if isinstance(self.sampler, LoaderSampler):
            return self.sampler.whole(self.drop_last).batches
        return super().__len__()
