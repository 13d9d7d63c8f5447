"""A short measurement: how many samples a second each backend reads of this dataset on this machine.

It reads samples of the first epoch, throws them away, and leaves no trace: draws are keyed, records go nowhere, and
what a dataset of the user's own takes from the process's random generators is given back.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from augrecipes.compat.torch import end_workers
from augrecipes.data.loading.choice import Backend, Choice, best, default_workers, from_environment, named
from augrecipes.data.loading.fetch import Draft, FetchDataset, as_it_is
from augrecipes.data.loading.sampler import BatchSchedule, orders
from augrecipes.data.loading.worker import WorkerInit, one_thread

_log = logging.getLogger("augrecipes")

# How long each backend reads. What is being read when that is over is read to its end.
SECONDS = 0.4
# Processes hand over batches of about this length: several of them within the time.
_BATCH_SECONDS = 0.02
# Batches that are looked at, over and over where that takes no time.
_BATCHES = 64
# Where a sample takes longer than this, nothing but its time is measured.
_SLOW_SECONDS = 0.5
# Processes that have sent nothing for so long are given up.
_PATIENCE_SECONDS = 3.0


def measured(
    dataset: Any, collate: Callable[[list[Any]], Any], plan: BatchSchedule, *, only: Backend | None, method: str
) -> Choice:
    """The choice behind `num_workers="auto"`; the log says what it is."""
    begin = perf_counter()
    choice = from_environment()
    if choice is None and only == "processes":
        choice = Choice("processes", default_workers(), "one for each core")
    if choice is None:
        found = rates(dataset, collate, plan, only=only, forks=method == "fork")
        choice = best(found, plan.batch_size, perf_counter() - begin)
        if choice.measured.keys() == {"batches"} and found["batches"] < 1 / _SLOW_SECONDS:
            backend: Backend = "threads" if FetchDataset(dataset, collate).ours else "processes"
            choice = replace(
                choice, backend=backend, workers=default_workers(), reason="samples take too long to try more"
            )
    _log.info("the loader reads with %s", choice)
    return choice


def rates(
    dataset: Any,
    collate: Callable[[list[Any]], Any],
    plan: BatchSchedule,
    *,
    only: Backend | None = None,
    forks: bool = True,
) -> dict[str, float]:
    """Samples a second by backend and number of workers, such as `threads:2`.

    Args:
        dataset: to read.
        collate: makes batches.
        plan: which samples.
        only: `threads`, to try nothing else.
        forks: processes are forked; others take seconds to start, and are not tried.
    """
    reader, most = FetchDataset(dataset, collate), default_workers()
    found: dict[str, float] = {}
    with _undisturbed():
        alone = _threads(reader, plan, 1)
        if only is None:
            found["batches"] = alone
            if alone < 1 / _SLOW_SECONDS:
                return found
        # A dataset that is not ours may not be made for threads.
        if only == "threads" or reader.ours:
            for count in sorted({most, max(2, most // 2)} if most > 1 else {1}):
                found[named("threads", count)] = _threads(FetchDataset(dataset, collate, readers=count), plan, count)
        if only is None and most > 1 and forks:
            size = min(plan.batch_size, max(1, int(alone * _BATCH_SECONDS)))
            rate = _processes(reader, replace(plan, batch_size=size), most)
            if rate is not None:
                found[named("processes", most)] = rate
    return found


def _threads(reader: FetchDataset, plan: BatchSchedule, count: int) -> float:
    """Samples a second of `count` threads that share batches, after each has read something."""
    jobs = _Jobs(reader, plan)
    start = threading.Barrier(count)
    done: list[tuple[int, float]] = []

    def read() -> None:
        begin = perf_counter()
        samples = jobs.work(0.0)
        if count == 1 and (seconds := perf_counter() - begin) > _SLOW_SECONDS * samples:
            done.append((samples, seconds))
            return
        start.wait()
        begin = perf_counter()
        done.append((jobs.work(SECONDS), perf_counter() - begin))

    def help_along() -> None:
        with suppress(threading.BrokenBarrierError):
            read()

    names = (f"augrecipes-trial-{k}" for k in range(1, count))
    others = [threading.Thread(target=help_along, name=name, daemon=True) for name in names]
    try:
        for thread in others:
            thread.start()
        read()
    except BaseException:
        jobs.over.set()
        start.abort()
        raise
    finally:
        for thread in others:
            if thread.ident is not None:
                thread.join()  # none may come out of native code while Python shuts down
    return sum(samples / seconds for samples, seconds in done)


class _Jobs:
    """Pieces of batches, for several threads.

    Attributes:
        over: set when they are to stop.
    """

    def __init__(self, reader: FetchDataset, plan: BatchSchedule) -> None:
        self._reader, self._plan = reader, plan
        self._pieces, self._lock = self._endless(), threading.Lock()
        self.over = threading.Event()

    def work(self, seconds: float) -> int:
        """Read for so long, and at least one piece; how many samples that were."""
        until, count = perf_counter() + seconds, 0
        while True:
            with self._lock:
                draft, piece = next(self._pieces)
            with suppress(Exception, SystemExit):  # the pass will tell
                if draft.work(piece):
                    draft.delivery()
            count += len(piece)
            if perf_counter() >= until or self.over.is_set():
                return count

    def _endless(self) -> Iterator[tuple[Draft, range]]:
        while True:
            for order in islice(orders(self._plan, 0), _BATCHES):
                draft = Draft(self._reader, order)
                for piece in draft.pieces:
                    yield draft, piece


def _processes(reader: FetchDataset, plan: BatchSchedule, count: int) -> float | None:
    """Samples a second that arrive from `count` forked processes, after each has sent a batch; None: too few did."""
    wanted = list(islice(orders(plan, 0), _BATCHES * count))
    inner: DataLoader[Any] = DataLoader(
        reader,
        batch_sampler=wanted,  # type: ignore[arg-type]  # torch calls any batch a list
        collate_fn=as_it_is,
        num_workers=count,
        multiprocessing_context="fork",
        worker_init_fn=WorkerInit(),
        generator=torch.Generator(),
        timeout=_PATIENCE_SECONDS,
    )
    arrived: list[tuple[int, float]] = []
    passing = iter(inner)
    try:
        for order in wanted:
            next(passing)
            arrived.append((len(order.indices), perf_counter()))
            if len(arrived) > count and arrived[-1][1] - arrived[count - 1][1] > SECONDS:
                break
    except Exception:  # the pass will tell
        arrived.clear()
    finally:
        end_workers(passing)
    counted = arrived[count:]
    if not counted:
        return None
    return sum(samples for samples, _ in counted) / (counted[-1][1] - arrived[count - 1][1])


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Libraries use one thread inside the block, and the process's random generators stay where they are."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        with one_thread():
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
