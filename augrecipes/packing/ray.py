"""Packing on a Ray cluster, or on one that is started here: the parts of a packing as tasks, made one store in the end.

Everything is looked at once, here; the tasks are sent what was found, and write the parts that `--part` writes, into a
folder that all machines see. What failed is tried again; what is there is left as it is, after a kill, too.

Ray imports this on all machines before it calls anything, so nothing large is imported at the top: torch, which no part
needs, would come along and take longer than all the rest.
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

TRIES = 3  # of a part
_TO_END = 60  # seconds, of tasks that are cancelled
_PARTS, _SMALLEST = 64, 64  # at most, and rows of one at least, where nobody says how many: of every cluster the same
_ANSWERS = 10  # seconds, that a cluster has to take a connection


def write_on_ray(
    packing: Packing,
    *,
    address: str | None = None,
    parts: int | None = None,
    on_error: str = "skip",
    advance: Progress | None = None,
) -> Packing:
    """Writes the store that was prepared, in parts, on a Ray cluster: the samples are those that one process writes.

    Args:
        packing: of a whole store, in a folder that all machines of the cluster see by the same path; the parts are
            written there, and it becomes the store.
        address: of a cluster, as `ray.init` takes it, such as `auto`; None: the one that this process is connected to,
            or else one of this machine, which is started and ends with the work.
        parts: how many; None: 64, or fewer of few rows. A run that was interrupted goes on with as many as it had.
        on_error: `raise` stops at the first input that cannot be read.
        advance: called with how many rows are done, and of how many.

    Returns:
        The packing, with the inputs that turned out to be unreadable.

    Raises:
        StoreError: Ray is not installed, or a part failed so often that it was given up.
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
    with connected(address) as ray:
        count = max(1, min(packing.rows // packing.plan.times, most))
        _write(ray, replace(packing, out=out), count, on_error, advance)
    return replace(packing, unreadable=merge_parts(out).unreadable)


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Ray, connected to a cluster; what is started here ends here. StoreError where there is no such cluster."""
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
        if host and port.isdecimal():  # where nobody answers Ray would try again for many minutes
            socket.create_connection((host.strip("[]"), int(port)), _ANSWERS).close()
        ray.init(log_to_driver=False, **how)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        raise StoreError(f"no Ray cluster at {address or 'this machine'}: {error}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def write_one(sent: tuple[bytes, str, str], number: int, of: int) -> None:
    """Writes one part, on some machine of a cluster.

    Args:
        sent: the packing of all parts and its plan, pickled; the folder that relative paths begin in; `on_error`.
        number: of the part.
        of: how many there are.
    """
    import_without_torch()
    from augrecipes.packing.run import write_rows

    pickled, here, on_error = sent
    if os.path.isdir(here):  # noqa: PTH112
        os.chdir(here)
    packing, plan = _opened(pickled)
    write_rows(replace(packing, part=PackPart(number, of)), plan, 0, on_error)


@lru_cache(maxsize=1)
def _opened(pickled: bytes) -> Any:
    """What every task is sent: opened once in each process, for as many parts as it writes."""
    return pickle.loads(pickled)


def _write(ray: Any, packing: Packing, count: int, on_error: str, advance: Progress | None) -> None:
    """Writes all parts as tasks; Ray tries those again that were killed, or failed by what may pass."""
    from augrecipes.packing.plan import store_plan

    sent = ray.put((ray.cloudpickle.dumps((packing, store_plan(packing))), os.getcwd(), on_error))  # noqa: PTH109
    task = ray.remote(num_cpus=1, max_retries=TRIES - 1, retry_exceptions=[OSError, StoreError])(write_one)
    running = {task.remote(sent, *part): part for part in (PackPart(k, count) for k in range(1, count + 1))}
    done = 0
    try:
        while running:
            (ready,), _ = ray.wait([*running], num_returns=1)
            part = running.pop(ready)
            try:
                ray.get(ready)
            except Exception as error:
                why = getattr(error, "cause", None) or error  # of what a task raises
                if isinstance(why, AugrecipesError):
                    raise why from error
                name = f"part {part.number}/{count}"
                raise WorkerDied(f"{name} failed {TRIES} times, and what is done is kept: {why}") from error
            done += len(replace(packing, part=part).mine)
            if advance is not None:
                advance(done, packing.rows)
    finally:  # nothing goes on writing once this is given up
        for left in running:
            ray.cancel(left)
        if running:
            ray.wait([*running], num_returns=len(running), timeout=_TO_END)
