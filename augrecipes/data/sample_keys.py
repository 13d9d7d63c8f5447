"""SampleKeys: the row and the key of the draws of each index of a dataset; and counters of reads.

Our own loader sets the epoch of every batch, and `set_epoch` does, too. torch's DataLoader does neither, and would get
the same images in every pass. So its reads are counted, per sample, in memory shared with its workers. The k-th read of
a sample, from 0, is that of epoch k; after `set_epoch(e)`, the first read is that of epoch e, and further ones are its
repeats.

Of several processes that train one model, each counts only its own reads, and a sample moves between processes. So the
k-th read in process r of w is that of epoch k·w + r: no two processes draw alike.

Only reads of a DataLoader are counted: `ds[7]` in a notebook is always the same image.
"""

import threading
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from torch.utils.data import get_worker_info

from augrecipes.compat.torch import is_called_by_dataloader
from augrecipes.data.checks import as_index, check_indices, count, position_of
from augrecipes.data.epochs import EpochClock, SharedState, check_epoch, current
from augrecipes.data.order import Indices, Share, number_repeats, share_of_process
from augrecipes.errors import logger
from augrecipes.seeds import site_key

# An epoch, and an index that is not negative; from `len(ds)` on it is a repeat.
Key = tuple[int, int]

_COUNT, _STAMP = 0xFFFF, 0xFFFF  # the lower half of a cell counts reads, the upper half is the `set_epoch` they follow
_INDICES = 1 << 16  # indices of a transform with separate counts; others share them modulo this
_WORKERS = 1 << 10
# Keys of calls without an index begin here, above every index.
_CALLS = 1 << 62
_LARGEST = 1 << 40
_lock = threading.Lock()


class ReadCounter(SharedState):
    """Counts the reads of each sample. Like an `EpochClock` it is shared with workers, not with copies and files.

    Without a lock: workers that read the same sample within a microsecond may get the same number.

    Args:
        count: number of samples.
        quiet: do not warn of repeated reads.

    >>> clock, reads = EpochClock(), ReadCounter(3, quiet=True)
    >>> reads.next(2, clock), reads.next(2, clock), reads.next(1, clock)
    ((0, 0), (1, 0), (0, 0))
    >>> clock.set(7)
    >>> reads.next(2, clock), reads.next(2, clock)
    ((7, 0), (7, 1))
    """

    def __init__(self, count: int, *, quiet: bool = False) -> None:
        self.quiet, self._parent_share = quiet, Share()
        self._cells = torch.zeros(count + 1, dtype=torch.int32)  # the last one: whether the warning was logged
        self._share()

    def next(self, sample: int, clock: EpochClock) -> tuple[int, int]:
        """Count a read that begins now; return its epoch and repeat."""
        cells, since = self._cells.numpy().view(np.uint32), clock.changes & _STAMP
        stamp, count = divmod(int(cells[sample]), _COUNT + 1)
        earlier = count if stamp == since else 0
        cells[sample] = since << 16 | (earlier + 1) & _COUNT
        if clock.changes:
            return clock.epoch, earlier
        if earlier and not self.quiet and not cells[-1] and _is_first_worker():
            cells[-1] = 1
            logger.warning(
                "samples are read again, and nobody has said set_epoch: each visit to a sample draws as the next epoch "
                "does. ds.set_epoch(epoch) before every pass says which one it is, and ar.loader counts by itself"
            )
        rank, world_size = self.process_share()
        return clock.epoch + earlier * world_size + rank, 0

    def process_share(self) -> Share:
        """The share of this process; a spawned worker has it from its parent."""
        share = share_of_process()
        return self._parent_share if share.world_size == 1 else share

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parent_share": self.process_share()}

    def _share(self) -> None:
        if self._cells.is_shared():  # type: ignore[no-untyped-call]
            return
        try:
            super()._share()
        except RuntimeError as error:  # /dev/shm is full
            logger.warning(
                "%s: workers of a plain DataLoader draw the same in every pass, unless ds.set_epoch(epoch) is said",
                error,
            )


def _is_first_worker() -> bool:
    """Whether this process is not a worker, or the first one, which has a batch in every pass."""
    worker = get_worker_info()
    return worker is None or worker.id == 0


class CallKeys(SharedState):
    """The keys of the draws of a transform's calls, and its epoch.

    A call has the draws of its index, or of the worker's next call number. Both are counted in memory shared with
    workers, so that no call repeats the draws of an earlier one: neither after workers ended and others began, nor in
    another process that trains the same model.

    >>> keys = CallKeys()
    >>> keys.at(7), keys.at(7), keys.at(8)
    ((0, 7), (1, 7), (0, 8))
    >>> keys.clock.set(5)
    >>> keys.at(7) == (5, 7), keys.at(7) == (5, 7)
    (True, False)
    >>> keys.next() != keys.next()
    True
    """

    def __init__(self) -> None:
        self.clock = EpochClock()
        self._reads = ReadCounter(_INDICES, quiet=True)
        self._owners = torch.full((_INDICES,), -1, dtype=torch.int64)  # the index that each count belongs to
        self._calls = torch.zeros(
            (_WORKERS, 2), dtype=torch.int64
        )  # per worker: calls, and the `set_epoch` they follow
        self._share()

    def at(self, index: int | str) -> tuple[int, int]:
        """The epoch and the index of the next read of an index, which may be a name.

        The first read after `set_epoch(e)` is that of (e, index), and further ones are its repeats. Without
        `set_epoch`, the k-th read of an index below 65,536 is that of epoch k.
        """
        number = site_key(index) % _LARGEST if isinstance(index, str) else int(index.__index__())
        if not 0 <= number < _LARGEST:
            raise ValueError(f"an index is from 0 to {_LARGEST - 1:,}, got {number}")
        cell, owners = number % _INDICES, self._owners.numpy()
        with _lock:
            epoch, repeat = self._reads.next(cell, self.clock)
            if owners[cell] != number:
                repeat, owners[cell] = 0, number
        return epoch, number + repeat * _LARGEST

    def next(self) -> tuple[int, int]:
        """The epoch and the index of the worker's next call."""
        worker = get_worker_info()
        row = 0 if worker is None else 1 + worker.id % (_WORKERS - 1)
        (rank, world_size), calls = self._reads.process_share(), self._calls.numpy()[row]
        with _lock:
            if calls[1] != self.clock.changes:
                calls[:] = 0, self.clock.changes
            count = int(calls[0])
            calls[0] += 1
        return self.clock.epoch, _CALLS + (count * world_size + rank) * _WORKERS + row


class SampleKeys:
    """The keys of the draws of a dataset's samples, by position.

    A key is the row of the table, plus a multiple of the table's length for repeats: `key % rows` is the row. A subset
    keeps the keys of its samples.

    Args:
        rows: the number of rows of the table.
        samples: the number of samples; None: one per row.
        quiet: do not warn of repeated reads.

    Attributes:
        rows: the number of rows of the table.
        listed: the key of each sample; None if they are 0, 1, 2, ...
        span: the distance between the keys of successive repeats.

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
        self._reads = ReadCounter(self.span, quiet=quiet)

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
        """The keys of several indices; indices of `len(self)` and more are repeats."""
        repeats, positions = np.divmod(np.asarray(indices, np.int64), len(self))
        return (positions if self.listed is None else self.listed[positions]) + repeats * self.span

    def row(self, index: Any) -> int:
        """The row of a user's index; IndexError where it is out of range."""
        return self.key(position_of(as_index(index), len(self))) % self.rows

    def subset(self, indices: Any, *, quiet: bool | None = None) -> Self:
        """The keys of some samples; an index that occurs again becomes a repeat.

        Args:
            indices: integers, or one boolean per sample.
            quiet: count reads separately from the whole, and warn or not; None: share the counts.
        """
        chosen: Self = object.__new__(type(self))
        positions = check_indices(indices, len(self))
        chosen.rows, chosen.listed = self.rows, number_repeats(self.all()[positions], self.span)
        chosen.span, chosen._reads = self.span * (1 + int(chosen.listed.max(initial=0)) // self.span), self._reads
        if quiet is not None or chosen.span > self.span:
            chosen._reads = ReadCounter(chosen.span, quiet=self._reads.quiet if quiet is None else quiet)
        return chosen

    def resolve(self, keys: Sequence[Any], clock: EpochClock) -> list[Key]:
        """Users' keys as `(epoch, i)`, in the loader's epoch, the set epoch, or the epoch of a DataLoader's count."""
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
                epoch, repeat = self._reads.next(self.key(position), clock)
            resolved.append((epoch, position + repeat * n))
        return resolved
