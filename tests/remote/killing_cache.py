"""Kills readers and senders of a store elsewhere with SIGKILL, at calls drawn by chance, and looks at what is left.

A reader is a fork that fetches shards into a cache; a sender is one that packs into the shop. Either ends itself at one
of the calls by which it touches the disk.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path += [str(HERE.parent), str(HERE.parent / "store")]

from killing import Counting, in_a_fork  # noqa: E402
from support import shop  # noqa: E402
from support.folders import draw  # noqa: E402

from augrecipes.cache import CACHE  # noqa: E402
from augrecipes.errors import StoreError  # noqa: E402
from augrecipes.packing.run import pack  # noqa: E402
from augrecipes.recipe.parse import parse_text  # noqa: E402
from augrecipes.store import open_store  # noqa: E402
from augrecipes.store.cache import FileCache  # noqa: E402
from augrecipes.store.verify import verify_store  # noqa: E402

RECIPE = parse_text("{version: 1, recipe: r, steps: [Resize: {height: 12, width: 10}, D4]}")


def pixels(place: Any) -> list[bytes]:
    store = open_store(place, None, cache_size=5_000)  # it is the cache that must be right
    return [store.array("image", k).tobytes() for k in range(store.count("image"))]


def plant(planted: str) -> None:
    """Planted: files are fetched under the names that they will have; or the index is sent first."""
    if planted == "early":

        def fetched(self: FileCache, path: Path, size: int, fetch: Callable[[Path], None]) -> Any:
            path.write_bytes(bytes(size))
            fetch(path)
            return self._here(path, size)

        FileCache._fetched = fetched


def main(kills: int, seed: int, planted: str = "") -> dict[str, Any]:
    """Reads and sends, killed again and again; in the end all is there, and what was left before opened right."""
    wrong: list[str] = []
    plant(planted)
    rng, done = random.Random(seed), 0
    root = Path(tempfile.mkdtemp(prefix="augrecipes-killing-"))
    try:
        os.environ[CACHE] = str(root / "cache")
        folder = shop.opened(root)
        for k in range(8):
            draw(folder / "files" / f"{k}.png", seed=k, size=(30, 25))
        pack(RECIPE, "shop://files", root / "here", workers=0, shard_size=700)
        wanted = pixels(root / "here")
        shutil.copytree(root / "here", folder / "store")

        def reading() -> object:
            return pixels("shop://store") == wanted or wrong.append("a reader read something else")

        def sending() -> object:
            return pack(RECIPE, "shop://files", "shop://sent", workers=0, shard_size=700)

        def run(work: Callable[[], object], last: int) -> int:
            nonlocal done
            chance = rng.random()

            def counted() -> int:
                counting = Counting(root, last, random.Random(chance))
                if work() is None:
                    return -1
                return counting.count

            ended, calls = in_a_fork(counted)
            done += ended == signal.SIGKILL
            return calls

        most = {reading: run(reading, -1), sending: run(sending, -1)}
        while done < kills:
            for name in ("cache", "shop/sent"):
                shutil.rmtree(root / name, ignore_errors=True)
            for _ in range(4):
                run(reading, rng.randint(1, most[reading]))
                if pixels("shop://store") != wanted:
                    wrong.append("the cache holds something else")
                if rng.random() < 0.5:
                    shutil.rmtree(root / "cache" / "remote", ignore_errors=True)
            for _ in range(3):
                run(sending, rng.randint(1, most[sending]))
                if (folder / "sent" / "index.json").exists():
                    if pixels("shop://sent") != wanted or verify_store("shop://sent"):
                        wrong.append("what was sent is something else")
                    break
            else:
                sending()
                if pixels("shop://sent") != wanted:
                    wrong.append("what was sent in the end is something else")
    except StoreError as error:
        wrong.append(str(error))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return {"kills": done, "wrong": wrong}
