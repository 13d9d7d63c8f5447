"""`verify=`: a flipped byte of a store is told at the first read of its row, or at every one; with None, it is read."""

from __future__ import annotations

import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds import IMAGE, Kind, N, pixels
from packed_kinds import KINDS, packed, recipe_of

from augrecipes.data.loader import loader
from augrecipes.data.packed import Packed
from augrecipes.errors import StoreError
from augrecipes.recipe.parse import parse_text
from augrecipes.store import open_store
from augrecipes.store.items import Items

WHOLE = "{version: 1, recipe: whole, steps: [Resize: {height: 20, width: 18}]}"


def flip(store: Path, target: str, item: int, rng: random.Random) -> int:
    """Flips a bit of an item; the row that it belongs to."""
    found = open_store(store)
    items = found.tables[target]
    at = int(items.start[item]) + rng.randrange(int(items.size[item]))
    path = store / items.shards.files[0].name
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << rng.randrange(8)]))
    return items.row_of(item)


def told(ds: Packed, samples: int) -> set[int]:
    """The samples that cannot be read because of damage."""
    return {index for index in range(samples) if is_told(ds, index)}


def is_told(ds: Packed, index: int) -> bool:
    try:
        ds[0, index]
    except StoreError as error:
        assert Path(str(error.path)).is_file()
        assert f"(row {index})" in error.reason or ds.kind == "bag"
        return True
    return False


def flips_are_told(kind: Kind, root: Path, folder: Path, form: str, verify: Any) -> None:
    """The law: of flipped items each is told, and no other."""
    place, rng = folder / f"{form}-{verify}", random.Random(3)
    shutil.copytree(packed(kind, root, format=form), place)
    options: dict[str, Any] = {"max_tiles": 1000} if kind.name == "bag" else {}
    ds = Packed(place, parse_text(recipe_of(kind)), verify=verify, seed=3, **options)
    samples = len(ds)
    assert told(ds, samples) == set()
    target = rng.choice(sorted(ds.store.targets))
    rows = {flip(place, target, item, rng) for item in rng.sample(range(ds.store.count(target)), 4)}
    table: Any = ds.table
    wanted = rows if kind.name != "bag" else {int(np.searchsorted(table.offsets, row, "right")) - 1 for row in rows}
    assert told(Packed(place, parse_text(recipe_of(kind)), verify=verify, seed=3, **options), samples) == wanted
    # What was read once is believed by "first", and looked at again by "always".
    assert told(ds, samples) == (wanted if verify == "always" or form == "jpeg" else set())


@pytest.mark.parametrize("verify", ["first", "always"])
@pytest.mark.parametrize("form", ["raw", "hdf5", "jpeg"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_flips_are_told(roots: dict[str, Path], kind: Kind, form: str, verify: Any, tmp_path: Path) -> None:
    flips_are_told(kind, roots[kind.name], tmp_path, form, verify)


def test_a_check_that_never_looks_is_caught(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Items, "confirm", lambda self, item: None)
    with pytest.raises(AssertionError):
        flips_are_told(IMAGE, roots["image"], tmp_path, "raw", "always")


@pytest.mark.parametrize("backend", ["batches", "threads", "processes"])
def test_batches_that_are_gathered_are_looked_at(roots: dict[str, Path], tmp_path: Path, backend: Any) -> None:
    recipe = parse_text(WHOLE)
    place = tmp_path / "store"
    shutil.copytree(packed(IMAGE, roots["image"], WHOLE), place)
    whole = [pixels(Packed(place, recipe)[i]) for i in range(N)]
    assert [pixels(Packed(place, recipe, verify=None)[i]) for i in range(N)] == whole
    assert Packed(place, recipe).read_batch(0, [0, 1]) is not None  # such a store is gathered
    flip(place, "image", 5, random.Random(0))
    with pytest.raises(StoreError, match=r"item 5 \(row 5\) is damaged"):
        list(loader(Packed(place, recipe), 4, num_workers=int(backend != "batches"), backend=backend))
    assert len(list(loader(Packed(place, recipe, verify=None), 4))) == N // 4


def test_copies_in_workers_look_too(roots: dict[str, Path], tmp_path: Path) -> None:
    place = tmp_path / "store"
    shutil.copytree(packed(IMAGE, roots["image"]), place)
    ds = pickle.loads(pickle.dumps(Packed(place, parse_text(recipe_of(IMAGE)), verify="always")))
    assert ds.store.checks == "always"
    flip(place, "image", 2, random.Random(0))
    assert told(ds, N) == {2}


def test_another_word_is_refused(roots: dict[str, Path]) -> None:
    with pytest.raises(ValueError, match="None, 'first' or 'always'"):
        Packed(packed(IMAGE, roots["image"]), parse_text(recipe_of(IMAGE)), verify="sometimes")  # type: ignore[arg-type]
