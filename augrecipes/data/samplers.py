"""Samplers: the order that somebody's own sampler gives, and the sampler that other libraries see of a loader.

torch's DataLoader has a sampler and a batch sampler, and libraries use them. Lightning, Fabric and Ray leave a
DataLoader alone whose sampler is a DistributedSampler, but for predictions, where Lightning makes another loader with
the batch sampler that it wraps. accelerate makes a DataLoader of its own of a loader's parts, and gives each rank its
share of the batches: it asks first (`Loader._is_accelerate_prepared`), and from then on the batch sampler gives those
of all ranks.

Such a DataLoader reads plain positions. So the datasets are told the epoch, which makes the random parameters those of
the loader's own pass; repeats are later reads, which have parameters of their own, too.
"""

from __future__ import annotations

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

from augrecipes.data import checks, epochs
from augrecipes.data.order import BatchSchedule, Indices, dealt, digest, evened, number_repeats, orders
from augrecipes.data.state import LoaderPosition
from augrecipes.seeds import mix

_SAMPLER = 3  # keeps its random numbers apart from those of `BatchSchedule`


@dataclass(frozen=True, eq=False)
class SampledSchedule(BatchSchedule):
    """A schedule by a sampler of positions, or by one of batches of them.

    It is asked once a pass, under global random generators (torch's, numpy's, Python's; and torch's `generator=` of its
    own) that seed and epoch decide, and is told the epoch first, where it has a `set_epoch`. So every rank hears the
    same order, of which it takes its share. What comes again in an epoch is a repeat, with draws of its own.

    Attributes:
        sampler: of positions, or of lists of positions.
        gives_batches: which of both.
    """

    sampler: Any = None
    gives_batches: bool = False

    @property
    def total(self) -> int:
        """Where an epoch ends: how many samples the sampler says, or batches where it says those."""
        return len(self.sampler)

    @property
    def step(self) -> int:
        """How far the place moves on with each batch: so many samples, or batches."""
        return self.world_size if self.gives_batches else self.batch_size * self.world_size

    def whole(self, epoch: int) -> Indices:
        """The virtual indices of an epoch, for all ranks together."""
        drawn = self._drawn(epoch)
        return self._virtual(chain.from_iterable(drawn) if self.gives_batches else drawn)

    def split(self, epoch: int, read: int = 0) -> Iterable[Indices]:
        """The batches of this rank behind the first `read` samples, or batches, of all."""
        if not self.gives_batches:
            return super().split(epoch, read)
        drawn = self._drawn(epoch)
        numbers = np.arange(len(drawn))
        if self.even:
            numbers = evened(numbers, self.world_size, len(drawn), read)
        batches = [drawn[k % len(drawn)] for k in numbers.tolist()]
        whole = np.split(self._virtual(chain.from_iterable(batches)), np.cumsum([*map(len, batches)])[:-1])
        return (whole[k] for (k,) in dealt(np.arange(read, len(batches)), self.rank, self.world_size, 1))

    def marks(self) -> dict[str, Any]:
        """As of any schedule, and which samplers; what gives batches, or divides by ranks, gives others by others."""
        marks = super().marks() | {"sampler": " of ".join(type(each).__name__ for each in samplers_in(self.sampler))}
        marks |= {"batch_size": self.batch_size} if self.gives_batches else {}
        return marks if (ranks := ranks_of(self.sampler)) is None else marks | {"world_size": ranks}

    def order_mark(self, epoch: int) -> str | None:
        """A digest of the order: a sampler that draws by a generator of its own may not give it again.

        None where it divides by ranks, and so gives another order on each.
        """
        return digest(self.whole(epoch)) if ranks_of(self.sampler) is None else None

    def _drawn(self, epoch: int) -> list[Any]:
        """What the sampler says in this epoch."""
        samplers = samplers_in(self.sampler)
        with _seeded(mix(self.seed, epoch, _SAMPLER), samplers):
            for each in samplers:
                if callable(set_epoch := getattr(each, "set_epoch", None)):
                    set_epoch(epoch)
            return list(self.sampler)

    def _virtual(self, drawn: Iterable[Any]) -> Indices:
        positions = np.array([checks.position_of(checks.as_index(index), self.n) for index in drawn], np.int64)
        return number_repeats(positions, self.n)


@contextmanager
def _seeded(seed: int, samplers: Iterable[Any]) -> Iterator[None]:
    """Inside the block global random generators are those of a seed of 64 bits, and afterwards as they were.

    So is torch's generator that a sampler was given, by this seed and by its own first one.
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
    """Among how many ranks a sampler divides, of which it gives one's share; None where it gives everything."""
    numbers = [getattr(each, name, None) for each in samplers_in(sampler) for name in ("num_replicas", "num_processes")]
    return next((number for number in numbers if number is not None), None)


def schedule_by(sampler: Any, batch_sampler: Any, plan: BatchSchedule, **others: Any) -> SampledSchedule:
    """The schedule by a user's own sampler; of a sampler that knows ranks, which has divided, all that it gives.

    Raises:
        TypeError, ValueError: what was given is no sampler, or is empty; or `others`, which decide the order too, were
            given.
    """
    name, chosen = ("sampler", sampler) if batch_sampler is None else ("batch_sampler", batch_sampler)
    if sampler is not None and batch_sampler is not None:
        raise ValueError("give a sampler or a batch_sampler, not both")
    if not hasattr(chosen, "__len__") or not hasattr(chosen, "__iter__"):
        raise TypeError(f"{name} must have a length, and give the positions of an epoch, got {type(chosen).__name__}")
    if batch_sampler is not None:
        others |= {"drop_last": plan.drop_last, "batch_size": plan.batch_size != 1}
        size = getattr(chosen, "batch_size", None)  # of most of them; each may have its own
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
    """The `sampler` of a loader: what its next pass reads, as (epoch, index) pairs of this rank.

    It is a DistributedSampler because the loader divides by ranks itself: nobody else need do so.

    Args:
        position: where the loader is; `set_epoch` moves it, as the loader's own does.
        dataset: that is read.

    Attributes:
        is_divided: another DataLoader divides the batches by ranks, and reads them.
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
        """Which one this is."""
        return self.position.schedule.rank

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the loader's next pass runs."""
        self.position.set_epoch(epoch)
        if self.is_divided:  # accelerate says it before it starts workers
            self._say_epoch()

    @property
    def epoch(self) -> int:  # type: ignore[override]
        """That of the loader's next pass."""
        self.position.look()
        return self.position.start.epoch

    def batches(self, drop_last: bool) -> Iterator[list[int]]:
        """The positions of each batch of the next pass, which begins when the first is asked for.

        torch asks for several iterators a pass, and starts workers in between: datasets in them that are not ours hear
        the epoch now, or never.
        """
        epochs.set_foreign_epoch(self._dataset, self.epoch)
        return self._batches_of_pass(drop_last)

    def _batches_of_pass(self, drop_last: bool) -> Iterator[list[int]]:
        self._say_epoch()
        start, plan = self.position.start, self.whole(drop_last)
        self.position.begun(start)
        for order in orders(plan, start.epoch, start.read):
            yield (order.indices % plan.n).tolist()

    def whole(self, drop_last: bool) -> BatchSchedule:
        """The plan of those who read by this: of all ranks where somebody else divides."""
        plan = replace(self.position.schedule, drop_last=drop_last)
        return replace(plan, rank=0, world_size=1) if self.is_divided else plan

    def _say_epoch(self) -> None:
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
    """The `batch_sampler` of a loader, by which other DataLoaders read what it would; torch's, with another sampler."""

    def __iter__(self) -> Iterator[list[Any]]:
        return self.sampler.batches(self.drop_last) if isinstance(self.sampler, LoaderSampler) else super().__iter__()

    def __len__(self) -> int:
        if isinstance(self.sampler, LoaderSampler):
            return self.sampler.whole(self.drop_last).batches
        return super().__len__()
