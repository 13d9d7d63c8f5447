"""Which sample an index of a dataset stands for: the row of its table, and the integer that keys its draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from augrecipes.compat.torch import is_called_by_dataloader
from augrecipes.data.checks import Key, as_index, check_indices, count, position_of
from augrecipes.data.epochs import EpochClock, check_epoch, current
from augrecipes.data.order import Indices, number_repeats
from augrecipes.data.visits import Visits


class SampleKeys:
    """Keys of the draws of a dataset's samples, by their positions.

    A key is the row of the table, plus multiples of the table's length for repeats: `key % rows` is the row. A subset
    keeps the keys that its samples have in the whole.

    Args:
        rows: how many the table has.
        samples: how many samples there are; None: one a row.
        quiet: visits that draw anew are not worth a word.

    Attributes:
        rows: the same.
        listed: the key of each sample, where they are not 0, 1, 2, ...; or None.
        span: keys of repeats of all samples lie so far apart.

    >>> keys = SampleKeys(4, 6)
    >>> keys.several([0, 5, 6]).tolist(), keys.rows_of_samples().tolist(), len(keys)
    ([0, 5, 8], [0, 1, 2, 3, 0, 1], 6)
    >>> keys.subset([5, 1, 5]).listed.tolist()
    [5, 1, 13]
    """

    def __init__(self, rows: int, samples: int | None = None, *, quiet: bool = False) -> None:
        self.rows = rows
        self.listed = None if samples is None else np.arange(count("samples_per_epoch", samples, 1), dtype=np.int64)
        self.span = rows * (1 + (len(self) - 1) // rows)
        self._visits = Visits(self.span, quiet=quiet)

    def __len__(self) -> int:
        return self.rows if self.listed is None else len(self.listed)

    def all(self) -> Indices:
        """The key of each sample."""
        return np.arange(self.rows) if self.listed is None else self.listed

    def rows_of_samples(self) -> Indices:
        """The row of each sample."""
        return self.all() % self.rows

    def key(self, position: int, repeat: int = 0) -> int:
        """The key of a sample, or of a repeat of it."""
        return (position if self.listed is None else int(self.listed[position])) + repeat * self.span

    def several(self, indices: Sequence[int] | Indices) -> Indices:
        """The keys of several indices, where those of `len(self)` and more stand for repeats."""
        repeats, positions = np.divmod(np.asarray(indices, np.int64), len(self))
        keys: Indices = (positions if self.listed is None else self.listed[positions]) + repeats * self.span
        return keys

    def row(self, index: Any) -> int:
        """The row that a user's index stands for; IndexError where `ds[index]` raises one."""
        return self.key(position_of(as_index(index), len(self))) % self.rows

    def subset(self, indices: Any, *, quiet: bool | None = None) -> Self:
        """Those of some samples, integers or one boolean each; what is listed again stands for a repeat.

        Args:
            indices: of the samples.
            quiet: as of the class, where visits are counted apart from those of the whole.
        """
        chosen: Self = object.__new__(type(self))
        positions = check_indices(indices, len(self))
        chosen.rows, chosen.listed = self.rows, number_repeats(self.all()[positions], self.span)
        chosen.span, chosen._visits = self.span * (1 + int(chosen.listed.max(initial=0)) // self.span), self._visits
        if quiet is not None or chosen.span > self.span:
            chosen._visits = Visits(chosen.span, quiet=self._visits.quiet if quiet is None else quiet)
        return chosen

    def resolve(self, keys: Sequence[Any], clock: EpochClock) -> list[Key]:
        """Users' keys as `(epoch, i)`: of the epoch that the loader says, that was set, or a DataLoader has come to."""
        now, n = current(), len(self)
        counts = now is None and any(not isinstance(key, tuple) for key in keys) and is_called_by_dataloader()
        resolved = []
        for key in keys:
            if isinstance(key, tuple):
                if len(key) != 2:
                    raise TypeError(f"ds[epoch, index] takes two integers, got {len(key)}")
                index = as_index(key[1])
                resolved.append((check_epoch(key[0]), index if index >= 0 else position_of(index, n)))
                continue
            position, epoch, repeat = position_of(as_index(key), n), clock.epoch, 0
            if now is not None:
                epoch, repeat = now.epoch, now.repeat
            elif counts:
                epoch, repeat = self._visits.next(self.key(position), clock)
            resolved.append((epoch, position + repeat * n))
        return resolved
