"""The order of an epoch: its samples, their sequence, batches and ranks, as a pure function of a few integers.

An order is an array of virtual indices: `v` is sample `v % n` for the `v // n`-th time. Only the raw 64-bit output of
Philox4x64-10 (Salmon et al., 2011) is used, which its paper defines; numpy's shuffles may change between versions.
"""

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
_SHUFFLE, _WEIGHTS = 1, 2  # separate streams for one (seed, epoch); `samplers` uses 3


def number_repeats(positions: Indices, n: int) -> Indices:
    """Virtual indices of positions: the k-th occurrence (from 0) of a position becomes `position + k·n`.

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


def padded_order(order: Indices, world_size: int, n: int, read: int = 0) -> Indices:
    """The order of an epoch, padded so that the samples after the first `read` divide evenly among `world_size` ranks.

    Adds up to world_size - 1 samples from the epoch's beginning, as repeats with draws of their own.

    >>> padded_order(np.array([2, 0, 1]), 2, 3), padded_order(np.array([2, 0, 1]), 2, 3, read=1)
    (array([2, 0, 1, 5]), array([2, 0, 1]))
    """
    missing = (read - len(order)) % world_size if len(order) else 0
    if not missing:
        return order
    added = np.resize(order, missing) % n
    return np.concatenate((order, number_repeats(added, n) + np.bincount(order % n, minlength=n)[added] * n))


def rank_batches(
    order: Indices, rank: int, world_size: int, batch_size: int, *, drop: bool = False
) -> Iterator[Indices]:
    """Yield the batches of one rank of `world_size`, which take the batches of the order in turns.

    So batch k of an order is the same for any number of ranks. Only the incomplete last round, less than a batch per
    rank, is divided into pieces that differ by at most one sample; or dropped (`drop`).

    >>> [[*rank_batches(np.arange(10), rank, 2, 3)] for rank in range(2)]
    [[array([0, 1, 2]), array([6, 7])], [array([3, 4, 5]), array([8, 9])]]
    """
    whole = len(order) // (world_size * batch_size) * world_size
    yield from order[: whole * batch_size].reshape(whole, batch_size)[rank::world_size]
    rest = order[whole * batch_size :]
    piece = rest[rank_slice(len(rest), rank, world_size)]
    if len(piece) and not drop:
        yield piece


def digest(*arrays: npt.NDArray[Any]) -> str:
    """16 hex digits that identify the bytes of arrays (SHA-256)."""
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


def rank_slice(count: int, rank: int, world_size: int) -> slice:
    """The slice of `count` samples that belongs to one rank.

    >>> [rank_slice(5, rank, 3) for rank in range(3)]
    [slice(0, 1, None), slice(1, 3, None), slice(3, 5, None)]
    """
    return slice(rank * count // world_size, (rank + 1) * count // world_size)


class Share(NamedTuple):
    """The share of every epoch that one of several training processes reads: its rank, and the number of ranks."""

    rank: int = 0
    world_size: int = 1


def share_of(rank: Any, world_size: Any) -> Share:
    """The Share of a rank from integers or text of digits; ValueError for an impossible rank."""
    numbers = [int(n) if isinstance(n, str) and n.strip().isdecimal() else n for n in (rank, world_size)]
    whole = all(hasattr(n, "__index__") and not isinstance(n, bool) for n in numbers)
    if not whole or not 0 <= numbers[0] < numbers[1]:
        raise ValueError(
            f"rank must be below world_size, and both whole numbers; got rank {rank!r} of {world_size!r}. Give both, "
            "or neither, and they are found where torch.distributed or torchrun (RANK and WORLD_SIZE) says them"
        )
    return Share(int(numbers[0]), int(numbers[1]))


def share_of_process() -> Share:
    """This process's Share, by torch.distributed, or by torchrun's environment before that is set up; else everything.

    Raises:
        ValueError: the environment variables are not a rank and a number of ranks.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return Share(torch.distributed.get_rank(), torch.distributed.get_world_size())
    values = [os.environ.get(name) for name in ("RANK", "WORLD_SIZE")]  # set by torchrun
    return Share() if None in values else share_of(*values)


@dataclass(frozen=True, eq=False)
class BatchSchedule:
    """Everything that decides which samples make up which batch of an epoch.

    Ranks go in step, and take batches in turns. So a position in an epoch is one number: how many samples all ranks
    together have read. From any position, the rest can be divided again among another number of ranks.

    Attributes:
        n: number of samples in the dataset.
        batch_size: samples per batch.
        seed: of shuffles and weighted draws.
        shuffle: draw a new permutation every epoch.
        weights: sampling weights, or None.
        samples: samples per epoch over all ranks; None: n.
        drop_last: leave out incomplete batches, and give every rank the same number of batches.
        rank: this share.
        world_size: number of shares.
        even: give every share the same number of samples, by repeating a few.
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
        """The samples of an epoch over all ranks, before any are added or left out."""
        return self.n if self.samples is None else self.samples

    @property
    def step(self) -> int:
        """How far the position advances with each batch."""
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
            # Rounding may put a point beyond the last sample of positive weight.
            last = int(np.flatnonzero(self.weights)[-1])
            return number_repeats(np.minimum(points, last).astype(np.int64), n)
        if not self.shuffle:
            return np.arange(count, dtype=np.int64)
        # One row per pass over the data. Sorting by random 64-bit keys shuffles; equal keys are all but impossible, and
        # the stable sort keeps their order. The first pass does not depend on the number of passes.
        passes = -(-count // n)
        keys = _raw(passes * n, self.seed, epoch, _SHUFFLE, 0).reshape(passes, n)
        rows = np.argsort(keys, axis=1, kind="stable") + np.arange(passes)[:, None] * n
        return rows.ravel()[:count].astype(np.int64, copy=False)

    def split(self, epoch: int, read: int = 0) -> Iterable[Indices]:
        """The batches of this rank after the first `read` samples of all ranks, as arrays of virtual indices."""
        order = self.whole(epoch)
        if self.even and not self.drop_last:
            order = padded_order(order, self.world_size, self.n, read)
        return rank_batches(order[read:], self.rank, self.world_size, self.batch_size, drop=self.drop_last)

    def order(self, epoch: int) -> Indices:
        """The virtual indices of this rank's share of `epoch`."""
        return np.concatenate([np.empty(0, np.int64), *self.split(epoch)])

    def fingerprint(self) -> dict[str, Any]:
        """The settings that must be equal for a saved state to apply, by the names of arguments."""
        return {
            "length": self.n,
            "samples_per_epoch": self.samples,
            "weights": None if self.weights is None else digest(self.weights),
            **{name: getattr(self, name) for name in ("seed", "shuffle", "drop_last", "even")},
        }

    def order_digest(self, epoch: int) -> str | None:
        """A digest of the order of an epoch, if `fingerprint` does not determine it; else None."""
        return None

    def validate(self) -> Self:
        """Return the schedule; ValueError where `drop_last` would leave no batch."""
        if self.drop_last and self.total < self.step:
            each = f" for each of {counted(self.world_size, 'rank')}" if self.world_size > 1 else ""
            raise ValueError(
                f"drop_last=True leaves no batch: an epoch has {counted(self.total, 'sample')}, and a batch of "
                f"{self.batch_size:,}{each} takes {self.step:,}; take a smaller batch_size, or drop_last=False"
            )
        return self

    @property
    def batches(self) -> int:
        """The number of batches of this rank in an epoch."""
        rounds, rest = divmod(self.total, self.step)
        piece = rank_slice(rest, self.rank, self.world_size)
        return rounds + (not self.drop_last and bool(rest) and (self.even or piece.stop > piece.start))


class BatchRequest(NamedTuple):
    """A request to a worker for one batch.

    Attributes:
        epoch: the epoch, which keys the draws.
        number: identifies the batch: the position in the epoch where it begins.
        indices: virtual indices of its samples.
    """

    epoch: int
    number: int
    indices: Indices


def batch_requests(plan: BatchSchedule, epoch: int, read: int = 0) -> Iterator[BatchRequest]:
    """The requests for the batches of `epoch` in order, after the first `read` samples of all ranks."""
    # Split now, not on the first `next`, which may run in another thread: a sampler draws.
    batches = plan.split(epoch, read) if read < plan.total else ()
    return (BatchRequest(epoch, read + k * plan.step, indices) for k, indices in enumerate(batches))


def weights_of(weights: Any, dataset: Any) -> npt.NDArray[np.float64] | None:
    """The weight of every sample, float64 (n,), from a loader's `weights=`."""
    if weights is None:
        return None
    if isinstance(weights, str):
        if weights != "balanced":
            raise ValueError(f"weights must be one number a sample or 'balanced', got {weights!r}")
        labels = np.asarray(_labels_of(dataset))
        if labels.ndim > 1:
            what = "weights='balanced' needs one label a sample, and these have several"
            raise ValueError(f"{what}: give one number a sample")
        _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
        weights = 1.0 / counts[inverse]
    return check_weights(weights, len(dataset))


def _labels_of(dataset: Any) -> Any:
    """The label of every sample, also through torch's Subset and ConcatDataset; ValueError for a dataset without."""
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
