"""Which epoch a sample is read for: set on the dataset, or said by the loader for each batch.

A dataset's own epoch lives in shared memory, so that workers see `set_epoch` without being restarted. Our loader
does not rely on it: it says the epoch with every batch (`reading`), and whatever wraps a dataset (torch's Subset and
ConcatDataset, a user's own wrapper) passes plain integers through and need not know of epochs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import ConcatDataset, Subset

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.data.skipping import Skipped

# Memory of a batch for one value of a sample, by its key; see `augrecipes.data.batching`.
Room = Callable[[str], Allocate]


class SharedState:
    """State in tensors that is shared with workers; stored in a file, or copied, it becomes one of its own."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()

    def _share(self) -> None:
        for value in vars(self).values():
            if isinstance(value, torch.Tensor):
                value.share_memory_()  # type: ignore[no-untyped-call]


class EpochClock(SharedState):
    """An epoch shared between a dataset, its subsets and the workers that hold copies of them.

    Survives pickling: sent to a worker it stays shared, stored in a file it becomes a clock of its own.

    >>> clock = EpochClock()
    >>> clock.set(3)
    >>> clock.epoch, clock.changes
    (3, 1)
    """

    def __init__(self) -> None:
        self._cells = torch.zeros(2, dtype=torch.int64)
        self._share()

    @property
    def epoch(self) -> int:
        """The epoch that was set last."""
        return int(self._seen[0])

    @property
    def changes(self) -> int:
        """How often the epoch was set: tells a loader that the user set it since the loader last looked."""
        return int(self._seen[1])

    def set(self, epoch: int) -> None:
        """Set the epoch for everyone who shares this clock; nothing while the loader says which epoch is read."""
        if current() is not None:
            return
        self._seen[0] = epoch
        self._seen[1] += 1

    def _share(self) -> None:
        super()._share()
        self._seen = self._cells.numpy()  # every sample asks; numpy answers in a tenth of the time


@dataclass(frozen=True, slots=True)
class Reading:
    """What the loader says of the sample that is being read.

    Attributes:
        epoch: overrides the dataset's own epoch.
        repeat: how often the position was handed out earlier in this epoch; repeats get draws of their own.
        defer: a broken file is reported to the loader (`SkipError`), which chooses the replacement.
        lost: where a dataset notes the parts of a sample that are left out; None: nobody collects them.
        room: memory that the sample's arrays may be written to; None: the sample has to bring its own.
        readers: how many threads of this process read at the same time.
    """

    epoch: int
    repeat: int = 0
    defer: bool = False
    lost: list[Skipped] | None = None
    room: Room | None = None
    readers: int = 1


_current: ContextVar[Reading | None] = ContextVar("augrecipes_reading", default=None)
_under_way: dict[int, Reading] = {}  # the same, by thread


def current() -> Reading | None:
    """What the loader says of the sample being read, or None outside of the loader.

    A thread that a user's own dataset reads in knows nothing of what was said to the one that waits for it: there, it
    is what is being read in this process.
    """
    now = _current.get()
    if now is None and _under_way and threading.current_thread() is not threading.main_thread():
        return next(iter([*_under_way.values()]), None)
    return now


@contextmanager
def reading(what: Reading) -> Iterator[None]:
    """Read samples as `what` says inside the block, whatever the datasets' own epoch is."""
    token, thread = _current.set(what), threading.get_ident()
    before = _under_way.get(thread)
    _under_way[thread] = what
    try:
        yield
    finally:
        _current.reset(token)
        if before is None:
            del _under_way[thread]
        else:
            _under_way[thread] = before


def check_epoch(epoch: Any) -> int:
    """`epoch` as an int; TypeError or ValueError where it is not a non-negative integer."""
    try:
        value = epoch.__index__()
    except AttributeError:
        raise TypeError(f"epoch must be an integer, got {type(epoch).__name__}") from None
    if not 0 <= value < 1 << 63:
        raise ValueError(f"epoch must be a non-negative 64-bit integer, got {epoch}")
    return int(value)


def clocks(dataset: Any) -> list[EpochClock]:
    """The clocks of every dataset of ours inside `dataset`, however torch's or a user's datasets wrap it."""
    return [leaf.clock for leaf in leaves(dataset) if _is_ours(leaf)]


def tell_epoch(dataset: Any, epoch: int) -> None:
    """Say the epoch to datasets that are not ours and have a `set_epoch`, however they are wrapped.

    What they hand on to ours is passed over: those are read as the loader says, and the user has set nothing.
    """
    with reading(Reading(epoch)):
        for each in wrappers(dataset):
            set_epoch = getattr(each, "set_epoch", None)
            if callable(set_epoch):
                set_epoch(epoch)


def wrappers(dataset: Any) -> list[Any]:
    """A dataset and those that it wraps, as far as they are not ours."""
    return [each for each, _ in _inside(dataset) if not _is_ours(each)]


def leaves(dataset: Any) -> list[Any]:
    """The innermost datasets, following `.dataset` (Subset and most wrappers) and `.datasets` (ConcatDataset)."""
    return [each for each, is_leaf in _inside(dataset) if is_leaf]


def _inside(dataset: Any, depth: int = 32) -> Iterator[tuple[Any, bool]]:
    """A dataset and those inside of it, from the outside in; of each whether it is an innermost one."""
    many, one = getattr(dataset, "datasets", None), getattr(dataset, "dataset", None)
    inner = [*many] if isinstance(many, list | tuple) and many else [] if one is None else [one]
    inner = [] if _is_ours(dataset) or not depth else inner
    yield dataset, not inner
    for each in inner:
        yield from _inside(each, depth - 1)


def read_through(dataset: Any, depth: int = 32) -> list[Any]:
    """The datasets that torch's own Subset and ConcatDataset hand on as they are; itself where it is neither."""
    if type(dataset) is Subset and depth:
        return read_through(dataset.dataset, depth - 1)
    if type(dataset) is ConcatDataset and depth:
        return [leaf for member in dataset.datasets for leaf in read_through(member, depth - 1)]
    return [dataset]


def _is_ours(dataset: Any) -> bool:
    return isinstance(getattr(dataset, "clock", None), EpochClock)
