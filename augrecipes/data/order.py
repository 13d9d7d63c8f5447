"""The order of an epoch: which samples, in which sequence, which batches and which rank, by a few integers alone.

An order is an array of virtual indices: sample `v % n` for the `v // n`-th time. Only the raw 64-bit output of
Philox4x64-10 is used, which is fixed by its paper; numpy's own shuffles may change between versions.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch.distributed
from torch.utils.data import ConcatDataset, Subset

from augrecipes.errors import DataError, counted
from augrecipes.seeds import MASK, mix

Indices = npt.NDArray[np.int64]
_SHUFFLE, _WEIGHTS = 1, 2  # keep the kinds of draws of one (seed, epoch) apart; 3 is that of `samplers`


def number_repeats(positions: Indices, n: int) -> Indices:
    """Virtual indices: the k-th time (from 0) that a position occurs, it becomes `position + k·n`.

    >>> number_repeats(np.array([4, 1, 4, 4]), n=10)
    array([ 4,  1, 14, 24])
    """
    if not len(positions):
        return positions
    by_value = np.argsort(positions, kind="stable")
    ordered = positions[by_value]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    earlier = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    repeats = np.empty_like(positions)
    repeats[by_value] = earlier
    return positions + repeats * n


def evened(order: Indices, world_size: int, n: int, read: int = 0) -> Indices:
    """An epoch of n samples, of which what follows the first `read` can be shared out evenly among `world_size` ranks.

    Up to world_size - 1 samples are added, from the epoch's beginning: repeats, with draws of their own.

    >>> evened(np.array([2, 0, 1]), 2, 3), evened(np.array([2, 0, 1]), 2, 3, read=1)
    (array([2, 0, 1, 5]), array([2, 0, 1]))
    """
    missing = (read - len(order)) % world_size if len(order) else 0
    if not missing:
        return order
    added = np.resize(order, missing) % n
    return np.concatenate((order, number_repeats(added, n) + np.bincount(order % n, minlength=n)[added] * n))


def dealt(order: Indices, rank: int, world_size: int, batch_size: int, *, drop: bool = False) -> Iterator[Indices]:
    """Yield the batches of one rank, where `world_size` of them take turns: batch by batch, as one alone would read.

    So batch k of an order is the same however many ranks there are. Only what is left behind the last whole round, less
    than a batch for each, is shared out in pieces that are as long as each other, or one sample longer; or `drop` it.

    >>> [[*dealt(np.arange(10), rank, 2, 3)] for rank in range(2)]
    [[array([0, 1, 2]), array([6, 7])], [array([3, 4, 5]), array([8, 9])]]
    """
    whole = len(order) // (world_size * batch_size) * world_size
    yield from order[: whole * batch_size].reshape(whole, batch_size)[rank::world_size]
    rest = order[whole * batch_size :]
    piece = rest[part(len(rest), rank, world_size)]
    if len(piece) and not drop:
        yield piece


def digest(*arrays: npt.NDArray[Any]) -> str:
    """A short text that tells the bytes of arrays from others."""
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


def part(count: int, rank: int, world_size: int) -> slice:
    """Where one rank's piece of `count` samples lies.

    >>> [part(5, rank, 3) for rank in range(3)]
    [slice(0, 1, None), slice(1, 3, None), slice(3, 5, None)]
    """
    return slice(rank * count // world_size, (rank + 1) * count // world_size)


class Share(NamedTuple):
    """The share of every epoch that one process reads, where several train one model: rank, and of how many."""

    rank: int = 0
    world_size: int = 1


def share_of(rank: Any, world_size: Any) -> Share:
    """The share of a rank, given as integers or text of digits; ValueError where there is no such rank."""
    numbers = [int(n) if isinstance(n, str) and n.strip().isdecimal() else n for n in (rank, world_size)]
    whole = all(hasattr(n, "__index__") and not isinstance(n, bool) for n in numbers)
    if not whole or not 0 <= numbers[0] < numbers[1]:
        raise ValueError(
            f"rank must be below world_size, and both whole numbers; got rank {rank!r} of {world_size!r}. Give both, "
            "or neither, and they are found where torch.distributed or torchrun (RANK and WORLD_SIZE) says them"
        )
    return Share(int(numbers[0]), int(numbers[1]))


def share_of_process() -> Share:
    """The share that torch.distributed says, or torchrun where it is not set up yet; else everything.

    Raises:
        ValueError: the environment says something else than a rank and a number of ranks.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return Share(torch.distributed.get_rank(), torch.distributed.get_world_size())
    said = [os.environ.get(name) for name in ("RANK", "WORLD_SIZE")]  # as torchrun does
    return Share() if None in said else share_of(*said)


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
        """The virtual indices of an epoch, for all ranks together.

        >>> BatchSchedule(3, samples=5).whole(epoch=0)
        array([0, 1, 2, 3, 4])
        >>> sorted(BatchSchedule(5, shuffle=True).whole(epoch=0).tolist())
        [0, 1, 2, 3, 4]
        """
        n, count = self.n, self.total
        if self.weights is not None:
            cumulative = np.cumsum(self.weights)
            uniform = (_raw(count, self.seed, epoch, _WEIGHTS) >> np.uint64(11)).astype(np.float64) * 2.0**-53
            points = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
            # Rounding may put a point at the very end, behind the last sample of positive weight.
            last = int(np.flatnonzero(self.weights)[-1])
            return number_repeats(np.minimum(points, last).astype(np.int64), n)
        if not self.shuffle:
            return np.arange(count, dtype=np.int64)
        # One row a pass over the data. Sorting random 64-bit keys shuffles: equal keys are as good as impossible, and
        # the stable sort settles them. The first pass is the same however many there are.
        passes = -(-count // n)
        keys = _raw(passes * n, self.seed, epoch, _SHUFFLE, 0).reshape(passes, n)
        rows = np.argsort(keys, axis=1, kind="stable") + np.arange(passes)[:, None] * n
        return rows.ravel()[:count].astype(np.int64, copy=False)

    def split(self, epoch: int, read: int = 0) -> Iterable[Indices]:
        """The batches of this rank behind the first `read` samples of all, each the virtual indices of its samples."""
        order = self.whole(epoch)
        if self.even and not self.drop_last:
            order = evened(order, self.world_size, self.n, read)
        return dealt(order[read:], self.rank, self.world_size, self.batch_size, drop=self.drop_last)

    def order(self, epoch: int) -> Indices:
        """The virtual indices of this rank's share of `epoch`."""
        return np.concatenate([np.empty(0, np.int64), *self.split(epoch)])

    def marks(self) -> dict[str, Any]:
        """What of it must be the same for a saved state to make sense, by the names of arguments."""
        return {
            "length": self.n,
            "samples_per_epoch": self.samples,
            "weights": None if self.weights is None else digest(self.weights),
            **{name: getattr(self, name) for name in ("seed", "shuffle", "drop_last", "even")},
        }

    def order_mark(self, epoch: int) -> str | None:
        """What tells the order of an epoch from others, where the marks do not."""
        del epoch
        return None

    def validate(self) -> Self:
        """Itself; ValueError where `drop_last` would leave nothing of an epoch."""
        if self.drop_last and self.total < self.step:
            each = f" for each of {counted(self.world_size, 'rank')}" if self.world_size > 1 else ""
            raise ValueError(
                f"drop_last=True leaves no batch: an epoch has {counted(self.total, 'sample')}, and a batch of "
                f"{self.batch_size:,}{each} takes {self.step:,}; take a smaller batch_size, or drop_last=False"
            )
        return self

    @property
    def batches(self) -> int:
        """How many batches an epoch gives this rank."""
        rounds, rest = divmod(self.total, self.step)
        piece = part(rest, self.rank, self.world_size)
        return rounds + (not self.drop_last and bool(rest) and (self.even or piece.stop > piece.start))


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


def orders(plan: BatchSchedule, epoch: int, read: int = 0) -> Iterator[Order]:
    """The batches of `epoch` in order, behind the first `read` samples of all ranks."""
    # Now, not when the first is asked for, which may be in another thread: a sampler draws.
    batches = plan.split(epoch, read) if read < plan.total else ()
    return (Order(epoch, read + k * plan.step, indices) for k, indices in enumerate(batches))


def weights_of(given: Any, dataset: Any) -> npt.NDArray[np.float64] | None:
    """The weight of every sample, float64 (n,), from what was given as `weights=`."""
    if given is None:
        return None
    if isinstance(given, str):
        if given != "balanced":
            raise ValueError(f"weights must be one number a sample or 'balanced', got {given!r}")
        labels = np.asarray(_labels_of(dataset))
        if labels.ndim > 1:
            what = "weights='balanced' needs one label a sample, and these have several"
            raise ValueError(f"{what}: give one number a sample")
        _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
        given = 1.0 / counts[inverse]
    return check_weights(given, len(dataset))


def _labels_of(dataset: Any) -> Any:
    """The label of every sample, also through torch's own combinations of datasets; ValueError where one has none."""
    if type(dataset) is ConcatDataset:
        return np.concatenate([_labels_of(each) for each in dataset.datasets])
    if type(dataset) is Subset:
        labels, indices = np.asarray(_labels_of(dataset.dataset)), np.asarray(dataset.indices, np.int64)
        for k in indices[(indices < -len(labels)) | (indices >= len(labels))][:1]:
            raise DataError(f"a Subset has index {k}, and its data {len(labels)} samples: give it indices below that")
        return labels[indices]
    if getattr(dataset, "labels", None) is None:
        how = "a part is ds.subset(indices), or torch's Subset; or give one number a sample"
        raise ValueError(f"weights='balanced' needs labels, and a {type(dataset).__name__} has none (.labels): {how}")
    return dataset.labels


def check_weights(weights: Any, n: int) -> npt.NDArray[np.float64]:
    """`weights` as float64; ValueError where they are not n finite, non-negative numbers with a positive sum."""
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"weights must be one number for each of the {n} samples, got shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        where = int(np.flatnonzero(~np.isfinite(array) | (array < 0))[0])
        raise ValueError(f"weights must be finite and not negative; weights[{where}] is {array[where]}")
    if not array.sum() > 0:
        raise ValueError("weights must not all be zero")
    return array


def _raw(count: int, *key: int) -> npt.NDArray[np.uint64]:
    # Philox takes its stream from the key alone; the counter starts at zero.
    bits = np.random.Philox(key=np.array([key[0] & MASK, mix(*key)], np.uint64))
    return np.asarray(bits.random_raw(count), np.uint64)
