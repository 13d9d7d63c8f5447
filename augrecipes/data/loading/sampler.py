"""Samplers: the order of an epoch as torch reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from augrecipes.data.batches.order import Indices, dealt, epoch_order, evened, part


@dataclass(frozen=True, eq=False)
class BatchSchedule:
    """Everything that decides which samples make up which batch of an epoch.

    Ranks go in step, and take batches in turns. So a place in an epoch is one number: how many samples all of them
    together have read. What follows can be shared out again at any place, by as many ranks as there are then.

    Attributes:
        n: number of samples in the dataset.
        batch_size: samples in a batch.
        seed: of shuffles and weighted draws.
        shuffle: new permutation every epoch.
        weights: draw in proportion to them, or None.
        replacement: draw with replacement.
        samples: samples in an epoch over all ranks, or None for n.
        drop_last: leave out incomplete batches, and give every rank as many.
        rank: which share.
        world_size: number of shares.
        even: every share has as many samples; a few are read again where they cannot be shared out evenly.
    """

    n: int
    batch_size: int = 1
    seed: int = 0
    shuffle: bool = False
    weights: npt.NDArray[np.float64] | None = None
    replacement: bool = True
    samples: int | None = None
    drop_last: bool = False
    rank: int = 0
    world_size: int = 1
    even: bool = True

    @property
    def total(self) -> int:
        """Where an epoch ends: how many samples all ranks together read, before any are added or left out."""
        return self.n if self.samples is None else self.samples

    @property
    def step(self) -> int:
        """How far the place moves on with each batch."""
        return self.batch_size * self.world_size

    def whole(self, epoch: int) -> Indices:
        """The virtual indices of an epoch, for all ranks together."""
        return epoch_order(
            self.n,
            epoch,
            seed=self.seed,
            shuffle=self.shuffle,
            weights=self.weights,
            replacement=self.replacement,
            samples=self.samples,
        )

    def split(self, epoch: int, read: int = 0) -> Sequence[Indices]:
        """The batches of this rank behind the first `read` samples of all, each the virtual indices of its samples."""
        order = self.whole(epoch)
        if self.even and not self.drop_last:
            order = evened(order, self.world_size, self.n, read)
        return dealt(order[read:], self.rank, self.world_size, self.batch_size, drop=self.drop_last)

    def order(self, epoch: int) -> Indices:
        """The virtual indices of this rank's share of `epoch`."""
        return np.concatenate([np.empty(0, np.int64), *self.split(epoch)])

    @property
    def samples_of_rank(self) -> int:
        """How many samples an epoch gives this rank."""
        rounds, rest = divmod(self.total, self.step)
        return rounds * self.batch_size + self._of_rest(rest)

    @property
    def batches(self) -> int:
        """How many batches an epoch gives this rank."""
        rounds, rest = divmod(self.total, self.step)
        return rounds + (self._of_rest(rest) > 0)

    def _of_rest(self, rest: int) -> int:
        if self.drop_last:
            return 0
        if self.even:
            return -(-rest // self.world_size)
        piece = part(rest, self.rank, self.world_size)
        return piece.stop - piece.start


class Order(NamedTuple):
    """One batch as it is asked of a worker.

    Attributes:
        epoch: of the draws.
        number: which batch of the epoch: the place where it begins, as all ranks count.
        indices: of its samples, virtual.
    """

    epoch: int
    number: int
    indices: Indices


def orders(plan: BatchSchedule, epoch: int, read: int = 0, ahead: frozenset[int] = frozenset()) -> Iterator[Order]:
    """The batches of `epoch` in order, behind the first `read` samples of all ranks, and without those in `ahead`."""
    # Now, not when the first is asked for, which may be in another thread: a sampler draws.
    batches = plan.split(epoch, read) if read < plan.total else []
    numbered = ((read + k * plan.step, indices) for k, indices in enumerate(batches))
    return (Order(epoch, number, indices) for number, indices in numbered if number not in ahead)
