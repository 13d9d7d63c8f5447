"""What a loader says of the sample that is read: its epoch, memory of its batch, and what becomes of broken files.

A dataset's own epoch lives in shared memory, so that workers see `set_epoch` without being restarted. Our loader
does not rely on it: it says the epoch with every batch (`reading`), and whatever wraps a dataset (torch's Subset and
ConcatDataset, a user's own wrapper) passes plain integers through and need not know of epochs.

Under `on_error="skip"` another sample takes the place of a broken file, and a record says so.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd
from typing import Any

import torch
from torch.utils.data import ConcatDataset, Subset

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.errors import DataError, Lines, harmless
from augrecipes.seeds import key_part, mix

# Memory of a batch for one value of a sample, by its key; see `augrecipes.data.batching`.
AllocateKey = Callable[[str], Allocate]
# So many broken files in a row mean that the data set is broken, not a file.
MAX_TRIES = 1000
_log = logging.getLogger("augrecipes")


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
    >>> clock.follow(4)
    >>> clock.epoch, clock.changes, clock.request
    (4, 2, (3, 1))
    """

    def __init__(self) -> None:
        self._cells = torch.zeros(4, dtype=torch.int64)
        self._share()

    @property
    def epoch(self) -> int:
        """The epoch that was set last."""
        return int(self._seen[0])

    @property
    def changes(self) -> int:
        """How often the epoch was set, by whomever: reads are counted anew."""
        return int(self._seen[1])

    @property
    def request(self) -> tuple[int, int]:
        """The epoch that the user set last, and how often: tells a loader that this happened since it last looked."""
        return int(self._seen[2]), int(self._seen[3])

    def set(self, epoch: int) -> None:
        """Set the epoch for everyone who shares this clock; nothing while the loader says which epoch is read."""
        if current() is not None:
            return
        self.follow(epoch)
        self._seen[2:] = epoch, self._seen[3] + 1

    def follow(self, epoch: int) -> None:
        """Set the epoch that a DataLoader reads by a loader's sampler, which is no request of the user's."""
        self._seen[:2] = epoch, self._seen[1] + 1

    def _share(self) -> None:
        super()._share()
        self._seen = self._cells.numpy()  # every sample asks; numpy answers in a tenth of the time


@dataclass(frozen=True, slots=True)
class Skipped:
    """A sample that could not be read, and what was handed out in its place; or a tile that was left out of its bag.

    Attributes:
        path: the broken file.
        reason: why it could not be read, or which step failed and why.
        epoch: in which epoch.
        index: the sample's index in its dataset.
        replacement: path of the sample that took its place, when it has one.
        bag: the bag that a tile was left out of; None for whole samples.
    """

    path: str
    reason: str
    epoch: int
    index: int
    replacement: str | None = None
    bag: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the loader says of the sample that is being read.

    Attributes:
        epoch: overrides the dataset's own epoch.
        repeat: how often the position was handed out earlier in this epoch; repeats get draws of their own.
        lost: where a dataset notes the parts of a sample that are left out; a broken file is reported to the loader
            (`SkipError`), which chooses the replacement. None: nobody collects them.
        allocate: memory that the sample's arrays may be written to; None: the sample has to bring its own.
        readers: how many threads of this process read at the same time.
    """

    epoch: int
    repeat: int = 0
    lost: list[Skipped] | None = None
    allocate: AllocateKey | None = None
    readers: int = 1


_under_way: dict[int, Reading] = {}  # by thread


def current() -> Reading | None:
    """What the loader says of the sample being read, or None outside of the loader.

    A thread that a user's own dataset reads in knows nothing of what was said to the one that waits for it: there, it
    is what is being read in this process.
    """
    now = _under_way.get(threading.get_ident())
    if now is None and _under_way and threading.current_thread() is not threading.main_thread():
        return next(iter([*_under_way.values()]), None)
    return now


@contextmanager
def reading(what: Reading) -> Iterator[None]:
    """Read samples as `what` says inside the block, whatever the datasets' own epoch is."""
    thread = threading.get_ident()
    before = _under_way.get(thread)
    _under_way[thread] = what
    try:
        yield
    finally:
        if before is None:
            del _under_way[thread]
        else:
            _under_way[thread] = before


def check_epoch(epoch: Any) -> int:
    """`epoch` as an int; TypeError or ValueError where it is not a non-negative integer."""
    return key_part("epoch", epoch)


def clocks(dataset: Any) -> list[EpochClock]:
    """The clocks of every dataset of ours inside `dataset`, however torch's or a user's datasets wrap it."""
    return [each.clock for each in _inside(dataset) if _is_ours(each)]


def set_foreign_epoch(dataset: Any, epoch: int) -> None:
    """Say the epoch to datasets that are not ours and have a `set_epoch`, however they are wrapped.

    What they hand on to ours is passed over: those are read as the loader says, and the user has set nothing.
    """
    with reading(Reading(epoch)):
        for each in wrappers(dataset):
            if callable(set_epoch := getattr(each, "set_epoch", None)):
                set_epoch(epoch)


def wrappers(dataset: Any) -> list[Any]:
    """A dataset and those that it wraps, as far as they are not ours."""
    return [each for each in _inside(dataset) if not _is_ours(each)]


def leaves(dataset: Any) -> list[Any]:
    """The innermost datasets, following `.dataset` (Subset and most wrappers) and `.datasets` (ConcatDataset)."""
    return [each for each in _inside(dataset) if not _wrapped(each)]


def unwrapped(dataset: Any) -> list[Any]:
    """The datasets that torch's own Subset and ConcatDataset hand on as they are; itself where it is neither."""
    parts = _wrapped(dataset) if type(dataset) in (Subset, ConcatDataset) else []
    return [leaf for each in parts for leaf in unwrapped(each)] or [dataset]


def _inside(dataset: Any, depth: int = 32) -> list[Any]:
    """A dataset and those inside of it, from the outside in."""
    return [dataset, *(inner for each in _wrapped(dataset) if depth for inner in _inside(each, depth - 1))]


def _wrapped(dataset: Any) -> list[Any]:
    several, single = getattr(dataset, "datasets", None), getattr(dataset, "dataset", None)
    if _is_ours(dataset):
        return []
    return [*several] if isinstance(several, list | tuple) and several else [] if single is None else [single]


def _is_ours(dataset: Any) -> bool:
    return isinstance(getattr(dataset, "clock", None), EpochClock)


class SkipError(DataError):
    """Raised inside the loader by a dataset with `on_error="skip"`: read another sample, and keep a record.

    Args:
        error: what was wrong with the sample.
        seed: the dataset's seed.
        index: the sample's virtual index.
    """

    def __init__(self, error: DataError, seed: int, index: int) -> None:
        self.error, self.seed, self.index = error, seed, index
        super().__init__(error.reason, error.path, error.step)

    def __reduce__(self) -> tuple[type[SkipError], tuple[DataError, int, int]]:  # type: ignore[override]
        return type(self), (self.error, self.seed, self.index)


def report(records: Sequence[Skipped], most: int = 50) -> Lines:
    """What a log says of a pass's records: how many of which sort, and the files with the reasons.

    >>> print(report([Skipped("a.png", "cut off", 0, 1, "b.png"), Skipped("s/1.png", "empty", 0, 2, bag="s")]))
    1 samples could not be read and were replaced, 1 tiles were left out of their bags:
      a.png: cut off
      s/1.png: empty
    """
    tiles = sum(record.bag is not None for record in records)
    counts = {
        "samples could not be read and were replaced": len(records) - tiles,
        "tiles were left out of their bags": tiles,
    }
    lines = [harmless(f"  {path}: {why}") for path, why in {record.path: record.reason for record in records}.items()]
    if len(lines) > most:
        lines[most:] = [f"  and {len(lines) - most} more files, in the loader's .skipped"]
    return Lines("\n".join([", ".join(f"{n} {what}" for what, n in counts.items() if n) + ":", *lines]))


def candidates(seed: int, epoch: int, index: int, n: int) -> Iterator[int]:
    """Positions to read instead of a broken sample: a walk over all n, or MAX_TRIES of them, decided by the arguments.

    >>> sorted(candidates(0, 0, 3, n=5))
    [0, 1, 2, 3, 4]
    """
    start, step = mix(seed, epoch, index) % n, 1 + mix(seed, epoch, index, 1) % n
    while gcd(step, n) != 1:
        step += 1
    for k in range(min(n, MAX_TRIES)):
        yield (start + k * step) % n


def first_readable(
    error: DataError, others: Iterable[int], read: Callable[[int], Any], failing: type[DataError] = DataError
) -> Any:
    """The first of `others` that can be read; a DataError, with what was wrong at first, where none can."""
    tried = 0
    for other in others:
        try:
            return read(other)
        except failing:
            tried += 1
    raise DataError(
        f"{error.reason}; and none of {tried} other samples tried in its place could be read either, "
        "so on_error='skip' has nothing to hand out",
        error.path,
        error.step,
    ) from error


def replace_logged(error: DataError, others: Iterable[int], read: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """As `first_readable`, where no loader keeps records: the log tells of it."""
    sample: dict[str, Any] = first_readable(error, others, read)
    _log.warning("%s; %s is read in its place", error, sample["path"])
    return sample
