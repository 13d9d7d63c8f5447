"""Data that change under a pack or a reader: changed files are packed anew, and a replaced store is told."""

import os
import pickle
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checks import planted_faults
from support.folders import draw
from support.kinds import IMAGE, KINDS, PAIR, Kind, N, by_kind, data_of, folders, packed, pixels, recipe_of
from test_pack import EPOCHS, InterruptedRunError, content

from augrecipes import Packed, StoreError
from augrecipes.images.reading import read_header
from augrecipes.packing import bake
from augrecipes.packing.bake import BakedRow, Baker
from augrecipes.packing.run import pack, prepare, write
from augrecipes.recipe.parse import parse_text
from augrecipes.sources import files
from augrecipes.sources.stored import StoredSource
from augrecipes.store import Store, open_store, reader, writer


def overwrite(path: Path, rng: random.Random, kind: Kind) -> None:
    """Another image in a file's place, of the same time or a later one; or one that is cut off."""
    about, head = path.stat(), read_header(path.read_bytes())
    draw(path, seed=rng.randrange(10**6), size=(head.height, head.width))
    match rng.randrange(2 if kind.name == "pair" else 3):  # pairs that are cut off are told before anything is packed
        case 0:
            os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        case 1:
            os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1_000_000))
        case _:
            path.write_bytes(path.read_bytes()[:-40])


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a few rows each: an interrupted run goes on behind the last of them."""
    monkeypatch.setattr(writer, "SHARD_BYTES", 9_000)


def packs_what_is_there(kind: Kind, root: Path, folder: Path, rng: random.Random) -> None:
    """The law: after any change and any interruption, the store is the one that a single run writes now."""
    files = folder / "files"
    shutil.copytree(root, files)
    recipe, data, last = parse_text(recipe_of(kind)), data_of(kind, files), rng.randrange(1, N)

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
    return folders(tmp_path_factory)  # stores of small shards lie beside them


@pytest.mark.usefixtures("small_shards")
@by_kind
def test_changed_files_are_packed_anew(roots: dict[str, Path], kind: Kind, tmp_path: Path) -> None:
    rng = random.Random(kind.name)
    for k in range(4):
        packs_what_is_there(kind, roots[kind.name], tmp_path / str(k), rng)


# -- a store that is replaced while it is read -----------------------------------------------------------------------


@pytest.mark.usefixtures("small_shards")
def test_a_store_that_is_gone_is_told_by_whoever_reads(roots: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(packed(IMAGE, roots["image"]), tmp_path / "store")
    sent = pickle.dumps(Packed(tmp_path / "store", parse_text(recipe_of(IMAGE))))
    shutil.rmtree(tmp_path / "store")
    ds = pickle.loads(sent)
    for read in (lambda: ds[0], lambda: ds.table, lambda: ds.store, lambda: ds.unreadable):
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


@pytest.mark.usefixtures("small_shards")
def test_a_store_that_arrives_is_the_one_that_was_sent(roots: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="was replaced"):
        sent_and_replaced(roots, tmp_path / "store")


def open_anyway(path: Path, *_: object) -> Store:
    return reader.open_store(path)


@pytest.mark.usefixtures("small_shards")
def test_opening_whatever_is_there_is_caught(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "reopen_store", open_anyway)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_store_that_arrives_is_the_one_that_was_sent(roots, tmp_path)


# Packing opens each file once, for as many rows as are made of it; and what that changes of a store's layout.


FILES = {"image": N, "pair": 2 * N, "bag": None, "views": N}  # how many are opened


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each image is opened to be decoded."""
    counted: Counter[str] = Counter()
    real = files.open_encoded

    def opens(path: Any, *arguments: Any, **options: Any) -> Any:
        counted[str(path)] += 1
        return real(path, *arguments, **options)

    monkeypatch.setattr(files, "open_encoded", opens)
    return counted


def opened_once(reads: Counter[str], kind: Kind, root: Path, out: Path) -> None:
    """The law: five epochs of patches open each file once, whatever the kind."""
    packing = prepare(parse_text(EPOCHS[kind.name]), data_of(kind, root), out, epochs=5)
    reads.clear()
    write(packing, 0)
    assert set(reads.values()) == {1}
    assert len(reads) == (FILES[kind.name] or len(reads)) >= N


@by_kind
def test_epochs_open_each_file_once(reads: Counter[str], roots: dict[str, Path], tmp_path: Path, kind: Kind) -> None:
    opened_once(reads, kind, roots[kind.name], tmp_path / "store")


@pytest.mark.parametrize(("kind", "workers"), [*((kind, 0) for kind in KINDS), (IMAGE, 2)], ids=str)
def test_huge_images_are_windows_of_theirs(
    roots: dict[str, Path], tmp_path: Path, kind: Kind, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether images are decoded whole or by windows, in one process or several: the same bytes."""
    arguments: Any = (parse_text(EPOCHS[kind.name]), data_of(kind, roots[kind.name]))
    pack(*arguments, tmp_path / "whole", epochs=3, workers=workers)
    monkeypatch.setattr(bake, "_WHOLE", 0)
    pack(*arguments, tmp_path / "windows", epochs=3, workers=0)
    assert content(tmp_path / "whole") == content(tmp_path / "windows")


def listed_often(folder: Path, order: list[int]) -> Path:
    """A CSV file with a few images, each in many rows with a box of its own."""
    for k in set(order):
        draw(folder / f"{k}.png", seed=k, size=(40, 36))
    rows = [f'{k}.png,{i % 3},"[[{i % 7}, 2, 20, 30.5]]"' for i, k in enumerate(order)]
    (folder / "list.csv").write_text("\n".join(["image,label,boxes", *rows]))
    return folder / "list.csv"


def test_an_image_that_is_listed_often_is_opened_once_a_run(
    reads: Counter[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = parse_text(
        "{version: 1, recipe: r, inputs: {boxes: {}}, steps: [Rotate: {limit: 20}, Resize: {height: 20, width: 24}]}"
    )
    data = str(listed_often(tmp_path, [0] * 70 + [1] * 70))
    packing = prepare(recipe, data, tmp_path / "once", epochs=2)
    reads.clear()
    write(packing, 0)
    assert max(reads.values()) <= 2 * 70 // bake._RUN + 2
    pack(recipe, data, tmp_path / "workers", epochs=2, workers=2)
    assert content(tmp_path / "workers") == content(tmp_path / "once")
    reads.clear()
    monkeypatch.setattr(bake, "_RUN", 1)  # every row is a run
    pack(recipe, data, tmp_path / "anew", epochs=2, workers=0)
    assert min(reads.values()) >= 70
    assert content(tmp_path / "anew") == content(tmp_path / "once")


def test_a_file_that_changes_meanwhile_is_opened_again(tmp_path: Path) -> None:
    """What a row says of its file is what its pixels are of: who goes on believes it."""
    recipe = parse_text("{version: 1, recipe: r, inputs: {boxes: {}}, steps: [Resize: {height: 20, width: 24}]}")

    def changes(done: int, total: int) -> None:
        if done == 70:
            draw(tmp_path / "0.png", seed=99, size=(40, 36))

    data = str(listed_often(tmp_path, [0] * 140))
    pack(recipe, data, tmp_path / "store", workers=0, advance=changes)
    store = open_store(tmp_path / "store")
    first, *others = (store.array("image", k).tobytes() for k in range(140))
    assert others[-1] != first
    pack(recipe, data, tmp_path / "after", workers=0)
    assert others[-1] == open_store(tmp_path / "after").array("image", 139).tobytes()


# -- epochs -----------------------------------------------------------------------------------------------------------


def same_samples(roots: dict[str, Path], folder: Path, kind: Kind) -> None:
    """The law: a store of several epochs has the samples of the files."""
    recipe, root = parse_text(EPOCHS[kind.name]), roots[kind.name]
    pack(recipe, data_of(kind, root), folder / "store", epochs=3, seed=5, workers=0)
    files, ds = kind.open(root, EPOCHS[kind.name], seed=5), Packed(folder / "store", recipe, seed=5)
    for epoch in range(5):
        found = [pixels(ds[epoch, i]) for i in range(N)]
        if epoch < 3:
            assert found == [pixels(files[epoch, i]) for i in range(N)]
        assert [pixels(one) for one in ds.__getitems__([(epoch, i) for i in range(N)])] == found
    source = StoredSource(ds.store, recipe, ds.pipeline.targets)
    targets = ds.store.targets if kind is PAIR else ["image"]
    for k in range(len(source)):
        for target in targets:
            assert np.array_equal(
                source.sample(k).images[target], ds.store.array(target, ds.store.items(target, 3 * k)[0])
            )


@by_kind
def test_stores_of_epochs_have_the_samples_of_the_files(roots: dict[str, Path], tmp_path: Path, kind: Kind) -> None:
    same_samples(roots, tmp_path, kind)


def _packs(fixture: Callable[[str], Any]) -> None:
    fixture("small_shards")
    rng = random.Random(0)
    for k in range(12):
        packs_what_is_there(IMAGE, fixture("roots")["image"], fixture("tmp_path") / str(k), rng)


def _one_by_one(self: Baker, rows: range) -> Iterator[BakedRow]:
    for row in rows:
        yield from baked_rows(self, range(row, row + 1))


baked_rows = Baker.bake
test_planted_faults_are_caught = planted_faults({
    "a run that looks at no file": (_packs, (bake, "stamp_of", lambda path: "")),
    "a file for each row": (
        lambda fixture: opened_once(fixture("reads"), IMAGE, fixture("roots")["image"], fixture("tmp_path") / "store"),
        (Baker, "bake", _one_by_one),
    ),
    "one epoch behind another": (
        lambda fixture: same_samples(fixture("roots"), fixture("tmp_path"), IMAGE),
        (StoredSource, "rows", lambda self, units, epoch: units + epoch % self.epochs * N),
    ),
})  # fmt: skip
