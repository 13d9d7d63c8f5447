"""Samplers: the order of an epoch as torch reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from augrecipes.data.batches.order import Indices, epoch_order, evened, shard


@dataclass(frozen=True, eq=False)
class BatchSchedule:
    """Everything that decides which samples make up which batch of an epoch.

    Attributes:
        n: number of samples in the dataset.
        batch_size: samples in a batch.
        seed: of shuffles and weighted draws.
        shuffle: new permutation every epoch.
        weights: draw with replacement in proportion to them, or None.
        samples: samples in an epoch over all ranks, or None for n.
        drop_last: leave out incomplete batches, and give every rank as many.
        rank: which shard.
        world_size: number of shards.
        even: every shard has as many samples; a few are read again where they cannot be shared out evenly.
    """

    n: int
    batch_size: int = 1
    seed: int = 0
    shuffle: bool = False
    weights: npt.NDArray[np.float64] | None = None
    samples: int | None = None
    drop_last: bool = False
    rank: int = 0
    world_size: int = 1
    even: bool = True

    def order(self, epoch: int) -> Indices:
        """The virtual indices of this rank's share of `epoch`."""
        whole = epoch_order(
            self.n, epoch, seed=self.seed, shuffle=self.shuffle, weights=self.weights, samples=self.samples
        )
        if self.drop_last or self.even:
            whole = evened(whole, self.world_size, self.n, drop=self.drop_last)
        return shard(whole, self.rank, self.world_size)

    def split(self, epoch: int) -> list[Indices]:
        """The batches of this rank, each the virtual indices of its samples."""
        size, indices = self.batch_size, self.order(epoch)
        return [indices[number * size : (number + 1) * size] for number in range(self.batches)]

    @property
    def samples_of_rank(self) -> int:
        """How many samples an epoch gives this rank, before incomplete batches are left out."""
        total = self.n if self.samples is None else self.samples
        if self.drop_last:
            return total // self.world_size
        return max(0, -(-(total - (0 if self.even else self.rank)) // self.world_size))

    @property
    def batches(self) -> int:
        """How many batches an epoch gives this rank."""
        size = self.batch_size
        return self.samples_of_rank // size if self.drop_last else -(-self.samples_of_rank // size)


class Order(NamedTuple):
    """One batch as it is asked of a worker.

    Attributes:
        epoch: of the draws.
        number: which batch of the epoch.
        indices: of its samples, virtual.
        wait: seconds before it is begun.
    """

    epoch: int
    number: int
    indices: Indices
    wait: float = 0.0


def orders(plan: BatchSchedule, epoch: int, done: int = 0, ahead: frozenset[int] = frozenset()) -> Iterator[Order]:
    """The batches of `epoch` in order, without its first `done` ones and without those in `ahead`."""
    # Now, not when the first is asked for, which may be in another thread: a sampler draws.
    batches = enumerate(plan.split(epoch) if done < plan.batches else [])
    return (Order(epoch, number, indices) for number, indices in batches if number >= done and number not in ahead)
