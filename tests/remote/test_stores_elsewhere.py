"""Stores elsewhere: the samples are those of a store of this machine, whoever reads them, or there is an error."""

import os
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from support import shop
from support.kinds import KINDS, packed, pixels, recipe_of

import augrecipes as ar
from augrecipes.recipe.parse import parse_text
from augrecipes.store import cache

FORMS: dict[str, dict[str, Any]] = {
    "one": {},
    "shards": {"shard_size": 3_000},
    "jpegs": {"format": "jpeg", "shard_size": 2_000},
}
IMAGE = KINDS[0]


def alike(a: Any, b: Any) -> bool:
    return [([*one], pixels(one)) for one in a] == [([*one], pixels(one)) for one in b]


def opened(place: Any, kind: Any = IMAGE, **more: Any) -> Any:
    return ar.Packed(place, parse_text(recipe_of(kind)), seed=3, **more)


def placed(elsewhere: Path, roots: dict[str, Path], kind: Any = IMAGE, **options: Any) -> Path:
    """A store in the shop, and the same here."""
    here = packed(kind, roots[kind.name], **options)
    if not (elsewhere / "store").exists():
        shutil.copytree(here, elsewhere / "store")
    return here


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_store_elsewhere_has_the_samples_of_here(
    elsewhere: Path, roots: dict[str, Path], kind: Any, form: str
) -> None:
    here = placed(elsewhere, roots, kind, **FORMS[form])
    a, b = opened(here, kind), opened("shop://store", kind)
    assert alike(a, b)
    assert alike(a, pickle.loads(pickle.dumps(b)))
    assert a.fingerprint() == b.fingerprint()
    assert set(shop.asked().values()) - {1} == {2}  # the index, and for the copy once more
    assert ar.verify_store("shop://store") == []


@pytest.mark.parametrize("how", ["fork", "forkserver", "threads", "here"])
def test_workers_share_what_is_fetched(elsewhere: Path, roots: dict[str, Path], how: str) -> None:
    here = placed(elsewhere, roots, shard_size=3_000)
    options: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": how} if how.startswith("fork") else {}
    if how == "threads":
        options = {"num_workers": 2, "backend": "threads"}
    plain = list(ar.loader(opened(here), 3, shuffle=True, seed=5))
    dataset: Any = opened("shop://store")
    if how == "forkserver":  # such a worker knows the shop, and where it is, once it is told
        dataset, options["num_workers"] = Shopping(dataset), 1
    loader = ar.loader(dataset, 3, shuffle=True, seed=5, **options)
    assert alike(plain, list(loader))
    loader.close()
    asked = {name: times for name, times in shop.asked().items() if ".bin" in name}
    assert len(asked) > 3
    assert set(asked.values()) == {1}


class Shopping(torch.utils.data.Subset[Any]):
    """All of a dataset; unpickling it imports the shop."""

    def __init__(self, dataset: ar.Packed) -> None:
        super().__init__(dataset, range(len(dataset)))

    def __reduce__(self) -> Any:
        return Shopping._of, (shop.opened.__module__, dict(os.environ), pickle.dumps(self.dataset))

    @staticmethod
    def _of(module: str, environment: dict[str, str], pickled: bytes) -> Any:
        os.environ |= environment
        __import__(module)
        return Shopping(pickle.loads(pickled))


# -- what goes wrong -------------------------------------------------------------------------------------------------


def read_under(fault: shop.Fault, wanted: list[Any]) -> str:
    """The law: whatever happens to requests, there are the right samples, or an error of ours."""
    shop.Shop.fault = fault
    try:
        found = list(opened("shop://store", verify=None))  # which would tell of it, too
    except ar.AugrecipesError:
        return "error"
    finally:
        shop.Shop.fault = None
    assert alike(wanted, found), "wrong samples"
    return "read"


def by_chance(seed: int, share: float) -> shop.Fault:
    rng = random.Random(seed)
    return lambda what, name, times: rng.choice(["error", "cut", "short", "slow"]) if rng.random() < share else None


def test_faults_by_chance(elsewhere: Path, roots: dict[str, Path], tmp_path: Path) -> None:
    wanted = list(opened(placed(elsewhere, roots, shard_size=3_000)))
    told = set()
    for seed in range(12):
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        told.add(read_under(by_chance(seed, (0.2, 0.5, 0.95)[seed % 3]), wanted))
    assert told == {"read", "error"}


def test_halves_that_are_believed_are_caught(
    elsewhere: Path, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: what arrived is not compared, and what is missing is taken for zeros."""
    wanted = list(opened(placed(elsewhere, roots, shard_size=3_000)))

    def believed(self: Any, name: str, size: int, checksum: int) -> Any:
        def fetch(staged: Path) -> None:
            (self.there / name).fetch(staged)
            staged.write_bytes(staged.read_bytes().ljust(size, b"\0"))

        return self.cache.mapped(self.digest, name, size, fetch)

    monkeypatch.setattr(cache.RemoteFiles, "mapped", believed)
    with pytest.raises(AssertionError, match="wrong samples"):
        read_under(lambda what, name, times: "short" if name.endswith("1.bin") else None, wanted)


@pytest.mark.parametrize("size", ["same", "other"])
def test_an_object_that_was_changed(elsewhere: Path, roots: dict[str, Path], size: str) -> None:
    placed(elsewhere, roots, shard_size=3_000)
    ds = opened("shop://store")
    ds[0]
    last = sorted(elsewhere.glob("store/*.bin"))[-1]
    data = bytearray(last.read_bytes())
    data[len(data) // 2] ^= 1
    last.chmod(0o644)
    last.write_bytes(data if size == "same" else data + b"!")
    with pytest.raises(
        ar.StoreError, match=r"shop://store/image-\d+\.bin: is not the file that the store's index speaks"
    ):
        list(ds)
    assert [fault.path for fault in ar.verify_store("shop://store")] == [f"shop://store/{last.name}"]


def test_another_store_in_its_place(elsewhere: Path, roots: dict[str, Path]) -> None:
    """Never samples of both: what was fetched of one is not read as the other's."""
    first = placed(elsewhere, roots, shard_size=3_000)
    ds = opened("shop://store")
    whole = [ds[0]]
    copy = pickle.dumps(ds)
    shutil.rmtree(elsewhere / "store")
    other = packed(IMAGE, roots["image"], shard_size=20_000)
    shutil.copytree(other, elsewhere / "store")
    with pytest.raises(ar.StoreError):
        list(ds)
    with pytest.raises(ar.StoreError, match="was replaced by another store"):
        pickle.loads(copy)[0]
    assert alike(whole, [opened(first)[0]])
    assert alike(list(opened("shop://store")), list(opened(other)))


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("shop://nothing", "no such store: there is no index.json there"),
        ("memory://nothing/here", "no such store"),
        ("nobody://knows/this", "Protocol not known: nobody"),
        ("gs://bucket/store", "pip install gcsfs"),
        ("abfs://bucket/store", "pip install adlfs"),
    ],
)
def test_what_is_no_store(elsewhere: Path, place: str, says: str) -> None:
    with pytest.raises(ar.StoreError, match=says):
        opened(place)


def test_without_fsspec(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ar.StoreError, match=r"need fsspec: pip install 'augrecipes\[remote\]'"):
        opened("s3://bucket/store")
    with pytest.raises(ar.AugrecipesError, match=r"need fsspec: pip install 'augrecipes\[remote\]'"):
        ar.ImageFolder("s3://bucket/photos", "folder-128")
