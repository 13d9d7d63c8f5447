"""How often a plain DataLoader, or a transform, was asked for each sample, so that every pass draws anew.

Our own loader says the epoch with every batch; `set_epoch` says it, too. A DataLoader of torch does neither, and would
make the same images in every pass. So what it asks for is counted, sample by sample, in memory that is shared with
its workers. The k-th visit to a sample, from 0, is that of epoch k; once `set_epoch` was called, the first visit is
that of the epoch it said, and further ones are its repeats.

Of several processes that train one model each counts what it reads itself, and a sample comes to another one in every
pass. So the k-th visit in process r of w is that of epoch k·w + r: no two of them draw alike.

Only what a DataLoader asks for is counted: `ds[7]` in a notebook is the same image however often it is looked at.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from augrecipes.data.epochs import EpochClock, SharedState
from augrecipes.data.order import Share, share_of_process
from augrecipes.seeds import site_key

_log = logging.getLogger("augrecipes")

_COUNT, _STAMP = 0xFFFF, 0xFFFF  # the lower half of a cell counts, the upper half says since which `set_epoch`
_INDICES = 1 << 16  # of a transform, that are counted apart; others share their counts
_WORKERS = 1 << 10
# Keys of calls without an index begin here, beyond every index.
_CALLS = 1 << 62
_LARGEST = 1 << 40
_lock = threading.Lock()


class Visits(SharedState):
    """Counters, one a sample, shared as a `EpochClock` is: with workers, not with copies and files.

    Workers that ask for the same sample within the same microsecond may get the same number.

    Args:
        count: of samples.
        quiet: draws that move on are not worth a word.

    >>> clock, visits = EpochClock(), Visits(3, quiet=True)
    >>> visits.next(2, clock), visits.next(2, clock), visits.next(1, clock)
    ((0, 0), (1, 0), (0, 0))
    >>> clock.set(7)
    >>> visits.next(2, clock), visits.next(2, clock)
    ((7, 0), (7, 1))
    """

    def __init__(self, count: int, *, quiet: bool = False) -> None:
        self.quiet, self._sent = quiet, Share()
        self._cells = torch.zeros(count + 1, dtype=torch.int32)  # the last one: whether the log was told
        self._share()

    def next(self, sample: int, clock: EpochClock) -> tuple[int, int]:
        """The epoch and the repeat of the visit that begins now."""
        cells, since = self._cells.numpy().view(np.uint32), clock.changes & _STAMP
        stamp, count = divmod(int(cells[sample]), _COUNT + 1)
        earlier = count if stamp == since else 0
        cells[sample] = since << 16 | (earlier + 1) & _COUNT
        if clock.changes:
            return clock.epoch, earlier
        if earlier and not self.quiet and not cells[-1]:
            self._tell(cells)
        share = self.of_process()
        return clock.epoch + earlier * share.world_size + share.rank, 0

    def of_process(self) -> Share:
        """Which of several processes this is; a worker that was not forked knows it from the one that started it."""
        share = share_of_process()
        return self._sent if share.world_size == 1 else share

    def _tell(self, cells: np.ndarray[Any, Any]) -> None:
        worker = get_worker_info()
        if worker is None or worker.id == 0:  # of several workers one speaks, and the first has a batch in every pass
            cells[-1] = 1
            _log.warning(
                "samples are read again, and nobody has said set_epoch: each visit to a sample draws as the next epoch "
                "does. ds.set_epoch(epoch) before every pass says which one it is, and ar.loader counts by itself"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sent": self.of_process()}

    def _share(self) -> None:
        if self._cells.is_shared():  # type: ignore[no-untyped-call]
            return
        try:
            super()._share()
        except RuntimeError as error:  # /dev/shm is full
            _log.warning(
                "%s: workers of a plain DataLoader draw the same in every pass, unless ds.set_epoch(epoch) is said",
                error,
            )


class CallKeys(SharedState):
    """The keys of calls of a transform, and the epoch that they are of.

    A call takes the draws of an index that comes along, or those of the worker's next call. Both are counted in memory
    that is shared with workers, so that no call repeats the draws of an earlier one: not after workers ended and others
    began, and not in another process that trains the same model.

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
        self._visits = Visits(_INDICES, quiet=True)
        self._seen = torch.full((_INDICES,), -1, dtype=torch.int64)  # which index a count is of
        self._calls = torch.zeros((_WORKERS, 2), dtype=torch.int64)  # of each worker, and since which `set_epoch`
        self._share()

    def at(self, index: int | str) -> tuple[int, int]:
        """The epoch and the index of the next visit to an index, which may be a name.

        The first visit after `set_epoch(e)` is that of (e, index), and further ones are its repeats; where nobody says
        the epoch, the k-th visit to an index below 65,536 is that of epoch k.
        """
        number = site_key(index) % _LARGEST if isinstance(index, str) else int(index.__index__())
        if not 0 <= number < _LARGEST:
            raise ValueError(f"an index is from 0 to {_LARGEST - 1:,}, got {number}")
        cell, seen = number % _INDICES, self._seen.numpy()
        with _lock:
            epoch, repeat = self._visits.next(cell, self.clock)
            if seen[cell] != number:
                repeat, seen[cell] = 0, number
        return epoch, number + repeat * _LARGEST

    def next(self) -> tuple[int, int]:
        """The epoch and the index of the worker's next call."""
        worker = get_worker_info()
        row = 0 if worker is None else 1 + worker.id % (_WORKERS - 1)
        share, calls = self._visits.of_process(), self._calls.numpy()[row]
        with _lock:
            if calls[1] != self.clock.changes:
                calls[:] = 0, self.clock.changes
            count = int(calls[0])
            calls[0] += 1
        return self.clock.epoch, _CALLS + (count * share.world_size + share.rank) * _WORKERS + row
