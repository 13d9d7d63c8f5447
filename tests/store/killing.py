"""Kills a process that writes a store, with SIGKILL, at each of its system calls, and looks at what is left.

    python -m store.killing FORMAT STEP SEED [PLANTED]

The writer is a fork that counts what it does to the disk (writes, syncs, and every call of Python's that names a path)
and kills itself at one count, in the middle of a write after a random part of it. Prints a line of JSON.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from support import stores

from augrecipes.errors import StoreError
from augrecipes.store import disk, open_store, staging, writer
from augrecipes.store.verify import verify_store


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit  # not reached


class Counting:
    """Counts what this process does to the disk, from construction on, and ends it at count `last`."""

    def __init__(self, folder: Path, last: int, rng: random.Random) -> None:
        self.count, self.last, self.rng, self.folder = 0, last, rng, str(folder)
        self.write_all, self.fsync = disk.write_all, os.fsync
        for module in (disk, staging):
            module.write_all = self.write  # type: ignore[attr-defined]
        os.fsync = self.sync
        sys.addaudithook(self.heard)

    def step(self) -> bool:
        self.count += 1
        return self.count == self.last

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if arguments and str(arguments[0]).startswith(self.folder) and self.step():
            die()

    def write(self, file: Any, data: Any, path: Path) -> None:
        if self.step():
            self.write_all(file, memoryview(data)[: self.rng.randrange(len(data) + 1)], path)
            die()
        self.write_all(file, data, path)

    def sync(self, handle: int) -> None:
        if self.step():
            die()
        self.fsync(handle)


def in_a_fork(work: Callable[[], int]) -> tuple[int, int]:
    """Runs `work` in a fork: the signal that ended it, and the count that it returned."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, str(work()).encode())
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, int(said or -1)


def what_is_left(path: Path, wanted: str) -> str:
    """none, whole, or what is wrong."""
    if not path.exists():
        return "none"
    try:
        store = open_store(path)
    except StoreError as error:
        return f"cannot be opened: {error}"
    wrong = list(stores.differences(store)) + [fault.reason for fault in verify_store(store.path)]
    if stores.digest(path) != wanted:
        wrong.append("other bytes")
    return "; ".join(wrong) or "whole"


def publish_too_early(folder: Path, *rest: Any) -> None:
    """Planted: the rename comes before the index."""
    path = folder.parent.with_name("s")
    folder.rename(path)
    publish_well(path, *rest)
    path.rename(folder)


def refused(path: Path, format: str) -> int:
    """A writer where a store is already: it says so, and clears up what a killed one left behind."""
    try:
        stores.write(path, format)
    except StoreError as error:
        return int("exists already" in error.reason)
    raise AssertionError("a store was written twice")


publish_well = writer.publish


def main(format: str, step: int, seed: int, planted: str = "") -> dict[str, Any]:
    """Kills at every `step`-th count, and at a second one while the run is resumed."""
    rng = random.Random(seed)
    if planted:
        writer.publish = publish_too_early  # type: ignore[attr-defined]
    with stores.quick_folder() as folder:
        reference = stores.write(folder / "reference", format)
        wanted, path = stores.digest(reference.path), folder / "kill" / "s"

        def pack(last: int) -> int:
            counting = Counting(path.parent, last, random.Random(seed + last))
            stores.write(path, format)
            return counting.count

        def killed(last: int) -> str:
            """What is left after a run that ends at `last`."""
            ended, _ = in_a_fork(lambda: pack(last))
            if ended != signal.SIGKILL:
                return f"ended by {ended}"
            return what_is_left(path, wanted)

        path.parent.mkdir()
        _, total = in_a_fork(lambda: pack(-1))
        found: dict[str, Any] = {"calls": total, "points": 0, "none": 0, "whole": 0, "wrong": []}
        for last in range(1 + rng.randrange(step), total + 1, step):
            shutil.rmtree(path.parent)
            path.parent.mkdir()
            left = killed(last)
            if left == "none" and rng.random() < 0.5:  # once more, while the run is resumed
                killed(rng.randint(1, total))
            in_a_fork(lambda: pack(-1) if not path.exists() else refused(path, format))
            if (resumed := what_is_left(path, wanted)) != "whole":
                left = f"{left}, and then {resumed}"
            elif [entry.name for entry in path.parent.iterdir()] != [path.name]:
                left = f"{left}, and {sorted(entry.name for entry in path.parent.iterdir())}"
            found["points"] += 1
            if left in ("none", "whole"):
                found[left] += 1
            else:
                found["wrong"].append(f"{last}: {left}")
        return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])))
