"""Stores that are packed elsewhere: sent whole, the index last; and requests, so many times and so many at a time."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support import shop
from support.commands import status
from support.folders import draw
from support.kinds import KINDS, packed, recipe_of
from test_stores_elsewhere import IMAGE, alike, opened

import augrecipes as ar
from augrecipes import remote
from augrecipes.errors import AugrecipesError, DataError, StoreError
from augrecipes.packing.parts import merge_parts
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text
from augrecipes.remote import RemotePath
from augrecipes.store import writer
from augrecipes.store.writer import StoreWriter

RECIPE = parse_text(recipe_of(IMAGE))


def sent_under(elsewhere: Path, roots: dict[str, Path], fault: shop.Fault, wanted: Any) -> None:
    """The law: whatever happens while a store is sent, what can be opened is whole; and the next run ends the work."""
    shop.Shop.fault = fault
    try:
        pack(RECIPE, str(roots["image"]), "shop://sent", workers=0, shard_size=3_000)
    except AugrecipesError:
        pass
    finally:
        shop.Shop.fault = None
    assert not [path for path in elsewhere.rglob("*.new") if (elsewhere / "sent" / "index.json").exists()]
    if (elsewhere / "sent" / "index.json").exists():
        assert ar.verify_store("shop://sent") == [], "what is sent is not whole"
    else:
        pack(RECIPE, str(roots["image"]), "shop://sent", workers=0, shard_size=3_000)
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
    wanted, send = list(opened(packed(IMAGE, roots["image"], shard_size=3_000))), StoreWriter._send

    def easy(self: StoreWriter, *given: Any) -> None:
        with suppress(StoreError):
            send(self, *given)

    monkeypatch.setattr(StoreWriter, "_send", easy)
    with pytest.raises(AssertionError, match="not whole"):
        sent_under(elsewhere, roots, lambda what, name, times: "error" if "image-00001" in name else None, wanted)


def test_what_was_sent_is_not_packed_again(elsewhere: Path, roots: dict[str, Path], tmp_path: Path) -> None:
    """A run that failed while it sent goes on behind what came; files that changed meanwhile are packed anew."""
    shutil.copytree(roots["image"], tmp_path / "files")
    arguments: Any = (RECIPE, str(tmp_path / "files"))
    shop.Shop.fault = lambda what, name, times: "error" if "image-00002" in name else None
    with pytest.raises(StoreError, match="500 Internal"):
        pack(*arguments, "shop://sent", workers=0, shard_size=3_000)
    with pytest.raises(StoreError, match="500 Internal"):  # once more: whatever was there is there
        pack(*arguments, "shop://sent", workers=0, shard_size=3_000)
    shop.Shop.fault, before, made = None, shop.asked(), []
    shutil.copytree(elsewhere, tmp_path / "half")
    shutil.copytree(elsewhere.parent / "cache", tmp_path / "half-cache")
    pack(*arguments, "shop://sent", workers=0, shard_size=3_000, advance=lambda done, _: made.append(done))
    assert made[0] > 2
    assert not [name for name in shop.asked() - before if name.startswith("put") and "image-00000" in name]
    assert ar.verify_store("shop://sent") == []
    for there, half in ((elsewhere, "half"), (elsewhere.parent / "cache", "half-cache")):
        shutil.rmtree(there)
        shutil.copytree(tmp_path / half, there)
    draw(tmp_path / "files" / IMAGE.files(0), seed=99)
    made.clear()
    pack(*arguments, "shop://sent", workers=0, shard_size=3_000, advance=lambda done, _: made.append(done))
    assert made[0] == 1
    pack(*arguments, tmp_path / "one", workers=0, shard_size=3_000)
    assert alike(list(opened(tmp_path / "one")), list(opened("shop://sent")))


def test_killed_when_all_is_sent(elsewhere: Path, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same address can be packed to again, once the store is removed there."""
    data = str(roots["image"])
    with monkeypatch.context() as patch:
        patch.setattr(writer, "remove", lambda root: None)
        pack(RECIPE, data, "shop://sent", workers=0, shard_size=3_000)
    shutil.rmtree(elsewhere / "sent")
    pack(RECIPE, data, "shop://sent", workers=0, shard_size=3_000)
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
            pack(parse_text(recipe_of(IMAGE)), data, "shop://sent", workers=0, shard_size=9_000)
        send(self, *given)

    monkeypatch.setattr(StoreWriter, "_send", overtaken)
    with pytest.raises(StoreError, match="exists already, and a published store is never modified"):
        pack(RECIPE, data, "shop://sent", workers=0, shard_size=3_000)
    assert ar.verify_store("shop://sent") == []
    monkeypatch.setattr(StoreWriter, "_send", send)
    shutil.rmtree(elsewhere / "sent")
    pack(RECIPE, data, "shop://sent", workers=0, shard_size=3_000)
    assert ar.verify_store("shop://sent") == []


def test_parts_elsewhere(elsewhere: Path, roots: dict[str, Path]) -> None:
    wanted = list(opened(packed(IMAGE, roots["image"], shard_size=3_000)))
    data = str(roots["image"])
    for part in ("3/3", "1/3"):
        pack(RECIPE, data, "shop://parts", part=part, workers=0)
    with pytest.raises(StoreError, match="has no part 2 of 3"):
        merge_parts("shop://parts")
    pack(RECIPE, data, "shop://parts", part="2/3", workers=0)
    before = shop.asked()
    pack(RECIPE, data, "shop://parts", part="2/3", workers=0)  # it is there
    assert not [name for name in shop.asked() - before if name.startswith("put")]
    with pytest.raises(StoreError, match="another packing"):
        pack(RECIPE, data, "shop://parts", part="2/3", workers=0, seed=9, epochs=2)
    for _ in range(2):
        merge_parts("shop://parts")
    with pytest.raises(StoreError, match="exists already"):
        pack(RECIPE, data, "shop://parts", workers=0)
    assert alike(wanted, list(opened("shop://parts")))
    assert ar.verify_store("shop://parts") == []


def test_commands(elsewhere: Path, roots: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = tmp_path / "r.yaml"
    recipe.write_text(recipe_of(IMAGE))
    assert status("pack", str(recipe), str(roots["image"]), "--out", "shop://c", "--workers", "0") == 0
    assert status("pack", str(recipe), "shop://c", "--out", "shop://d", "--workers", "0") == 2
    assert "is a packed store" in capsys.readouterr().err
    assert status("verify-store", "shop://c") == 0
    assert "every byte is as it was packed" in capsys.readouterr().out
    assert status("verify-store", "shop://nothing") == 2
    assert "shop://nothing" in capsys.readouterr().err


# -- pictures, and requests --------------------------------------------------------------------------------------------


def test_pictures_are_read_there(elsewhere: Path, roots: dict[str, Path]) -> None:

    shutil.copytree(roots["image"], elsewhere / "photos")
    here = ar.ImageFolder(roots["image"], RECIPE, seed=3)
    names = [here.path(k).removeprefix(f"{roots['image']}/") for k in range(len(here))]
    bare = lambda ds: [{**ds[k], "path": None} for k in range(len(ds))]  # noqa: E731
    for place in ("shop://photos", "shop://photos/*/*.png"):
        there = ar.ImageFolder(place, RECIPE, seed=3)
        assert there.classes == here.classes
        assert [there.path(k) for k in range(len(there))] == [f"shop://photos/{name}" for name in names]
        assert alike(bare(here), bare(there))
    (elsewhere / "list.csv").write_text("image\n" + "".join(f"shop://photos/{name}\n" for name in names))
    assert len(ar.ImageFolder(files="shop://list.csv", recipe=RECIPE)) == len(here)
    shop.Shop.fault = lambda what, name, times: "error" if what == "cat" else None
    with pytest.raises(DataError, match=r"shop://photos/.*the server failed 5 times, at last with OSError: 500"):
        there[0]
    shop.Shop.fault = None
    (elsewhere / "photos" / names[0]).unlink()
    with pytest.raises(DataError, match=r"shop://photos/.*: no such file"):
        there[0]


def test_requests_are_repeated_after_pauses(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (elsewhere / "file").write_bytes(b"x")
    pauses: list[float] = []
    monkeypatch.setattr(remote, "PAUSE", 0.2)
    monkeypatch.setattr(remote.time, "sleep", pauses.append)
    shop.Shop.fault = lambda what, name, times: "error" if times < remote.ATTEMPTS else None
    assert RemotePath("shop://file").read_bytes() == b"x"
    assert len(pauses) == remote.ATTEMPTS - 1
    assert all(0.1 * 2**k <= pause <= 0.3 * 2**k for k, pause in enumerate(pauses))
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
    pack(parse_text(recipe_of(kind)), there, "memory://kinds/" + kind.name, workers=0)
    a, b = opened(here, kind), opened("memory://kinds/" + kind.name, kind)
    plain = lambda ds: [{k: v for k, v in ds[i].items() if "path" not in k} for i in range(len(ds))]  # noqa: E731
    assert alike(plain(a), plain(b))


def moved(path: Any, root: Path) -> str:
    return f"shop://all/{Path(path).relative_to(root).as_posix()}".removesuffix("/.")
