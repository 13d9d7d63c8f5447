"""The cache of fetched files: bounded, whole, each fetched once; the least used goes; also where readers are killed."""

import errno
import json
import os
import random
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from programs import Programs
from support import shop
from support.checks import in_threads
from support.folders import draw
from support.killing import Counting, in_a_fork
from test_stores_elsewhere import opened, placed

from augrecipes.cache import CACHE
from augrecipes.errors import StoreError
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text
from augrecipes.store import cache, open_store
from augrecipes.store.cache import FileCache, ReadAhead
from augrecipes.store.verify import verify_store

SIZES = [100, 250, 400, 700, 90, 333]


def content(k: int) -> bytes:
    return bytes([k]) * SIZES[k]


def asked_by_chance(folder: Path, limit: int, seed: int, times: int = 60) -> None:
    """The law: each file is what it should be, all together are never too much, and the least used go."""
    kept, rng, used = FileCache(limit, folder), random.Random(seed), []
    for step in range(times):
        k = rng.randrange(len(SIZES))
        fetched: list[Path] = []

        def fetch(staged: Path, k: int = k, fetched: list[Path] = fetched) -> None:
            fetched.append(staged)
            staged.write_bytes(content(k))

        there = {path.name for path in folder.glob("*.fetched")}
        assert bytes(kept.mapped("s", str(k), SIZES[k], fetch)) == content(k)
        assert bool(fetched) == (f"s~{k}.fetched" not in there), "fetched in vain, or not at all"
        os.utime(kept.place("s", str(k)), (step, step))
        used = [*(other for other in used if other != k), k]
        here = [int(path.name.removeprefix("s~").removesuffix(".fetched")) for path in folder.glob("*.fetched")]
        assert sum(SIZES[other] for other in here) <= limit, "too much"
        assert sorted(here) == sorted(used[-len(here) :]), "others were used less lately"
    assert not [path for path in folder.iterdir() if path.suffix not in (".fetched", ".lock")], "something is left"


def test_the_least_used_goes(tmp_path: Path) -> None:
    for seed in range(8):
        asked_by_chance(tmp_path / str(seed), (700, 900, 1200, 5000)[seed % 4], seed)


@pytest.mark.parametrize("planted", ["newest", "none", "half"])
def test_a_planted_cache_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str) -> None:
    if planted == "newest":
        files = type(cache.REMOTE).files
        backwards = lambda _, folder: [replace(f, used=-f.used) for f in files(cache.REMOTE, folder)]  # noqa: E731
        monkeypatch.setattr(type(cache.REMOTE), "files", backwards)
    elif planted == "none":
        monkeypatch.setattr(FileCache, "_evict", lambda self, excess: True)
    else:
        evict = FileCache._evict
        monkeypatch.setattr(FileCache, "_evict", lambda self, excess: evict(self, excess // 2) or True)
    with pytest.raises(AssertionError, match=r"too much|less lately"):
        for seed in range(8):
            asked_by_chance(tmp_path / str(seed), 900, seed)


def test_threads_fetch_each_file_once(tmp_path: Path) -> None:
    kept, count, lock = FileCache(10_000, tmp_path), [0] * len(SIZES), threading.Lock()

    def fetch(staged: Path, k: int) -> None:
        with lock:
            count[k] += 1
        staged.write_bytes(content(k))

    def work(seed: int) -> None:
        for k in random.Random(seed).sample(range(len(SIZES)), len(SIZES)):
            data = kept.mapped("s", str(k), SIZES[k], lambda staged, k=k: fetch(staged, k))
            assert bytes(data) == content(k)

    in_threads(work, 6)
    assert count == [1] * len(SIZES)


def in_time(work: Callable[[], Any]) -> Any:
    """What it gives or raises; it must end."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except StoreError as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert found, "it waits for ever"
    return found[0]


def test_what_a_killed_process_left_of_the_same_file_takes_no_room(tmp_path: Path) -> None:
    for limit in (700, 1_000, 1_400):
        (tmp_path / ".s~3.fetched.700.x_1.new").write_bytes(b"half")
        data = in_time(lambda limit=limit: FileCache(limit, tmp_path).mapped("s", "3", 700, written(3)))
        assert bytes(data) == content(3)
        assert [path.name for path in tmp_path.iterdir() if path.suffix != ".lock"] == ["s~3.fetched"]
        (tmp_path / "s~3.fetched").unlink()


def test_what_cannot_be_removed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FileCache(1_000, tmp_path).mapped("s", "2", 400, written(2))
    unlink = Path.unlink

    def denied(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".fetched":
            raise PermissionError(errno.EPERM, "Operation not permitted")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", denied)
    error = in_time(lambda: FileCache(1_000, tmp_path).mapped("s", "3", 700, written(3)))
    assert "what is there cannot be removed" in str(error)


def written(k: int) -> Callable[[Path], None]:
    return lambda staged: (staged.write_bytes(content(k)), None)[1]


def nothing(staged: Path) -> None:
    staged.write_bytes(b"")


def test_what_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match=r"100 bytes.*may have 50: give it more with AUGRECIPES_CACHE_SIZE"):
        FileCache(50, tmp_path / "a").mapped("s", "n", 100, nothing)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be used .*another folder with AUGRECIPES_CACHE"):
        FileCache(500, tmp_path / "file").mapped("s", "n", 100, nothing)

    def full(staged: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StoreError, match="No space left on device; 100 bytes are needed"):
        FileCache(500, tmp_path / "b").mapped("s", "n", 100, full)
    assert not [path for path in (tmp_path / "b").iterdir() if path.suffix != ".lock"]

    def denied(*_: Any, **__: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "c" / "x"))

    monkeypatch.setattr(cache.tempfile, "mkstemp", denied)
    with pytest.raises(StoreError, match=r"used .Permission denied"):
        FileCache(500, tmp_path / "c").mapped("s", "n", 100, nothing)


def test_a_store_larger_than_its_cache_is_read_in_order(elsewhere: Path, roots: dict[str, Path]) -> None:
    import augrecipes as ar

    here = placed(elsewhere, roots, shard_size=3_000)
    largest = max(path.stat().st_size for path in here.glob("*"))
    ds = opened("shop://store", cache_size=5 * largest)
    assert len(list(ar.loader(ds, 2, num_workers=0))) > 3
    asked = {name: times for name, times in shop.asked().items() if ".bin" in name}
    assert sum(asked.values()) == len(asked)
    left = [path.stat().st_size for path in (elsewhere.parent / "cache" / "remote").glob("*.fetched")]
    assert 0 < sum(left) <= 5 * largest


def test_files_are_fetched_ahead_in_their_order_and_no_more_than_is_wanted() -> None:
    begun, go = list[int](), threading.Semaphore(0)

    def fetch(k: int) -> None:
        begun.append(k)
        go.acquire()
        if k % 3 == 0:  # whoever reads it will say why
            raise OSError("not to be had")

    ahead = ReadAhead(lambda k=k: fetch(k) for k in range(20))
    for done in range(9):
        while len(begun) < cache._THREADS + done:
            threading.Event().wait(0.001)
        assert sorted(begun) == list(range(cache._THREADS + done))
        go.release()
    while len(begun) < cache._THREADS + 9:
        threading.Event().wait(0.001)
    ahead.end()
    go.release(20)
    threading.Event().wait(0.05)
    assert sorted(begun) == list(range(cache._THREADS + 9))


PROGRAM = """
import json, sys
sys.path[:0] = ["tests", "tests/remote"]
from test_cache import main
print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
"""


@pytest.mark.parametrize(("kills", "planted"), [(3, ""), (9, "early"), pytest.param(200, "", marks=pytest.mark.soak)])
def test_killed_in_the_middle(programs: Programs, kills: int, planted: str) -> None:
    found = killed(programs, kills, planted)
    assert planted or found["kills"] >= kills  # the first error ends it
    assert bool(found["wrong"]) == bool(planted), found


def killed(programs: Programs, kills: int, planted: str = "") -> dict[str, Any]:
    done = programs(PROGRAM, str(kills), "0", planted)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


# Readers and senders of a store elsewhere are killed with SIGKILL, at calls drawn by chance. A reader is a fork that
# fetches shards into a cache, a sender one that packs into the shop: each ends itself at a call that touches the disk.

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
            return self._cached(path, size)

        FileCache._fetch = fetched


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
