"""Packing on a Ray cluster, or on one that is started here: the parts of a packing as tasks, made one store in the end.

Everything is looked at once, here; the tasks are sent what was found, and write the parts that `--part` writes, into a
folder that all machines see. What failed is tried again; what is there is left as it is, after a kill, too.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from augrecipes.errors import AugrecipesError, DataError, StoreError
from augrecipes.pack.merge import merge_parts
from augrecipes.pack.packing import Packing
from augrecipes.pack.part import PackPart, part_named
from augrecipes.pack.ray_cluster import connected, cores
from augrecipes.pack.ray_task import Sent, write_one
from augrecipes.pack.workers import WorkerDied
from augrecipes.pack.write import refuse_parts, refuse_published
from augrecipes.progress import Progress

TRIES = 3  # of a part
_TO_END = 60  # seconds, of tasks that are cancelled
_A_CORE = 4  # parts, so that no core waits long for the others
_SMALLEST = 64  # rows of a part, where nobody says how many parts


def write_on_ray(
    packing: Packing,
    *,
    address: str | None = None,
    parts: int | None = None,
    on_error: str = "skip",
    advance: Progress | None = None,
) -> Packing:
    """Write the store that was prepared, in parts, on a Ray cluster: the samples are those that one process writes.

    Args:
        packing: of a whole store, in a folder that all machines of the cluster see by the same path; the parts are
            written there, and it becomes the store.
        address: of a cluster, as `ray.init` takes it, such as `auto`; None: the one that this process is connected to,
            or else one of this machine, which is started and ends with the work.
        parts: how many; None: as many as an earlier run began with, or four a core of the cluster, where there are
            enough rows.
        on_error: `raise` stops at the first input that cannot be read.
        advance: called with how many rows are done, and of how many.

    Returns:
        The packing, with the inputs that turned out to be unreadable.

    Raises:
        StoreError: Ray is not installed, or a part failed so often that it was given up.
        DataError: with `raise`, an input that cannot be read.
    """
    if not isinstance(packing.out, Path):
        raise StoreError(
            "parts on a cluster are packed into a folder that all machines see: give one", str(packing.out)
        )
    refuse_parts(packing.baker.format, packing.out)
    refuse_published(packing.out)
    out = packing.out.absolute()
    parts = _begun(out, parts)
    with connected(address) as ray:
        units = packing.rows // packing.plan.times
        of = max(1, min(units, parts or min(_A_CORE * cores(ray), packing.rows // _SMALLEST)))
        _write(ray, replace(packing, out=out), of, on_error, advance)
    return replace(packing, unreadable=merge_parts(out).unreadable)


def _begun(folder: Path, parts: int | None) -> int | None:
    """How many parts an earlier run began with, whose parts are there; else as asked. StoreError where they differ."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    there = {part.of for part in map(part_named, names) if part is not None}
    if not there or there == {parts}:
        return parts
    if parts is None and len(there) == 1:
        return there.pop()
    several = " and ".join(map(str, sorted(there)))
    raise StoreError(
        f"an earlier run left parts of {several} here: "
        + (f"--parts {several} goes on with them, or " if len(there) == 1 else "")
        + "delete this folder to begin anew",
        str(folder),
    )


def _write(ray: Any, packing: Packing, of: int, on_error: str, advance: Progress | None) -> None:
    """Writes all parts as tasks, again where one fails."""
    sent = ray.put(Sent(ray.cloudpickle.dumps(packing), os.getcwd(), on_error))  # noqa: PTH109
    task = ray.remote(num_cpus=1, max_retries=0)(write_one)
    running = {task.remote(sent, *part): (part, 1) for part in (PackPart(k, of) for k in range(1, of + 1))}
    done = 0
    try:
        while running:
            (ready,), _ = ray.wait([*running], num_returns=1)
            part, tries = running.pop(ready)
            try:
                ray.get(ready)
            except Exception as error:
                why = getattr(error, "cause", None) or error  # of what a task raises
                if isinstance(why, DataError) or tries == TRIES:
                    raise _reason_of(why, part) from error
                running[task.remote(sent, *part)] = part, tries + 1
                continue
            done += len(replace(packing, part=part).mine)
            if advance is not None:
                advance(done, packing.rows)
    finally:  # nothing goes on writing once this is given up
        for left in running:
            ray.cancel(left)
        if running:
            ray.wait([*running], num_returns=len(running), timeout=_TO_END)


def _reason_of(error: BaseException, part: PackPart) -> AugrecipesError:
    if isinstance(error, AugrecipesError):
        return error
    return WorkerDied(f"part {part.number}/{part.of} failed {TRIES} times, and what is done is kept: {error}")
