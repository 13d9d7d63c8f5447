"""Broken files under `on_error="skip"`: who takes their place, and the record of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from augrecipes.errors import DataError, Lines, harmless
from augrecipes.seeds import mix

_log = logging.getLogger("augrecipes")

# So many broken files in a row mean that the data set is broken, not a file.
MAX_TRIES = 1000


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
    files = {record.path: record.reason for record in records}
    lines = [harmless(f"  {path}: {reason}") for path, reason in files.items()]
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


def instead_of(
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


def in_its_place(error: DataError, others: Iterable[int], read: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """As `instead_of`, where no loader keeps records: the log tells of it."""
    sample: dict[str, Any] = instead_of(error, others, read)
    _log.warning("%s; %s is read in its place", error, sample["path"])
    return sample
