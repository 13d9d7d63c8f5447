"""Several datasets as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, product, starmap
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from torch.utils.data import ConcatDataset

from augrecipes.compat.torch import asked_by_torch
from augrecipes.data.batches.epoch import Reading, clocks, current, leaves, reading
from augrecipes.data.batches.visits import Visits
from augrecipes.data.dataset import RecipeDataset


class Concat(ConcatDataset[Any]):
    """See `concat`, which makes one. Is a torch ConcatDataset.

    Attributes:
        classes: class names that the members share, or None.
        class_to_idx: their numbers, or None.
    """

    def __init__(self, datasets: Sequence[Any]) -> None:
        super().__init__([part for member in datasets for part in _parts(member)])
        self._clocks = [next(iter(clocks(member)), None) for member in self.datasets]
        self._keys = RepeatKeys.of(self.datasets)
        modes = {getattr(leaf, "mode", "eval") for leaf in leaves(self)}
        self._visits = Visits(len(self), quiet=modes == {"eval"})
        self.classes, self.class_to_idx = _shared_classes(self.datasets)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            epoch, virtual = key
            repeat, position = divmod(int(virtual), len(self))
            with reading(Reading(int(epoch), repeat)):
                return self[position]
        position = key.__index__()
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range for {len(self)} samples")
        position %= len(self)
        member = int(np.searchsorted(self.cumulative_sizes, position, side="right"))
        inner = position - (self.cumulative_sizes[member - 1] if member else 0)
        now, clock = current(), self._clocks[member]
        if now is None and clock is not None:
            now = Reading(*(self._visits.next(position, clock) if asked_by_torch() else (clock.epoch, 0)))
        if now is None:
            return self.datasets[member][inner]
        with reading(replace(now, repeat=self._keys.repeat(member, now.repeat))):
            return self.datasets[member][inner]

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

    A sample is the one that its own dataset gives, draws included, unless an earlier dataset of the same seed draws for
    the same index: then it is one of its repeats, so that no two samples share their draws. torch's ConcatDataset
    knows nothing of this: give its members different seeds.

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


@dataclass(frozen=True, slots=True)
class RepeatKeys:
    """Which repeats of its samples each part of a concat gives, so that no two parts make the same draws.

    Attributes:
        numbers: parts that would draw alike have different ones; 0 gives the samples as they are.
        spans: how far the indices of each part reach, which is what a repeat adds to them.
    """

    numbers: tuple[int, ...]
    spans: tuple[int, ...]

    @classmethod
    def of(cls, members: Sequence[Any]) -> RepeatKeys:
        """The keys of `members`, in order."""
        parts = [leaves(member) for member in members]
        numbers: list[int] = []
        for mine in parts:
            taken = {n for n, part in zip(numbers, parts, strict=False) if any(starmap(_alike, product(mine, part)))}
            numbers.append(next(n for n in count() if n not in taken))
        return cls(tuple(numbers), tuple(max(getattr(leaf, "_span", len(leaf)) for leaf in mine) for mine in parts))

    def repeat(self, part: int, again: int) -> int:
        """What repeat `again` of the whole is for a part.

        Every number has a stretch of indices to itself, long enough for the longest part.

        >>> [RepeatKeys((0, 1), (10, 10)).repeat(part, again) for again in (0, 1) for part in (0, 1)]
        [0, 1, 2, 3]
        >>> [RepeatKeys((0, 1), (10, 4)).repeat(part, again) for again in (0, 1) for part in (0, 1)]
        [0, 5, 4, 15]
        """
        parts = 1 + max(self.numbers)
        if parts == 1:
            return again
        stretch = self.spans[part] if len(set(self.spans)) == 1 else 2 * max(self.spans)
        return -(-(again * parts + self.numbers[part]) * stretch // self.spans[part])


def _alike(a: Any, b: Any) -> bool:
    """Whether some sample of one makes the draws of a sample of the other."""
    if not isinstance(a, RecipeDataset) or not isinstance(b, RecipeDataset):
        return a is b
    return a.seed == b.seed and (a.table is not b.table or bool(np.intersect1d(a.rows(), b.rows()).size))


def _parts(member: Any) -> list[Any]:
    """A concat's own parts, which have to differ from those of another one, too."""
    return list(member.datasets) if type(member) is Concat else [member]


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
