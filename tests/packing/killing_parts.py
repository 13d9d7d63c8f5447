"""Kills packers of parts and mergers with SIGKILL, at calls drawn by chance, and looks at what is left.

    python killing_parts.py KILLS SEED [PLANTED]

A packer is a fork that ends itself at one of the calls by which it touches the disk. Prints a line of JSON.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path += [str(HERE.parent), str(HERE.parent / "store")]

from killing import Counting, in_a_fork  # noqa: E402
from support import stores  # noqa: E402
from support.folders import draw  # noqa: E402
from support.stores import all_of, files_in  # noqa: E402

from augrecipes.errors import StoreError  # noqa: E402
from augrecipes.packing.parts import merge_parts  # noqa: E402
from augrecipes.packing.run import pack  # noqa: E402
from augrecipes.recipe.parse import parse_text  # noqa: E402
from augrecipes.store import index  # noqa: E402
from augrecipes.store.verify import verify_store  # noqa: E402

RECIPE = parse_text("{version: 1, recipe: r, steps: [Resize: {height: 12, width: 10}, D4]}")
PARTS = 3


def state_of(folder: Path, wanted: Any) -> str:
    """none, whole, or what is wrong with what passes for a store."""
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


def plant(planted: str) -> None:
    """Planted: the index of parts is written before their columns."""
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
    """Runs work in forks, some of which end themselves."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng, self.kills = folder, random.Random(seed), 0

    def run(self, work: Callable[[], Any], last: int = -1) -> int:
        """Does it, up to the call `last`; how many there were."""
        seed = self.rng.random()

        def counted() -> int:
            counting = Counting(self.folder, last, random.Random(seed))
            work()
            return counting.count

        ended, calls = in_a_fork(counted)
        self.kills += ended == signal.SIGKILL
        return calls

    def killed(self, work: Callable[[], Any], calls: int) -> None:
        """Kills it somewhere, or lets it end, where it has fewer calls by now."""
        self.run(work, self.rng.randint(1, calls))


def main(kills: int, seed: int, planted: str = "") -> dict[str, Any]:
    """Packs parts in an order drawn by chance and merges them, each way, killed again and again."""
    wrong: list[str] = []
    plant(planted)
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
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])))
