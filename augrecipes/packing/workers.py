"""Bake rows in several processes, and yield them in order: the same bytes for any number of processes."""

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
    from augrecipes.packing.bake import BakedRow, Baker

_AHEAD = 3  # rows per worker that are being baked, or wait to be written
_BYTES = 32 << 20  # of pixels that a worker returns at a time, unless a single row has more
_baker: list[Baker] = []  # in a worker: the baker that it was started with


class WorkerDied(AugrecipesError):  # noqa: N818 - says what happened
    """A worker process ended unexpectedly."""


def bake_rows(baker: Baker, rows: range, workers: int) -> Iterator[BakedRow]:
    """Bake rows, and yield them in order.

    Args:
        baker: bakes the rows.
        rows: the rows to bake.
        workers: the number of processes; 0 bakes in this process.

    Raises:
        WorkerDied: a worker was killed, or crashed.
    """
    if not workers:
        for run in baker.runs(rows):
            yield from baker.bake(run)
        return
    pool = ProcessPoolExecutor(
        min(workers, max(1, len(rows))), get_context("spawn"), initializer=_start, initargs=(pickle.dumps(baker),)
    )
    waiting: deque[tuple[range, Future[list[BakedRow]]]] = deque()

    def first() -> list[BakedRow]:
        """Wait for the next rows; where a worker returns part of a run, queue the rest first."""
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
    """Initialise a worker process."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; only the parent handles it
    import_without_torch()
    _baker.append(pickle.loads(pickled))


def import_without_torch() -> None:
    """Import the libraries that baking needs, but not torch: importing it would take longer than all the rest."""
    without_torch()
    albumentations()  # before anything else imports it
    import cv2  # late: slow to import, and `end_with_parent` must run first

    cv2.setNumThreads(0)


def _bake(rows: range, most: int) -> list[BakedRow]:
    """Bake rows until they have `most` bytes or more; at least the first."""
    results: list[BakedRow] = []
    for row in _baker[0].bake(rows):
        results.append(row)
        most -= sum(item.size for items in row.items.values() for item in items)
        if most <= 0:
            break
    return results
