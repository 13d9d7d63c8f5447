"""Epochs: how a loader tells datasets the epoch of a sample, the memory of its batch, and where to report broken files.

A dataset's own epoch lives in shared memory, so that workers see `set_epoch` without a restart. Our loader does not
rely on it: it sets the epoch for every batch (`reading`), so wrappers of a dataset (torch's Subset and ConcatDataset, a
user's own) may pass plain integers through and need not know of epochs.

Under `on_error="skip"` another sample replaces a broken file, and a record says so.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd
from typing import Any

import torch
from torch.utils.data import ConcatDataset, Subset

from augrecipes.compiler.kernels.sink import Allocate
from augrecipes.errors import DataError, Lines, harmless, logger
from augrecipes.seeds import key_part, mix

# Allocates memory of a batch for one value of a sample, by its key; see `augrecipes.data.batching`.
AllocateKey = Callable[[str], Allocate]
# This many broken files in a row mean that the data set is broken, not a file.
MAX_TRIES = 1000


class SharedState:
    """State in tensors that are shared with workers; a pickle in a file, or a copy, gets tensors of its own."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()

    def _share(self) -> None:
        for value in vars(self).values():
            if isinstance(value, torch.Tensor):
                value.share_memory_()  # type: ignore[no-untyped-call]


class EpochClock(SharedState):
    """The epoch that a dataset shares with its subsets and with the copies of them in workers.

    It can be pickled: sent to a worker it stays shared, stored in a file it becomes a clock of its own.

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
        return int(self._array[0])

    @property
    def changes(self) -> int:
        """How often the epoch was set, by the user or a loader; each time, counting of reads starts again."""
        return int(self._array[1])

    @property
    def request(self) -> tuple[int, int]:
        """The epoch that the user set last, and how often, by which a loader notices a new request."""
        return int(self._array[2]), int(self._array[3])

    def set(self, epoch: int) -> None:
        """Set the epoch for all who share this clock; no effect while a loader dictates the epoch."""
        if current() is not None:
            return
        self.follow(epoch)
        self._array[2:] = epoch, self._array[3] + 1

    def follow(self, epoch: int) -> None:
        """Set the epoch that a DataLoader reads with a loader's sampler, without counting as a user's request."""
        self._array[:2] = epoch, self._array[1] + 1

    def _share(self) -> None:
        super()._share()
        self._array = self._cells.numpy()  # read for every sample; numpy takes a tenth of torch's time


@dataclass(frozen=True, slots=True)
class Skipped:
    """The record of a sample that could not be read and was replaced; or of a tile that was left out of its bag.

    Attributes:
        path: the broken file.
        reason: why it could not be read, or which step failed and why.
        epoch: the epoch.
        index: the sample's index in its dataset.
        replacement: path of the replacing sample, if it has one.
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
    """A loader's instructions for the sample that is being read.

    Attributes:
        epoch: overrides the dataset's own epoch.
        repeat: how often the position came earlier in this epoch; repeats get draws of their own.
        left_out: receives records of parts that a dataset leaves out of a sample; a broken file is reported to the
            loader by a `SkipError`, and the loader chooses the replacement. None: nobody collects records.
        allocate: allocates the memory for the sample's arrays; None: the sample allocates its own.
        readers: the number of threads of this process that read at the same time.
    """

    epoch: int
    repeat: int = 0
    left_out: list[Skipped] | None = None
    allocate: AllocateKey | None = None
    readers: int = 1


_by_thread: dict[int, Reading] = {}


def current() -> Reading | None:
    """The loader's instructions for the sample being read, or None outside of a loader.

    In a thread that a user's own dataset starts, they are those of any thread of this process that reads.
    """
    now = _by_thread.get(threading.get_ident())
    if now is None and _by_thread and threading.current_thread() is not threading.main_thread():
        return next(iter([*_by_thread.values()]), None)
    return now


@contextmanager
def reading(instructions: Reading) -> Iterator[None]:
    """Follow these instructions inside the block, whatever the datasets' own epoch is."""
    thread = threading.get_ident()
    before = _by_thread.get(thread)
    _by_thread[thread] = instructions
    try:
        yield
    finally:
        if before is None:
            del _by_thread[thread]
        else:
            _by_thread[thread] = before


def check_epoch(epoch: Any) -> int:
    """`epoch` as an int; TypeError or ValueError where it is not a non-negative integer."""
    return key_part("epoch", epoch)


def clocks(dataset: Any) -> list[EpochClock]:
    """The clocks of all our datasets inside `dataset`, however torch's or a user's datasets wrap them."""
    return [each.clock for each in _nested_datasets(dataset) if _is_ours(each)]


def set_foreign_epoch(dataset: Any, epoch: int) -> None:
    """Call the `set_epoch` of datasets that are not ours, however they are wrapped.

    Where they pass the call on to ours, it has no effect: it is no request of the user's.
    """
    with reading(Reading(epoch)):
        for each in wrappers(dataset):
            if callable(set_epoch := getattr(each, "set_epoch", None)):
                set_epoch(epoch)


def wrappers(dataset: Any) -> list[Any]:
    """A dataset and those that it wraps, without our own."""
    return [each for each in _nested_datasets(dataset) if not _is_ours(each)]


def leaves(dataset: Any) -> list[Any]:
    """The innermost datasets, following `.dataset` (Subset and most wrappers) and `.datasets` (ConcatDataset)."""
    return [each for each in _nested_datasets(dataset) if not _wrapped(each)]


def unwrapped(dataset: Any) -> list[Any]:
    """The datasets inside torch's Subset and ConcatDataset, which pass samples on unchanged; or the dataset itself."""
    parts = _wrapped(dataset) if type(dataset) in (Subset, ConcatDataset) else []
    return [leaf for each in parts for leaf in unwrapped(each)] or [dataset]


def _nested_datasets(dataset: Any, depth: int = 32) -> list[Any]:
    """A dataset and those inside it, outermost first."""
    return [dataset, *(inner for each in _wrapped(dataset) if depth for inner in _nested_datasets(each, depth - 1))]


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
        error: why the sample could not be read.
        seed: the dataset's seed.
        index: the sample's virtual index.
    """

    def __init__(self, error: DataError, seed: int, index: int) -> None:
        self.error, self.seed, self.index = error, seed, index
        super().__init__(error.reason, error.path, error.step)

    def __reduce__(self) -> "tuple[type[SkipError], tuple[DataError, int, int]]":  # type: ignore[override]
        return type(self), (self.error, self.seed, self.index)


def report(records: Sequence[Skipped], most: int = 50) -> Lines:
    """The text of a pass's records for the log: their numbers, and the files with the reasons.

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
    """Yield positions to read instead of a broken sample: a pseudo-random walk over all n, or MAX_TRIES of them.

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
    """Read the first readable of `others`; a DataError with the first reason where none is."""
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
    """As `first_readable`, with a warning in the log instead of a loader's record."""
    sample: dict[str, Any] = first_readable(error, others, read)
    logger.warning("%s; %s is read in its place", error, sample["path"])
    return sample
