"""The order of an epoch: which samples, and in which sequence, as a pure function of a few integers.

An order is an array of virtual indices: sample `v % n` for the `v // n`-th time. Only the raw 64-bit output of
Philox4x64-10 is used, which is fixed by its paper; numpy's own shuffles may change between versions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from augrecipes.seeds import MASK, mix

Indices = npt.NDArray[np.int64]
_SHUFFLE, _WEIGHTS, _ONCE = 1, 2, 4  # keep the kinds of draws of one (seed, epoch) apart; 3 is that of `sampled`


def epoch_order(
    n: int,
    epoch: int,
    *,
    seed: int = 0,
    shuffle: bool = False,
    weights: npt.NDArray[np.float64] | None = None,
    replacement: bool = True,
    samples: int | None = None,
) -> Indices:
    """The virtual indices of one epoch, for all ranks together.

    Args:
        n: number of samples in the dataset.
        epoch: which epoch.
        seed: any integer.
        shuffle: a new permutation for every epoch (and for every pass over the data within one).
        weights: n non-negative numbers: draw in proportion to them.
        replacement: draw with replacement; else each pass over the data has every sample of positive weight once, the
            next always in proportion to the weights of those that are left.
        samples: length of the epoch; None is n. More than n goes over the data again, less takes the first ones.

    >>> epoch_order(3, epoch=0, samples=5)
    array([0, 1, 2, 3, 4])
    >>> sorted(epoch_order(5, epoch=0, shuffle=True).tolist())
    [0, 1, 2, 3, 4]
    """
    count = n if samples is None else samples
    if weights is not None and not replacement:
        found = np.flatnonzero(weights)
        passes = -(-count // len(found))
        waits = _waits(_uniform(passes * len(found), seed, epoch, _ONCE).reshape(passes, -1), weights[found])
        rows = found[np.argsort(waits, axis=1, kind="stable")]
        return (rows + np.arange(passes)[:, None] * n).ravel()[:count].astype(np.int64, copy=False)
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
    if passes == 1:
        return rows[0, :count].astype(np.int64, copy=False)
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


class DealtBatches(Sequence[Indices]):
    """Batches of one size, and maybe a last one behind them, each cut out when it is asked for: ten million batches are
    as large as their indices.

    Args:
        whole: int64 (batches, batch_size).
        rest: the last one; none where it is empty.
    """

    def __init__(self, whole: Indices, rest: Indices) -> None:
        self._whole, self._rest = whole, rest

    def __len__(self) -> int:
        return len(self._whole) + bool(len(self._rest))

    @overload
    def __getitem__(self, place: int) -> Indices: ...
    @overload
    def __getitem__(self, place: slice) -> list[Indices]: ...
    def __getitem__(self, place: int | slice) -> Indices | list[Indices]:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        k = range(len(self))[place]
        found: Indices = self._whole[k] if k < len(self._whole) else self._rest
        return found


def dealt(order: Indices, rank: int, world_size: int, batch_size: int, *, drop: bool = False) -> DealtBatches:
    """The batches of one rank, where `world_size` of them take turns: batch by batch, as one alone would read them.

    So batch k of an order is the same however many ranks there are. Only what is left behind the last whole round, less
    than a batch for each, is shared out in pieces that are as long as each other, or one sample longer; or `drop` it.

    >>> [[*dealt(np.arange(10), rank, 2, 3)] for rank in range(2)]
    [[array([0, 1, 2]), array([6, 7])], [array([3, 4, 5]), array([8, 9])]]
    """
    whole = len(order) // (world_size * batch_size) * world_size
    rest = order[whole * batch_size :]
    piece = rest[:0] if drop else rest[part(len(rest), rank, world_size)]
    return DealtBatches(order[: whole * batch_size].reshape(whole, batch_size)[rank::world_size], piece)


def part(count: int, rank: int, world_size: int) -> slice:
    """Where one rank's piece of `count` samples lies.

    >>> [part(5, rank, 3) for rank in range(3)]
    [slice(0, 1, None), slice(1, 3, None), slice(3, 5, None)]
    """
    return slice(rank * count // world_size, (rank + 1) * count // world_size)


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


def _waits(points: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The logarithm of how long each sample waits until it is drawn, where it is drawn at a rate of its weight.

    Whoever waits least is drawn in proportion to the weights, and so is the next among those that are left.
    """
    return _log(np.maximum(-_log(1.0 - points), 2.0**-54)) - _log(weights)


def _log(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The natural logarithm, with the same bits on every processor, as ranks must agree; numpy's own may differ."""
    mantissa, exponent = np.frexp(x)
    low = mantissa < np.sqrt(0.5)
    mantissa, exponent = np.where(low, 2 * mantissa, mantissa), exponent - low
    ratio = (mantissa - 1) / (mantissa + 1)
    square, series = ratio * ratio, np.zeros_like(ratio)
    for odd in range(23, 0, -2):
        series = series * square + 1 / odd
    found: npt.NDArray[np.float64] = 2 * ratio * series + exponent * math.log(2.0)
    return found


def _uniform(count: int, *key: int) -> npt.NDArray[np.float64]:
    """`count` floats in [0, 1) of 53 bits."""
    return (_raw(count, *key) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _raw(count: int, *key: int) -> npt.NDArray[np.uint64]:
    # Philox takes its stream from the key alone; the counter starts at zero.
    bits = np.random.Philox(key=np.array([key[0] & MASK, mix(*key)], np.uint64))
    return np.asarray(bits.random_raw(count), np.uint64)
