"""How often a plain DataLoader of torch has asked for each sample, so that every pass over the data draws anew.

Our own loader says the epoch with every batch; `set_epoch` says it, too. A DataLoader of torch does neither, and would
make the same pictures in every pass. So what it asks for is counted, sample by sample, in memory that is shared with
its workers. The k-th visit to a sample, from 0, is that of epoch k; once `set_epoch` was called, the first visit is
that of the epoch it said, and further ones are its repeats.

Of several processes that train one model each counts what it reads itself, and a sample comes to another one in every
pass. So the k-th visit in process r of w is that of epoch k·w + r: no two of them draw alike.

Only what a DataLoader asks for is counted: `ds[7]` in a notebook is the same picture however often it is looked at.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from augrecipes.data.batches.epoch import EpochClock
from augrecipes.data.batches.memory import free_shared
from augrecipes.data.batches.shares import ALONE, Share, found

_log = logging.getLogger("augrecipes")

_COUNT, _STAMP = 0xFFFF, 0xFFFF  # the lower half of a cell counts, the upper half says since which `set_epoch`


class Visits:
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
        self.quiet, self._sent = quiet, ALONE
        self._cells = torch.zeros(count + 1, dtype=torch.int32)  # the last one: whether the log was told
        self._share()

    def __len__(self) -> int:
        return len(self._cells) - 1

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
        share = found()
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()

    def _share(self) -> None:
        if self._cells.is_shared():  # type: ignore[no-untyped-call]
            return
        free = free_shared()
        if free is not None and free < self._cells.nbytes:
            _log.warning(
                "shared memory has no room for %d bytes: workers of a plain DataLoader repeat their draws in every "
                "pass, unless ds.set_epoch(epoch) is said",
                self._cells.nbytes,
            )
            return
        self._cells.share_memory_()  # type: ignore[no-untyped-call]
