"""Packing opens each file once, for as many rows as are made of it; and what that changes of a store's layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.folders import draw
from support.kinds import IMAGE, KINDS, PAIR, Kind, N, pixels
from test_pack import EPOCHS, content, data_of

from augrecipes.data.packed import Packed
from augrecipes.packing import bake, workers
from augrecipes.packing.bake import Baked, Baker
from augrecipes.packing.run import pack, prepare, write
from augrecipes.recipe.parse import parse_text
from augrecipes.sources import files, packed_columns, stored
from augrecipes.sources.stored import StoredSource
from augrecipes.store import StoreWriter, open_store

by_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
FILES = {"image": N, "pair": 2 * N, "bag": None}  # how many are opened


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each picture is opened to be decoded."""
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


def test_a_file_for_each_row_is_caught(
    reads: Counter[str], roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = Baker.several

    def one_by_one(self: Baker, rows: range) -> Iterator[Baked]:
        for row in rows:
            yield from several(self, range(row, row + 1))

    monkeypatch.setattr(Baker, "several", one_by_one)
    with pytest.raises(AssertionError):
        opened_once(reads, IMAGE, roots["image"], tmp_path / "store")


@pytest.mark.parametrize(("kind", "workers"), [*((kind, 0) for kind in KINDS), (IMAGE, 2)], ids=str)
def test_huge_pictures_are_windows_of_theirs(
    roots: dict[str, Path], tmp_path: Path, kind: Kind, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether pictures are decoded whole or by windows, in one process or several: the same bytes."""
    arguments: Any = (parse_text(EPOCHS[kind.name]), data_of(kind, roots[kind.name]))
    pack(*arguments, tmp_path / "whole", epochs=3, workers=workers)
    monkeypatch.setattr(bake, "_WHOLE", 0)
    pack(*arguments, tmp_path / "windows", epochs=3, workers=0)
    assert content(tmp_path / "whole") == content(tmp_path / "windows")


def listed_often(folder: Path, order: list[int]) -> Path:
    """A CSV file with a few pictures, each in many rows with a box of its own."""
    for k in set(order):
        draw(folder / f"{k}.png", seed=k, size=(40, 36))
    rows = [f'{k}.png,{i % 3},"[[{i % 7}, 2, 20, 30.5]]"' for i, k in enumerate(order)]
    (folder / "list.csv").write_text("\n".join(["image,label,boxes", *rows]))
    return folder / "list.csv"


def test_a_picture_that_is_listed_often_is_opened_once_a_run(
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


def test_runs_are_whole_units_and_short(tmp_path: Path) -> None:
    data = str(listed_often(tmp_path, [0] * 100 + [1] * 3))
    recipe = parse_text("{version: 1, recipe: r, steps: [Rotate: {limit: 20}, D4]}")
    baker = pack(recipe, data, tmp_path / "store", epochs=3, workers=0).baker
    runs = list(baker.runs(range(1, 309)))
    assert [row for run in runs for row in run] == list(range(1, 309))
    assert all(run.start % 3 == 0 for run in runs[1:])
    assert max(map(len, runs)) < bake._RUN + 3
    assert 300 in {run.start for run in runs}


def test_broken_files_lose_all_their_rows(tmp_path: Path) -> None:
    for k in range(3):
        draw(tmp_path / "files" / f"{k}.png", seed=k, size=(40, 36))
    path = tmp_path / "files" / "1.png"
    path.write_bytes(path.read_bytes()[:90])
    recipe = parse_text("{version: 1, recipe: r, steps: [RandomCrop: {height: 20, width: 24}, Rotate, D4]}")
    packing = pack(recipe, str(tmp_path / "files"), tmp_path / "store", epochs=4, workers=0)
    assert [one.row for one in packing.unreadable] == [4, 5, 6, 7]
    assert {one.path for one in packing.unreadable} == {str(path)}


# -- layouts ----------------------------------------------------------------------------------------------------------


def as_before(path: Path, out: Path) -> None:
    """The same store as earlier releases wrote it: one epoch behind another, a source for each row."""
    store = open_store(path)
    about, times, units = dict(store.about), store.about["epochs"], store.about["units"]
    lost = [{**one, "row": one["row"] % times * units + one["row"] // times} for one in about["unreadable"]]
    columns: dict[str, Any] = dict(store.columns)
    columns |= {name: list(column) * times for name, column in columns.items() if name.startswith("source/")}
    with StoreWriter(
        out, format=store.format, kind=store.kind, targets=store.targets, rows=store.rows,
        about={**about, "packed": 1, "unreadable": lost},
    ) as writer:  # fmt: skip
        for row in range(store.rows):
            old = row % units * times + row // units
            writer.add(row, {name: [store.array(name, k) for k in store.items(name, old)] for name in store.targets})
        writer.finish({name: column for name, column in columns.items() if name != "label" or column is not None})


def same_samples(roots: dict[str, Path], folder: Path, kind: Kind) -> None:
    """The law: a store of either layout has the samples of the files."""
    recipe, root = parse_text(EPOCHS[kind.name]), roots[kind.name]
    pack(recipe, data_of(kind, root), folder / "new", epochs=3, seed=5, workers=0)
    as_before(folder / "new", folder / "old")
    files, paths = kind.open(root, EPOCHS[kind.name], seed=5), []
    for name in ("new", "old"):
        ds = Packed(folder / name, recipe, seed=5)
        assert ds.store.about["packed"] == {"new": 2, "old": 1}[name]
        for epoch in range(5):
            found = [pixels(ds[epoch, i]) for i in range(N)]
            if epoch < 3:
                assert found == [pixels(files[epoch, i]) for i in range(N)]
            assert [pixels(one) for one in ds.__getitems__([(epoch, i) for i in range(N)])] == found
        paths.append([ds.paths(i) for i in range(N)])
        stored = StoredSource(ds.store, recipe, ds.pipeline.targets)
        targets = ds.store.targets if kind is PAIR else ["image"]
        for k in range(len(stored)):
            row = k * packed_columns.steps_between(ds.store)[0]
            for target in targets:
                wanted = ds.store.array(target, ds.store.items(target, row)[0])
                assert np.array_equal(stored.read(k).images[target], wanted)
    assert paths[0] == paths[1]


@by_kind
def test_stores_of_either_layout_have_the_samples_of_the_files(
    roots: dict[str, Path], tmp_path: Path, kind: Kind
) -> None:
    same_samples(roots, tmp_path, kind)


@pytest.mark.parametrize("wrong", [(1, 12), (3, 1)])
def test_one_layout_taken_for_the_other_is_caught(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: tuple[int, int]
) -> None:
    monkeypatch.setattr(stored, "steps_between", lambda store: wrong)
    with pytest.raises(AssertionError):
        same_samples(roots, tmp_path, IMAGE)


def checksums(row: Baked) -> list[int]:
    return [item.checksum for items in row.items.values() for item in items]


def handed_over(baker: Baker, most: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """The law: what a worker hands over at a time has no more than so many bytes and one row; how often it does."""
    monkeypatch.setattr(workers, "_here", [baker])
    rows, times = range(24), 0
    sums = [checksums(next(baker.several(range(row, row + 1)))) for row in rows]
    while rows:
        made = workers._several(rows, most)
        assert made
        assert [checksums(row) for row in made] == sums[rows.start : rows.start + len(made)]
        assert sum(item.size for row in made[:-1] for items in row.items.values() for item in items) < most
        rows, times = rows[len(made) :], times + 1
    return times


def test_workers_hand_over_so_many_bytes_at_a_time(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = parse_text(EPOCHS["image"]), data_of(IMAGE, roots["image"])
    baker = pack(*arguments, tmp_path / "store", epochs=24, workers=0).baker
    sizes = [
        item.size
        for row in range(24)
        for items in next(baker.several(range(row, row + 1))).items.values()
        for item in items
    ]
    times = [handed_over(baker, most, monkeypatch) for most in (1, 3 * max(sizes), sum(sizes) + 1)]
    assert times[0] == 24 > times[1] > times[2] == 1
    monkeypatch.setattr(workers, "_several", lambda rows, most: [*baker.several(rows)])  # a planted fault
    with pytest.raises(AssertionError):
        handed_over(baker, 3 * max(sizes), monkeypatch)


def test_a_bound_changes_no_byte(roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = parse_text(EPOCHS["image"]), data_of(IMAGE, roots["image"])
    pack(*arguments, tmp_path / "once", epochs=5, workers=0)
    monkeypatch.setattr(workers, "_BYTES", 3000)
    pack(*arguments, tmp_path / "bounded", epochs=5, workers=2)
    assert content(tmp_path / "bounded") == content(tmp_path / "once")
