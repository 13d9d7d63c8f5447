"""What a key of a dataset asks for: which epoch, and which sample of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from augrecipes.compat.torch import asked_by_torch
from augrecipes.data.checks import as_index
from augrecipes.data.epochs import check_epoch, current

# An epoch, and an index that is not negative; from `len(ds)` on it stands for repeats.
Key = tuple[int, int]


def resolved(keys: Sequence[Any], n: int, epoch: int, visit: Callable[[int], tuple[int, int]]) -> list[Key]:
    """The keys `(epoch, i)`, and `i` of the epoch that the loader says, that was set, or that a DataLoader has come to.

    Args:
        keys: of a dataset.
        n: its length.
        epoch: that was set.
        visit: counts a visit of torch's DataLoader to a position, and gives its epoch and repeat.

    Raises:
        IndexError: out of range.
        TypeError: no integers.
    """
    now = current()
    counts = now is None and any(not isinstance(key, tuple) for key in keys) and asked_by_torch()
    found = []
    for key in keys:
        if isinstance(key, tuple):
            if len(key) != 2:
                raise TypeError(f"ds[epoch, index] takes two integers, got {len(key)}")
            index = as_index(key[1])
            found.append((check_epoch(key[0]), index if index >= 0 else position_of(index, n)))
            continue
        position = position_of(as_index(key), n)
        at, repeat = (now.epoch, now.repeat) if now is not None else visit(position) if counts else (epoch, 0)
        found.append((at, position + repeat * n))
    return found


def position_of(index: int, n: int) -> int:
    """An index of `n` samples, negative ones counted from the end; IndexError where it is out of range."""
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of range for {n} samples")
    return index % n
