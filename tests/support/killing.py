"""Kill a process that writes a store, with SIGKILL, at each of its file operations, and check what remains.

    python -m support.killing FORMAT STEP SEED [PLANTED]
    python -m support.killing parts KILLS SEED [PLANTED]

The writer is a fork that counts its file operations (writes, syncs, and every audited call of Python that names a path)
and kills itself at one count; a write is cut at a random position. Packers of parts and mergers are killed at random
counts, `KILLS` times. Prints a line of JSON.
"""

import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from programs import Programs

from augrecipes.errors import StoreError
from augrecipes.packing.parts import merge_parts
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text
from augrecipes.store import disk, index, open_store, staging, writer
from augrecipes.store.verify import verify_store
from support import stores
from support.folders import draw
from support.stores import all_of, files_in


def killed(programs: Programs, *arguments: str) -> Any:
    """What this says as a program of its own."""
    start = "import runpy; runpy.run_module('support.killing', run_name='__main__')"
    done = programs(start, *arguments, cwd=Path(__file__).parents[1])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit  # not reached


class Counting:
    """A counter of this process's file operations that kills it at count `last`."""

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
    """Run `work` in a fork; return the signal that ended it (0: none), and the count that it returned."""
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
    """Return `none` or `whole`, or the problems of the store."""
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
    """A planted fault: rename the folder before its index is written."""
    path = folder.parent.with_name("s")
    folder.rename(path)
    publish_well(path, *rest)
    path.rename(folder)


def refused(path: Path, format: str) -> int:
    """Open a writer over a finished store, which clears up after a killed one; 1 if it refuses, as it must."""
    try:
        stores.write(path, format)
    except StoreError as error:
        return int("exists already" in error.reason)
    raise AssertionError("a store was written twice")


publish_well = writer.publish


def kill_writers(format: str, step: int, seed: int, planted: str = "") -> dict[str, Any]:
    """Kill a writer at every `step`-th count, sometimes again while it resumes."""
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
            """Kill a run at count `last`, and return what remains."""
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
            if left == "none" and rng.random() < 0.5:  # kill again, while the run resumes
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
                if planted:
                    break  # it is seen
        return found


# Packers of parts and mergers, in forks that kill themselves at random counts.


RECIPE = parse_text("{version: 1, recipe: r, steps: [Resize: {height: 12, width: 10}, D4]}")
PARTS = 3


def state_of(folder: Path, wanted: Any) -> str:
    """Return `none` or `whole`, or the problem of a folder that has an index."""
    if not (folder / "index.json").exists():
        return "none"
    try:
        found = all_of(folder)
        faults = verify_store(folder)
    except StoreError as error:
        return f"cannot be opened: {error}"
    if faults:
        return faults[0].reason
    return "whole" if found == wanted else "other content"


def plant_in_parts(planted: str) -> None:
    """Plant a fault, if asked: the index of parts is written before their columns."""
    if planted == "early":
        real, waiting = index.write_file, dict[Path, bytes]()

        def late(path: Path, data: bytes) -> None:
            if path.name == "columns.npz" and path.parent.name == "parts":
                waiting[path] = data
                path.touch()
                return
            real(path, data)
            for other, kept in waiting.items():
                real(other, kept)

        index.write_file = late  # type: ignore[attr-defined]


class Killer:
    """A runner of work in forks, some of which it kills."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng, self.kills = folder, random.Random(seed), 0

    def run(self, work: Callable[[], Any], last: int = -1) -> int:
        """Run work, killed at count `last` if it gets there, and return its count."""
        seed = self.rng.random()

        def counted() -> int:
            counting = Counting(self.folder, last, random.Random(seed))
            work()
            return counting.count

        ended, calls = in_a_fork(counted)
        self.kills += ended == signal.SIGKILL
        return calls

    def killed(self, work: Callable[[], Any], calls: int) -> None:
        """Run work, killed at a random count; it ends by itself if it has fewer operations left."""
        self.run(work, self.rng.randint(1, calls))


def kill_packers(kills: int, seed: int, planted: str = "") -> dict[str, Any]:
    """Pack parts in random order and merge them, killed again and again."""
    wrong: list[str] = []
    plant_in_parts(planted)
    with stores.quick_folder() as root:
        for k in range(5):
            draw(root / "files" / f"{k}.png", seed=k, size=(30, 25))
        (root / "files" / "3.png").write_bytes(b"no picture")
        work, killer = root / "work", Killer(root / "work", seed)

        def packing(part: int, out: Path) -> Callable[[], Any]:
            options = {"workers": 0, "part": f"{part}/{PARTS}", "shard_size": 700}
            return lambda: pack(RECIPE, str(root / "files"), out, **options).place

        pack(RECIPE, str(root / "files"), root / "one", workers=0)
        wanted = all_of(root / "one")
        work.mkdir()
        calls = max(killer.run(packing(part, work / "parts")) for part in range(1, PARTS + 1))
        whole = files_in(work / "parts")
        merging = lambda: merge_parts(work / "parts")  # noqa: E731
        most = killer.run(merging)
        while killer.kills < kills and not (planted and wrong):
            shutil.rmtree(work)
            work.mkdir()
            for part in killer.rng.sample(range(1, PARTS + 1), PARTS):
                for _ in range(killer.rng.randrange(3)):
                    killer.killed(packing(part, work / "parts"), calls)
                killer.run(packing(part, work / "parts"))
            if files_in(work / "parts") != whole:
                wrong.append(f"parts: {sorted(str(path) for path in (work / 'parts').rglob('*'))}")
            for _ in range(3):
                killer.killed(merging, most)
                if (left := state_of(work / "parts", wanted)) not in ("none", "whole"):
                    wrong.append(f"merged: {left}")
            killer.run(merging)
            if (left := state_of(work / "parts", wanted)) != "whole":
                wrong.append(f"merged, in the end: {left}")
    return {"kills": killer.kills, "wrong": wrong}


if __name__ == "__main__":
    what, number, seed, *planted = sys.argv[1:]
    if what == "parts":
        print(json.dumps(kill_packers(int(number), int(seed), *planted)))
    else:
        print(json.dumps(kill_writers(what, int(number), int(seed), *planted)))
