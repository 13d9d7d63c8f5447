"""The order of an epoch: which samples, and in which sequence, as a pure function of a few integers.

An order is an array of virtual indices: sample `v % n` for the `v // n`-th time. Only the raw 64-bit output of
Philox4x64-10 is used, which is fixed by its paper; numpy's own shuffles may change between versions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.seeds import MASK, mix

Indices = npt.NDArray[np.int64]
_SHUFFLE, _WEIGHTS = 1, 2  # keeps the two kinds of draws of one (seed, epoch) apart


def epoch_order(
    n: int,
    epoch: int,
    *,
    seed: int = 0,
    shuffle: bool = False,
    weights: npt.NDArray[np.float64] | None = None,
    samples: int | None = None,
) -> Indices:
    """The virtual indices of one epoch, for all ranks together.

    Args:
        n: number of samples in the dataset.
        epoch: which epoch.
        seed: any integer.
        shuffle: a new permutation for every epoch (and for every pass over the data within one).
        weights: n non-negative numbers: draw with replacement, in proportion to them.
        samples: length of the epoch; None is n. More than n goes over the data again, less takes the first ones.

    >>> epoch_order(3, epoch=0, samples=5)
    array([0, 1, 2, 3, 4])
    >>> sorted(epoch_order(5, epoch=0, shuffle=True).tolist())
    [0, 1, 2, 3, 4]
    """
    count = n if samples is None else samples
    if weights is not None:
        cumulative = np.cumsum(weights)
        points = _uniform(count, seed, epoch, _WEIGHTS) * cumulative[-1]
        # Rounding may put a point at the very end, behind the last sample of positive weight.
        last = int(np.flatnonzero(weights)[-1])
        return number_repeats(np.minimum(np.searchsorted(cumulative, points, side="right"), last).astype(np.int64), n)
    if not shuffle:
        return np.arange(count, dtype=np.int64)
    # One row a pass over the data. Sorting random 64-bit keys shuffles: equal keys are as good as impossible, and the
    # stable sort settles them. The first pass is the same however many there are.
    passes = -(-count // n)
    rows = np.argsort(_raw(passes * n, seed, epoch, _SHUFFLE, 0).reshape(passes, n), axis=1, kind="stable")
    return (rows + np.arange(passes)[:, None] * n).ravel()[:count].astype(np.int64, copy=False)


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


def evened(order: Indices, world_size: int, n: int, *, drop: bool = False) -> Indices:
    """An epoch of n samples that `world_size` ranks can share out evenly: samples are added from its beginning.

    They are repeats, with draws of their own. With `drop` the last few indices are left out instead.

    >>> evened(np.array([2, 0, 1]), 2, 3), evened(np.array([2, 0, 1]), 2, 3, drop=True)
    (array([2, 0, 1, 5]), array([2, 0]))
    """
    if drop:
        return order[: len(order) // world_size * world_size]
    missing = -len(order) % world_size
    if not missing:
        return order
    # Those that are there already keep their numbers: `number_repeats` counts as `epoch_order` does.
    return number_repeats(np.concatenate((order, np.resize(order, missing))) % n, n)


def shard(order: Indices, rank: int, world_size: int) -> Indices:
    """Every `world_size`-th index from `rank` on: all ranks together hold each index once.

    >>> shard(np.arange(5), 0, 2), shard(np.arange(5), 1, 2)
    (array([0, 2, 4]), array([1, 3]))
    """
    return order[rank::world_size]


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


def _uniform(count: int, *key: int) -> npt.NDArray[np.float64]:
    """`count` floats in [0, 1) of 53 bits."""
    return (_raw(count, *key) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _raw(count: int, *key: int) -> npt.NDArray[np.uint64]:
    # Philox takes its stream from the key alone; the counter starts at zero.
    bits = np.random.Philox(key=np.array([key[0] & MASK, mix(*key)], np.uint64))
    return np.asarray(bits.random_raw(count), np.uint64)
