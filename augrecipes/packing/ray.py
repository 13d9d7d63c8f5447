"""Pack on a Ray cluster, or on one that is started here: each part of a packing is a task; then merge the parts.

This process lists the data once and sends the packing to the tasks, which write the same parts as `--part`, into a
folder that all machines see. Failed tasks are retried; complete parts are kept, even after a kill.

Ray imports this module on all machines before it calls anything, so nothing large is imported at the top: torch, which
no part needs, would take longer to import than all the rest.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augrecipes.errors import AugrecipesError, StoreError
from augrecipes.packing.parts import PackPart
from augrecipes.packing.workers import WorkerDied, import_without_torch
from augrecipes.progress import Progress

if TYPE_CHECKING:
    from augrecipes.packing.plan import Packing

TRIES = 3  # attempts to write a part
_CANCEL = 60  # seconds that cancelled tasks have to end
_PARTS, _SMALLEST = 64, 64  # the default: at most so many parts, of at least so many rows, on every cluster
_CONNECT = 10  # seconds that a cluster has to accept a connection


def write_on_ray(
    packing: Packing,
    *,
    address: str | None = None,
    parts: int | None = None,
    on_error: str = "skip",
    advance: Progress | None = None,
) -> Packing:
    """Write a prepared packing in parts on a Ray cluster; the samples equal those that one process writes.

    Args:
        packing: a whole store's packing. Its folder must have the same path on all machines of the cluster; the parts
            are written there, and it becomes the store.
        address: the cluster's address for `ray.init`, such as `auto`; None: the cluster that this process is connected
            to, or else a local one, which is started and stopped.
        parts: the number of parts; None: 64, or fewer for few rows. Resume an interrupted run with the same number.
        on_error: `raise` stops at the first input that cannot be read.
        advance: called with the rows that are done, and their total.

    Returns:
        The packing, with `unreadable` filled.

    Raises:
        StoreError: Ray is not installed, or a part failed too often.
        DataError: with `raise`, an input that cannot be read.
    """
    from augrecipes.packing.parts import merge_parts
    from augrecipes.packing.run import refuse_published

    if not isinstance(packing.out, Path):
        why = "parts on a cluster are packed into a folder that all machines see: give one"
        raise StoreError(why, str(packing.out))
    refuse_published(packing.out)
    out = packing.out.absolute()
    most = parts or min(_PARTS, packing.rows // _SMALLEST)
    with ray_cluster(address) as ray:
        count = max(1, min(packing.rows // packing.plan.times, most))
        _write(ray, replace(packing, out=out), count, on_error, advance)
    return replace(packing, unreadable=merge_parts(out).unreadable)


@contextmanager
def ray_cluster(address: str | None) -> Iterator[Any]:
    """Connect to a Ray cluster, or start one; disconnect at the end. StoreError where there is no such cluster."""
    try:
        import ray
    except ImportError as error:
        raise StoreError(f"packing on Ray needs it: pip install 'augrecipes[ray]' ({error})") from None
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    how: dict[str, Any] = {"address": address or "local", "logging_level": "error"}
    how |= {} if address else {"include_dashboard": False}
    try:
        if host and port.isdecimal():  # if nobody answers, Ray itself would retry for many minutes
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT).close()
        ray.init(log_to_driver=False, **how)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        raise StoreError(f"no Ray cluster at {address or 'this machine'}: {error}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def write_part(job: tuple[bytes, str, str], number: int, total: int) -> None:
    """Write one part; runs as a task on some machine of the cluster.

    Args:
        job: the pickled packing and its plan; the working folder, for relative paths; `on_error`.
        number: the part's number, from 1.
        total: the number of parts.
    """
    import_without_torch()
    from augrecipes.packing.run import write_rows

    pickled, folder, on_error = job
    if os.path.isdir(folder):  # noqa: PTH112
        os.chdir(folder)
    packing, plan = _unpickle(pickled)
    write_rows(replace(packing, part=PackPart(number, total)), plan, 0, on_error)


@lru_cache(maxsize=1)
def _unpickle(pickled: bytes) -> Any:
    """Unpickle the packing once per process, however many parts it writes."""
    return pickle.loads(pickled)


def _write(ray: Any, packing: Packing, count: int, on_error: str, advance: Progress | None) -> None:
    """Write all parts as tasks; Ray retries tasks that were killed, or failed with an OSError or StoreError."""
    from augrecipes.packing.plan import store_plan

    job = ray.put((ray.cloudpickle.dumps((packing, store_plan(packing))), os.getcwd(), on_error))  # noqa: PTH109
    task = ray.remote(num_cpus=1, max_retries=TRIES - 1, retry_exceptions=[OSError, StoreError])(write_part)
    running = {task.remote(job, *part): part for part in (PackPart(k, count) for k in range(1, count + 1))}
    done = 0
    try:
        while running:
            (ready,), _ = ray.wait([*running], num_returns=1)
            part = running.pop(ready)
            try:
                ray.get(ready)
            except Exception as error:
                why = getattr(error, "cause", None) or error  # Ray wraps a task's exception
                if isinstance(why, AugrecipesError):
                    raise why from error
                name = f"part {part.number}/{count}"
                raise WorkerDied(f"{name} failed {TRIES} times, and what is done is kept: {why}") from error
            done += len(replace(packing, part=part).own_rows)
            if advance is not None:
                advance(done, packing.rows)
    finally:  # after an error, no task may go on writing
        for pending in running:
            ray.cancel(pending)
        if running:
            ray.wait([*running], num_returns=len(running), timeout=_CANCEL)
