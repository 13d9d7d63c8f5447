"""Several datasets as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from torch.utils.data import ConcatDataset

from augrecipes.data.batches.epoch import Reading, clocks, current, reading


class Concat(ConcatDataset[Any]):
    """See `concat`, which makes one. Is a torch ConcatDataset.

    Attributes:
        classes: class names that the members share, or None.
        class_to_idx: their numbers, or None.
    """

    def __init__(self, datasets: Sequence[Any]) -> None:
        super().__init__(datasets)
        members = self.datasets
        self._times = [sum(other is member for other in members) for member in members]
        self._earlier = [sum(other is member for other in members[:i]) for i, member in enumerate(members)]
        self.classes, self.class_to_idx = _shared_classes(members)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            epoch, virtual = key
            repeat, position = divmod(int(virtual), len(self))
            with reading(Reading(int(epoch), repeat)):
                return self[position]
        position = key.__index__()
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range for {len(self)} samples")
        member = int(np.searchsorted(self.cumulative_sizes, position % len(self), side="right"))
        inner = position % len(self) - (self.cumulative_sizes[member - 1] if member else 0)
        dataset = self.datasets[member]
        if self._times[member] == 1:
            return dataset[inner]
        # The same dataset more than once: every occurrence makes draws of its own.
        now = current() or Reading(self.epoch)
        with reading(replace(now, repeat=now.repeat * self._times[member] + self._earlier[member])):
            return dataset[inner]

    @property
    def epoch(self) -> int:
        """The epoch that `set_epoch` set last, of the first member that has one."""
        return next((clock.epoch for clock in clocks(self)), 0)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of every member."""
        for clock in clocks(self):
            clock.set(epoch)

    @property
    def labels(self) -> npt.NDArray[np.int64] | None:
        """Label of every sample, int64 (n,), or None where a member has none."""
        return cast("npt.NDArray[np.int64] | None", self._joined("labels"))

    @property
    def weights(self) -> npt.NDArray[np.float64] | None:
        """Weight of every sample, float64 (n,), or None where a member has none."""
        return cast("npt.NDArray[np.float64] | None", self._joined("weights"))

    def _joined(self, name: str) -> Any:
        parts = [getattr(member, name, None) for member in self.datasets]
        return None if any(part is None for part in parts) else np.concatenate(parts)  # type: ignore[arg-type]


def concat(datasets: Sequence[Any]) -> Concat:
    """Join datasets, one after another.

    A sample is the one that its own dataset gives, draws included. A dataset that is listed more than once makes new
    draws each time. Equal indices of different datasets draw alike if their seeds and recipes are equal: give them
    different seeds, or list the roots in one dataset.

    Args:
        datasets: ours or any others with a length. Classes, where there are any, must be the same.

    Raises:
        ValueError: nothing to join, or datasets that number their classes differently.

    >>> both = concat([["a", "b"], ["c"]])
    >>> len(both), both[2]
    (3, 'c')
    """
    datasets = list(datasets)
    if not datasets:
        raise ValueError("concat needs at least one dataset")
    return Concat(datasets)


def _shared_classes(members: Sequence[Any]) -> tuple[list[str] | None, dict[str, int] | None]:
    found = [(i, getattr(member, "class_to_idx", None)) for i, member in enumerate(members)]
    known = [(i, classes) for i, classes in found if classes]
    for i, classes in known[1:]:
        if classes != known[0][1]:
            raise ValueError(
                f"datasets {known[0][0]} and {i} number their classes differently: {known[0][1]} and {classes}; "
                "list the roots in one dataset, which numbers them together"
            )
    if not known:
        return None, None
    return getattr(members[known[0][0]], "classes", None), known[0][1]
