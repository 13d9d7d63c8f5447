"""What a key of a dataset asks for: which epoch, and which sample of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from augrecipes.compat.torch import asked_by_torch
from augrecipes.data.batches.epoch import check_epoch, current
from augrecipes.data.checks import as_index

if TYPE_CHECKING:
    from augrecipes.data.dataset import SampleDataset

# An epoch, and an index that is not negative; from `len(ds)` on it stands for repeats.
Key = tuple[int, int]


def resolved(ds: SampleDataset, keys: Sequence[Any]) -> list[Key]:
    """The keys `(epoch, i)`, and `i` of the epoch that the loader says, that was set, or that a DataLoader has come to.

    Raises:
        IndexError: out of range.
        TypeError: no integers.
    """
    now, n = current(), len(ds)
    counts = now is None and any(not isinstance(key, tuple) for key in keys) and asked_by_torch()
    found = []
    for key in keys:
        if isinstance(key, tuple):
            if len(key) != 2:
                raise TypeError(f"ds[epoch, index] takes two integers, got {len(key)}")
            epoch, index = check_epoch(key[0]), as_index(key[1])
            found.append((epoch, index if index >= 0 else ds._position(index)))
            continue
        position = ds._position(as_index(key))
        if now is not None:
            epoch, repeat = now.epoch, now.repeat
        elif counts:
            epoch, repeat = ds._visits.next(ds._virtual(position), ds.clock)
        else:
            epoch, repeat = ds.clock.epoch, 0
        found.append((epoch, position + repeat * n))
    return found
