"""Data that change under a pack or a reader: changed files are packed anew, and a replaced store is told."""

from __future__ import annotations

import os
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.folders import draw
from support.kinds import IMAGE, KINDS, Kind, N, packed, recipe_of

from augrecipes import loader
from augrecipes.data.packed import Packed
from augrecipes.errors import StoreError
from augrecipes.images.reading import read_header
from augrecipes.packing import bake
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text
from augrecipes.store import Store, reader, writer


class InterruptedRunError(Exception):
    """Somebody stops a run."""


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def overwrite(path: Path, rng: random.Random, kind: Kind) -> None:
    """Another picture in a file's place, of the same time or a later one; or one that is cut off."""
    about, head = path.stat(), read_header(path.read_bytes())
    draw(path, seed=rng.randrange(10**6), size=(head.height, head.width))
    match rng.randrange(2 if kind.name == "pair" else 3):  # pairs that are cut off are told before anything is packed
        case 0:
            os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        case 1:
            os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1_000_000))
        case _:
            path.write_bytes(path.read_bytes()[:-40])


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a few rows each: an interrupted run goes on behind the last of them."""
    monkeypatch.setattr(writer, "SHARD_BYTES", 9_000)


def packs_what_is_there(kind: Kind, root: Path, folder: Path, rng: random.Random) -> None:
    """The law: after any change and any interruption, the store is the one that a single run writes now."""
    files = folder / "files"
    shutil.copytree(root, files)
    given = kind.where(files)
    data = {key: str(path) for key, path in given.items()} if isinstance(given, dict) else str(given)
    recipe, last = parse_text(recipe_of(kind)), rng.randrange(1, N)

    def stop(done: int, total: int) -> None:
        if done == last:
            raise InterruptedRunError

    with pytest.raises(InterruptedRunError):
        pack(recipe, data, folder / "often", workers=0, advance=stop)
    for _ in range(rng.choice([0, 1, 3])):
        overwrite(files / kind.files(rng.randrange(N)), rng, kind)
    pack(recipe, data, folder / "often", workers=0)
    pack(recipe, data, folder / "once", workers=0)
    assert content(folder / "often") == content(folder / "once")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {kind.name: tmp_path_factory.mktemp(kind.name) / "files" for kind in KINDS}
    for kind in KINDS:
        made[kind.name].mkdir()
        kind.fill(made[kind.name])
    return made


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_changed_files_are_packed_anew(roots: dict[str, Path], kind: Kind, tmp_path: Path) -> None:
    rng = random.Random(kind.name)
    for k in range(4):
        packs_what_is_there(kind, roots[kind.name], tmp_path / str(k), rng)


def test_a_run_that_looks_at_no_file_is_caught(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bake, "stamp_of", lambda path: "")
    rng = random.Random(0)
    with pytest.raises(AssertionError):
        for k in range(12):
            packs_what_is_there(IMAGE, roots["image"], tmp_path / str(k), rng)


def test_rows_before_the_change_are_kept(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SHARD_BYTES", 1)  # a row is a shard
    files, made = tmp_path / "files", []
    shutil.copytree(roots["image"], files)

    def stop(done: int, total: int) -> None:
        if done == 8:
            raise InterruptedRunError

    recipe = parse_text(recipe_of(IMAGE))
    with pytest.raises(InterruptedRunError):
        pack(recipe, str(files), tmp_path / "store", workers=0, advance=stop)
    (files / IMAGE.files(5)).touch()
    pack(recipe, str(files), tmp_path / "store", workers=0, advance=lambda done, total: made.append(done))
    assert made == list(range(6, N + 1))


# -- a store that is replaced while it is read -----------------------------------------------------------------------


def replaced(roots: dict[str, Path], folder: Path, method: str) -> list[Any]:
    """The batches of a loader whose store is replaced before its workers open it."""
    place, other = folder / "store", folder / "other"
    shutil.copytree(packed(IMAGE, roots["image"]), place)
    shutil.copytree(roots["image"], folder / "files")
    draw(folder / "files" / IMAGE.files(3), seed=99)
    pack(parse_text(recipe_of(IMAGE)), str(folder / "files"), other, workers=0)
    ds = Packed(place, parse_text(recipe_of(IMAGE)), on_error="skip")
    batches = loader(ds, 3, num_workers=1, multiprocessing_context=method)
    shutil.rmtree(place)
    other.rename(place)
    return list(batches)


def test_workers_that_open_another_store_say_so(roots: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="was replaced by another store") as caught:
        replaced(roots, tmp_path, "spawn")
    assert caught.value.path == str(tmp_path / "store")


def test_workers_that_share_the_open_files_read_on(roots: dict[str, Path], tmp_path: Path) -> None:
    assert len(replaced(roots, tmp_path, "fork")) == N // 3


def test_a_store_that_is_gone_is_told_by_whoever_reads(roots: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(packed(IMAGE, roots["image"]), tmp_path / "store")
    sent = pickle.dumps(Packed(tmp_path / "store", parse_text(recipe_of(IMAGE))))
    shutil.rmtree(tmp_path / "store")
    ds = pickle.loads(sent)
    for read in (lambda: ds[0], lambda: len(ds), lambda: ds.store, lambda: ds.unreadable):
        with pytest.raises(StoreError, match="no such store"):
            read()
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ds.nothing  # noqa: B018


def sent_and_replaced(roots: dict[str, Path], place: Path) -> Store:
    """A store that arrives where another one has taken its place."""
    shutil.copytree(packed(IMAGE, roots["image"]), place)
    sent = pickle.dumps(reader.open_store(place))
    shutil.rmtree(place)
    pack(parse_text(recipe_of(IMAGE)), str(roots["image"]), place, workers=0, format="jpeg")
    return pickle.loads(sent)


def test_a_store_that_arrives_is_the_one_that_was_sent(roots: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="was replaced"):
        sent_and_replaced(roots, tmp_path / "store")


def open_anyway(path: Path, *_: object) -> Store:
    return reader.open_store(path)


def test_opening_whatever_is_there_is_caught(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "reopen_store", open_anyway)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_store_that_arrives_is_the_one_that_was_sent(roots, tmp_path)
