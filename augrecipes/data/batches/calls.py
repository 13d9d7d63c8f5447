"""Which draws a call of a transform takes: those of an index that comes along, or those of the worker's next call.

Both are counted in memory that is shared with workers, as datasets' visits are, so that no call repeats the draws of an
earlier one: not after workers ended and others began, and not in another process that trains the same model.
"""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch.utils.data import get_worker_info

from augrecipes.data.batches.epoch import EpochClock
from augrecipes.data.batches.visits import Visits
from augrecipes.seeds import site_key

_INDICES = 1 << 16  # that are counted apart; others share their counts
_WORKERS = 1 << 10
# Keys of calls without an index begin here, beyond every index.
_CALLS = 1 << 62
_LARGEST = 1 << 40
_lock = threading.Lock()


class CallKeys:
    """The keys of calls, and the epoch that they are of.

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

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()

    def _share(self) -> None:
        self._seen.share_memory_()  # type: ignore[no-untyped-call]
        self._calls.share_memory_()  # type: ignore[no-untyped-call]
