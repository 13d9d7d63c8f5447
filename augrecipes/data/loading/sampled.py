"""Epochs whose order somebody's own sampler says: weighted, by buckets, of a library that divides by ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from augrecipes.data.batches.order import Indices, number_repeats
from augrecipes.data.checks import as_index
from augrecipes.data.keys import position_of
from augrecipes.data.loading.generators import decided_by
from augrecipes.data.loading.sampler import BatchSchedule
from augrecipes.seeds import mix

_SAMPLER = 3  # keeps its draws apart from those of `epoch_order`


@dataclass(frozen=True, eq=False)
class SampledSchedule(BatchSchedule):
    """A schedule by a sampler of positions, or by one of batches of them.

    It is asked once a pass, under generators (torch's, numpy's, Python's, its own) that seed and epoch decide, and is
    told the epoch first, where it has a `set_epoch`. So every rank hears the same order, of which it takes its share; a
    sampler that knows ranks itself has done that. What comes again in an epoch is a repeat, with draws of its own.

    Attributes:
        sampler: of positions, or None.
        batch_sampler: of lists of positions, or None.
    """

    sampler: Any = None
    batch_sampler: Any = None

    @property
    def given(self) -> Any:
        """The sampler."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def divided(self) -> bool:
        """Whether the sampler knows ranks, and gives those of this one."""
        return any(hasattr(each, "num_replicas") or hasattr(each, "num_processes") for each in samplers_in(self.given))

    @property
    def total(self) -> int:
        """Where an epoch ends: how many samples the sampler says, or batches where it says those."""
        return len(self.given)

    @property
    def step(self) -> int:
        """How far the place moves on with each batch: so many samples, or batches."""
        return (1 if self.divided else self.world_size) * (self.batch_size if self.batch_sampler is None else 1)

    def whole(self, epoch: int) -> Indices:
        """The virtual indices of an epoch, for all ranks together unless the sampler has divided it."""
        return number_repeats(self._positions(self._drawn(epoch)), self.n)

    def split(self, epoch: int, read: int = 0) -> Sequence[Indices]:
        """The batches of this rank behind the first `read` samples, or batches, of all."""
        if self.batch_sampler is None:
            return super(SampledSchedule, self._undivided()).split(epoch, read)
        drawn = self._drawn(epoch)
        if not self.divided and self.even and drawn:
            drawn += [drawn[k % len(drawn)] for k in range((read - len(drawn)) % self.world_size)]
        ends = np.cumsum([len(batch) for batch in drawn])
        whole = number_repeats(self._positions([i for batch in drawn for i in batch]), self.n)
        batches = np.split(whole, ends[:-1])[read:] if drawn else []
        return batches if self.divided else batches[self.rank :: self.world_size]

    @property
    def samples_of_rank(self) -> int:
        """How many samples an epoch gives this rank; of a sampler of batches as many as full ones have."""
        if self.batch_sampler is not None:
            return self.batches * self.batch_size
        return super(SampledSchedule, self._undivided()).samples_of_rank

    @property
    def batches(self) -> int:
        """How many batches an epoch gives this rank."""
        if self.batch_sampler is None:
            return super(SampledSchedule, self._undivided()).batches
        if self.divided:
            return self.total
        return max(0, -(-(self.total - (0 if self.even else self.rank)) // self.world_size))

    def _undivided(self) -> SampledSchedule:
        """Itself, or as if alone where the sampler gives nothing but what this rank reads."""
        return replace(self, rank=0, world_size=1) if self.divided else self

    def _drawn(self, epoch: int) -> list[Any]:
        """What the sampler says in this epoch."""
        samplers = list(samplers_in(self.given))
        with decided_by(mix(self.seed, epoch, _SAMPLER), samplers):
            for each in samplers:
                if callable(set_epoch := getattr(each, "set_epoch", None)):
                    set_epoch(epoch)
            return list(self.given)

    def _positions(self, drawn: list[Any]) -> Indices:
        return np.array([position_of(as_index(index), self.n) for index in drawn], np.int64)


def samplers_in(sampler: Any, depth: int = 8) -> Iterator[Any]:
    """A sampler and those that it wraps."""
    if sampler is None or not depth:
        return
    yield sampler
    for name in ("sampler", "batch_sampler"):
        yield from samplers_in(getattr(sampler, name, None), depth - 1)


def check_sampler(sampler: Any, batch_sampler: Any, **others: Any) -> None:
    """ValueError or TypeError for samplers that cannot be used, or not beside other arguments that decide the order."""
    name, given = ("sampler", sampler) if batch_sampler is None else ("batch_sampler", batch_sampler)
    if sampler is not None and batch_sampler is not None:
        raise ValueError("give a sampler or a batch_sampler, not both")
    if not hasattr(given, "__len__") or not hasattr(given, "__iter__"):
        raise TypeError(f"{name} must have a length, and give the positions of an epoch, got {type(given).__name__}")
    for other, value in others.items():
        if value not in (None, False):
            raise ValueError(f"{name} says the order: leave {other} out")
