"""Stores that are packed elsewhere: sent whole, the index last; and requests, so many times and so many at a time."""

import random
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import s3fs
from support import shop
from support.folders import draw
from support.kinds import KINDS, packed, recipe_of
from test_stores_elsewhere import IMAGE, alike, opened

import augrecipes as ar
from augrecipes import remote
from augrecipes.cache import CACHE
from augrecipes.recipe.parse import parse_text
from augrecipes.remote import RemotePath
from augrecipes.store import writer
from augrecipes.store.writer import StoreWriter

RECIPE = parse_text(recipe_of(IMAGE))


def sent_under(elsewhere: Path, roots: dict[str, Path], fault: shop.Fault, wanted: Any) -> None:
    """The law: whatever happens while a store is sent, what can be opened is whole; and the next run ends the work."""
    shop.Shop.fault = fault
    try:
        ar.pack(RECIPE, str(roots["image"]), "shop://sent", workers=0, shard_size=3_000)
    except ar.AugrecipesError:
        pass
    finally:
        shop.Shop.fault = None
    assert not [path for path in elsewhere.rglob("*.new") if (elsewhere / "sent" / "index.json").exists()]
    if (elsewhere / "sent" / "index.json").exists():
        assert ar.verify_store("shop://sent") == [], "what is sent is not whole"
    else:
        ar.pack(RECIPE, str(roots["image"]), "shop://sent", workers=0, shard_size=3_000)
    assert alike(wanted, list(opened("shop://sent"))), "what is sent is something else"


def by_chance(seed: int) -> shop.Fault:
    rng = random.Random(seed)
    return lambda what, name, times: (
        rng.choice(["error", "cut", "short"]) if what == "put" and rng.random() < 0.6 else None
    )


def test_sent_through_faults(elsewhere: Path, roots: dict[str, Path]) -> None:
    wanted = list(opened(packed(IMAGE, roots["image"], shard_size=3_000)))
    for seed in range(4):
        sent_under(elsewhere, roots, by_chance(seed), wanted)
        clear(elsewhere)


def clear(elsewhere: Path) -> None:

    for path in elsewhere.iterdir():
        shutil.rmtree(path)


def test_an_index_of_what_was_never_sent_is_caught(
    elsewhere: Path, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, send = list(opened(packed(IMAGE, roots["image"], shard_size=3_000))), RemotePath.send

    def easy(self: RemotePath, path: Path) -> None:
        with suppress(OSError):
            send(self, path)

    monkeypatch.setattr(RemotePath, "send", easy)
    with pytest.raises(AssertionError, match="not whole"):
        sent_under(elsewhere, roots, lambda what, name, times: "error" if "image-00001" in name else None, wanted)


def test_what_was_packed_is_not_packed_again(elsewhere: Path, roots: dict[str, Path], tmp_path: Path) -> None:
    """A run that failed while it sent goes on with sending; files that changed meanwhile are packed anew."""
    shutil.copytree(roots["image"], tmp_path / "files")
    arguments: Any = (RECIPE, str(tmp_path / "files"))
    shop.Shop.fault = lambda what, name, times: "error" if "image-00002" in name else None
    for _ in range(2):
        with pytest.raises(ar.StoreError, match="500 Internal"):
            ar.pack(*arguments, "shop://sent", workers=0, shard_size=3_000)
    shutil.copytree(elsewhere.parent / "cache", tmp_path / "half-cache")
    shop.Shop.fault, made = None, list[int]()
    ar.pack(*arguments, "shop://sent", workers=0, shard_size=3_000, advance=lambda done, _: made.append(done))
    assert made == []
    assert ar.verify_store("shop://sent") == []
    shutil.rmtree(elsewhere / "sent")
    shutil.rmtree(elsewhere.parent / "cache")
    shutil.copytree(tmp_path / "half-cache", elsewhere.parent / "cache")
    draw(tmp_path / "files" / IMAGE.files(0), seed=99)
    ar.pack(*arguments, "shop://sent", workers=0, shard_size=3_000, advance=lambda done, _: made.append(done))
    assert made[0] == 1
    ar.pack(*arguments, tmp_path / "one", workers=0, shard_size=3_000)
    assert alike(list(opened(tmp_path / "one")), list(opened("shop://sent")))


def test_killed_when_all_is_sent(elsewhere: Path, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same address can be packed to again, once the store is removed there."""
    data = str(roots["image"])
    with monkeypatch.context() as patch:
        patch.setattr(writer, "remove", lambda root: None)
        ar.pack(RECIPE, data, "shop://sent", workers=0, shard_size=3_000)
    shutil.rmtree(elsewhere / "sent")
    ar.pack(RECIPE, data, "shop://sent", workers=0, shard_size=3_000)
    assert ar.verify_store("shop://sent") == []
    assert list((elsewhere.parent / "cache" / "packing").iterdir()) == []


def test_a_store_that_another_machine_published_meanwhile_stays(
    elsewhere: Path, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, send = str(roots["image"]), StoreWriter._send

    def overtaken(self: StoreWriter, *given: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setenv("AUGRECIPES_CACHE", str(elsewhere.parent / "another"))
            patch.setattr(StoreWriter, "_send", send)
            ar.pack(parse_text(recipe_of(IMAGE)), data, "shop://sent", workers=0, shard_size=9_000)
        send(self, *given)

    monkeypatch.setattr(StoreWriter, "_send", overtaken)
    with pytest.raises(ar.StoreError, match="exists already, and a published store is never modified"):
        ar.pack(RECIPE, data, "shop://sent", workers=0, shard_size=3_000)
    assert ar.verify_store("shop://sent") == []
    monkeypatch.setattr(StoreWriter, "_send", send)
    shutil.rmtree(elsewhere / "sent")
    ar.pack(RECIPE, data, "shop://sent", workers=0, shard_size=3_000)
    assert ar.verify_store("shop://sent") == []


def test_parts_elsewhere(elsewhere: Path, roots: dict[str, Path]) -> None:
    wanted = list(opened(packed(IMAGE, roots["image"], shard_size=3_000)))
    data = str(roots["image"])
    for part in ("3/3", "1/3"):
        ar.pack(RECIPE, data, "shop://parts", part=part, workers=0)
    with pytest.raises(ar.StoreError, match="has no part 2 of 3"):
        ar.merge_parts("shop://parts")
    ar.pack(RECIPE, data, "shop://parts", part="2/3", workers=0)
    before = shop.asked()
    ar.pack(RECIPE, data, "shop://parts", part="2/3", workers=0)  # it is there
    assert not [name for name in shop.asked() - before if name.startswith("put")]
    with pytest.raises(ar.StoreError, match="another packing"):
        ar.pack(RECIPE, data, "shop://parts", part="2/3", workers=0, seed=9, epochs=2)
    for _ in range(2):
        ar.merge_parts("shop://parts")
    with pytest.raises(ar.StoreError, match="exists already"):
        ar.pack(RECIPE, data, "shop://parts", workers=0)
    assert alike(wanted, list(opened("shop://parts")))
    assert ar.verify_store("shop://parts") == []


# -- images, and requests --------------------------------------------------------------------------------------------


def test_requests_are_repeated_after_pauses(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (elsewhere / "file").write_bytes(b"x")
    pauses: list[float] = []
    monkeypatch.setattr(remote, "PAUSE", 0.2)
    monkeypatch.setattr(remote.time, "sleep", pauses.append)
    shop.Shop.fault = lambda what, name, times: "error" if times < remote.ATTEMPTS else None
    assert RemotePath("shop://file").read_bytes() == b"x"
    assert len(pauses) == remote.ATTEMPTS - 1
    assert all(0.09 * 2**k < pause < 0.31 * 2**k for k, pause in enumerate(pauses))
    pauses.clear()
    shop.Shop.fault = None
    with pytest.raises(FileNotFoundError):
        RemotePath("shop://gone").read_bytes()
    assert pauses == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_listed_and_read_there(elsewhere: Path, roots: dict[str, Path], kind: Any) -> None:
    shutil.copytree(roots[kind.name], elsewhere / "all")
    where = kind.where(roots[kind.name])
    there = (
        {name: moved(path, roots[kind.name]) for name, path in where.items()}
        if isinstance(where, dict)
        else moved(where, roots[kind.name])
    )
    here = packed(kind, roots[kind.name])
    ar.pack(parse_text(recipe_of(kind)), there, "memory://kinds/" + kind.name, workers=0)
    a, b = opened(here, kind), opened("memory://kinds/" + kind.name, kind)
    plain = lambda ds: [{k: v for k, v in ds[i].items() if "path" not in k} for i in range(len(ds))]  # noqa: E731
    assert alike(plain(a), plain(b))


def moved(path: Any, root: Path) -> str:
    return f"shop://all/{Path(path).relative_to(root).as_posix()}".removesuffix("/.")


# A real server of S3, with faults: a store and images are packed, merged and read there.


pytest.importorskip("s3fs")
pytest.importorskip("moto")

IMAGE_SERVER = KINDS[0]
Fault = Callable[[str, int, str], None]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server that is there for these tests."""
    command = [sys.executable, "-W", "ignore", shop.__file__]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as program:
        yield f"http://127.0.0.1:{int(program.stdout.readline())}"
        program.communicate("")


@pytest.fixture
def fault(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fault]:
    """The bucket `shop` is there, this process knows its way to it, and the server can be told to fail."""
    said = {"ENDPOINT_URL": server, "ACCESS_KEY_ID": "me", "SECRET_ACCESS_KEY": "x", "DEFAULT_REGION": "us-east-1"}
    for name, value in said.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().makedirs("shop", exist_ok=True)

    def told(kind: str, times: int, name: str) -> None:
        urllib.request.urlopen(f"{server}/fault/{kind}/{times}/{name}").close()

    yield told
    told("", 0, "-")


def sent(folder: Path, name: str) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            RemotePath(f"s3://shop/{name}/{path.relative_to(folder).as_posix()}").send(path)


@pytest.mark.soak
def test_packed_merged_and_read_there(fault: Fault, roots: dict[str, Path]) -> None:
    sent(roots["image"], "photos")
    recipe, here = parse_text(recipe_of(IMAGE_SERVER)), packed(IMAGE_SERVER, roots["image"], shard_size=12_000)
    wanted = [{**one, "path": None} for one in opened(here)]
    for part in ("2/2", "1/2"):
        ar.pack(recipe, "s3://shop/photos", "s3://shop/parts", part=part, shard_size=12_000, workers=0)
    ar.merge_parts("s3://shop/parts")
    ar.pack(recipe, "s3://shop/photos", "s3://shop/packed", shard_size=12_000)
    for store in ("parts", "packed"):
        assert alike(wanted, [{**one, "path": None} for one in opened(f"s3://shop/{store}")])
        assert ar.verify_store(f"s3://shop/{store}") == []
    with pytest.raises(ar.StoreError, match="exists already"):
        ar.pack(recipe, "s3://shop/photos", "s3://shop/packed", workers=0)


def test_faults_on_the_way(fault: Fault, roots: dict[str, Path], tmp_path: Path) -> None:
    here = packed(IMAGE_SERVER, roots["image"], shard_size=3_000)
    sent(here, "faults")
    wanted, shards = list(opened(here)), sorted(path.name for path in here.glob("*.bin"))
    ds = opened("s3://shop/faults")
    for kind, name in (("error", shards[0]), ("cut", shards[1]), ("slow", shards[2])):
        fault(kind, 2, name)
        ds[0]
    assert alike(wanted, list(ds))
    changed = bytearray((here / shards[-1]).read_bytes())
    changed[-1] ^= 1
    RemotePath(f"s3://shop/faults/{shards[-1]}").write_bytes(bytes(changed))
    assert alike(wanted, list(opened("s3://shop/faults")))  # what was fetched of the store is the store
    for kept in (tmp_path / "cache" / "remote").glob("*.fetched"):
        kept.unlink()
    with pytest.raises(ar.StoreError, match="is not the file that the store's index speaks of"):
        list(opened("s3://shop/faults"))
