"""Rows made by several processes, handed over in order: the same rows, and the same bytes, for any number of them."""

from __future__ import annotations

import pickle
import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TYPE_CHECKING

from augrecipes.compat.guard import albumentations, without_torch
from augrecipes.errors import AugrecipesError
from augrecipes.machine import end_with_parent

if TYPE_CHECKING:
    from augrecipes.packing.bake import Baked, Baker

_AHEAD = 3  # rows in the making or waiting to be written, for each worker
_BYTES = 32 << 20  # of pixels that a worker hands over at a time, unless a single row has more
_here: list[Baker] = []  # in a worker: what it was started with


class WorkerDied(AugrecipesError):  # noqa: N818 - what happened, as LoaderError's texts have it
    """A process that bakes rows ended before its time."""


def bake_rows(baker: Baker, rows: range, workers: int) -> Iterator[Baked]:
    """Every row of `rows`, in order.

    Args:
        baker: makes them.
        rows: which.
        workers: processes; 0 makes them in this one.

    Raises:
        WorkerDied: a process was killed, or crashed.
    """
    if not workers:
        for run in baker.runs(rows):
            yield from baker.bake(run)
        return
    pool = ProcessPoolExecutor(
        min(workers, max(1, len(rows))), get_context("spawn"), initializer=_start, initargs=(pickle.dumps(baker),)
    )
    waiting: deque[tuple[range, Future[list[Baked]]]] = deque()

    def first() -> list[Baked]:
        """The next rows, as far as a worker has made them; the rest of its run is then the next."""
        run, future = waiting.popleft()
        results = future.result()
        if rest := run[len(results) :]:
            waiting.appendleft((rest, pool.submit(_bake, rest, _BYTES)))
        return results

    try:
        for run in baker.runs(rows):
            waiting.append((run, pool.submit(_bake, run, _BYTES)))
            while len(waiting) > workers and sum(len(run) for run, _ in waiting) >= _AHEAD * workers:
                yield from first()
        while waiting:
            yield from first()
    except BrokenProcessPool as error:
        raise WorkerDied(
            "a worker process died; the system may have run out of memory and killed it (use fewer workers), or a "
            "library crashed (with 0 workers the reason shows); a script that starts workers does so under "
            'if __name__ == "__main__":'
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start(pickled: bytes) -> None:
    """Runs first in a worker. torch is left out: nothing here needs it."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent decides
    import_without_torch()
    _here.append(pickle.loads(pickled))


def import_without_torch() -> None:
    """Imports what rows are made with, without torch: nothing here needs it, and it takes longer than all the rest."""
    without_torch()
    albumentations()  # before anything else imports it
    import cv2  # late, like all that takes long: until here nobody watches the parent

    cv2.setNumThreads(0)


def _bake(rows: range, most: int) -> list[Baked]:
    """The first of some rows at least, and no more than have so many bytes."""
    results: list[Baked] = []
    for row in _here[0].bake(rows):
        results.append(row)
        most -= sum(item.size for items in row.items.values() for item in items)
        if most <= 0:
            break
    return results
