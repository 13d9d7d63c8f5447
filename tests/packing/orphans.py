"""Starts workers of one sort, which are busy, and waits to be killed.

    python orphans.py SORT FOLDER [PLANTED]

SORT is pack, fork, spawn or forkserver. Each worker locks a file of its own in FOLDER once it reads, so that anybody
can tell whether it lives; then it is busy, of a pack for a minute.
"""

import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from augrecipes.packing import workers

# Workers that are started afresh come through here, too.
if len(sys.argv) > 3:  # planted: nobody looks at the parent
    workers.end_with_parent = lambda: None  # type: ignore[attr-defined]

_held: list[Any] = []


def busy(folder: str, seconds: float = 60.0) -> None:
    if not _held:
        file = Path(folder, str(os.getpid())).open("w")  # noqa: SIM115 (held until the end)
        fcntl.flock(file, fcntl.LOCK_EX)
        _held.append(file)
    time.sleep(seconds)


class Baker:
    """Makes rows, in its time."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def runs(self, rows: range) -> Iterator[range]:
        return (range(row, row + 1) for row in rows)

    def bake(self, rows: range) -> list[None]:
        busy(self.folder)
        return [None] * len(rows)


class Slow:
    """A dataset whose samples take a second, and are more than a pipe holds: torch's workers look between samples."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int) -> str:
        busy(self.folder, 1.0)
        return "x" * 200_000


def main(sort: str, folder: str) -> None:
    if sort == "pack":
        list(workers.bake_rows(Baker(folder), range(10**6), 2))  # type: ignore[arg-type]
    else:
        from augrecipes import loader

        list(loader(Slow(folder), 1, num_workers=2, in_order=False, multiprocessing_context=sort))  # type: ignore[arg-type]


if __name__ == "__main__":
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored
    main(sys.argv[1], sys.argv[2])
