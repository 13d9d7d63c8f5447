"""Whole batches out of a store are the samples, side by side, to the bit; and none of them is the store's memory."""

from __future__ import annotations

import ctypes
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.checks import planted_faults
from support.kinds import IMAGE, KINDS, PAIR, Kind, N, packed, pixels, recipe_of

from augrecipes.data.collate import Collate
from augrecipes.data.loader import loader
from augrecipes.data.packed import Packed
from augrecipes.errors import StoreError
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text
from augrecipes.store import open_store
from augrecipes.store.items import Items

OUTPUTS = [
    "{dtype: uint8, layout: hwc}",
    "{where: device}",
    "{where: device, layout: hwc, normalize: imagenet}",
    "{dtype: float32, normalize: imagenet}",
    "{dtype: float32, layout: hwc, range: [-1, 1]}",
    "{dtype: float16, color: bgr}",
    "{dtype: float32, color: y}",
    "{dtype: uint8, color: gray}",
]
WHOLE = """
version: 1
recipe: whole
steps:
  - Resize: {height: 22, width: 26}
eval:
  - Resize: {height: 22, width: 26}
output: OUTPUT
"""
PAIRS = """
version: 1
recipe: cut
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - RandomCrop: {height: 12, width: 12, at: lr}
  - D4: {p: 1.0}
  - RandomBrightnessContrast: {p: 0.5, target: lr}
eval: []
output: OUTPUT
"""


@pytest.fixture(scope="module")
def stores(roots: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("stores")
    pack(parse_text(WHOLE.replace("OUTPUT", OUTPUTS[0])), str(roots["image"]), root / "image", workers=0)
    pair = {name: str(path) for name, path in PAIR.where(roots["pair"]).items()}
    pack(parse_text(PAIRS.replace("OUTPUT", OUTPUTS[0])), pair, root / "pair", workers=0)
    return {"image": root / "image", "pair": root / "pair"}


def agrees(ds: Packed, epoch: int, indices: list[int]) -> bool:
    """Whether the batch that is read at once is the batch of the samples."""
    whole = ds.read_batch(epoch, indices)
    if whole is None:
        return False
    single = Collate("default")([ds[epoch, i] for i in indices])
    return set(whole) == set(single) and all(
        torch.equal(value, torch.as_tensor(whole[key])) and torch.as_tensor(whole[key]).dtype == value.dtype
        if isinstance(value, torch.Tensor)
        else list(whole[key]) == list(value)
        for key, value in single.items()
    )


ORDERS = ([3, 0, 11, 5], [7], [2, 2, 2], list(range(N)), [N + 4, 1])


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_images(stores: dict[str, Path], output: str, mode: Any) -> None:
    ds = Packed(stores["image"], parse_text(WHOLE.replace("OUTPUT", output)), mode=mode)
    assert all(agrees(ds, epoch, order) for epoch in (0, 2) for order in ORDERS)


@pytest.mark.parametrize("output", OUTPUTS)
def test_pairs(stores: dict[str, Path], output: str) -> None:
    ds = Packed(stores["pair"], parse_text(PAIRS.replace("OUTPUT", output)), seed=4)
    assert all(agrees(ds, epoch, order) for epoch in (0, 2) for order in ORDERS)


def test_what_cannot_be_gathered_is_read_one_by_one(roots: dict[str, Path], stores: dict[str, Path]) -> None:
    recipe = parse_text(WHOLE.replace("OUTPUT", OUTPUTS[0]))
    assert Packed(stores["image"], recipe, save_applied_params=True).read_batch(0, [0, 1]) is None
    store = packed(IMAGE, roots["image"])
    assert Packed(store, parse_text(recipe_of(IMAGE)), optimize="none").read_batch(0, [0, 1]) is None
    unknown = recipe_of(IMAGE).replace("RandomBrightnessContrast", "ElasticTransform: {p: 1.0}")  # to programs
    assert agrees(Packed(store, parse_text(unknown), optimize="exact"), 0, [0, 1, 5])  # each stops there for itself
    ragged = Packed(stores["pair"], parse_text(PAIRS.replace("OUTPUT", OUTPUTS[0])), mode="eval")
    assert agrees(ragged, 0, [0, 1])  # all of one size after all
    least = parse_text(
        WHOLE.replace("OUTPUT", OUTPUTS[0]).replace("steps:", "inputs: {image: {min_size: [8, 8]}}\nsteps:", 1)
    )
    assert agrees(Packed(stores["image"], least), 0, [3, 4])  # what is said of inputs holds before the baked steps


def test_baked_epochs_are_gathered(roots: dict[str, Path], tmp_path: Path) -> None:
    text = "{version: 1, recipe: r, steps: [RandomCrop: {height: 20, width: 18}, GaussianBlur]}"
    pack(parse_text(text), str(roots["image"]), tmp_path / "store", epochs=3, workers=0)
    ds = Packed(tmp_path / "store", parse_text(text))
    assert all(agrees(ds, epoch, order) for epoch in range(5) for order in ORDERS)
    assert not np.array_equal(ds[0, 0]["image"], ds[1, 0]["image"])


def test_a_batch_shares_no_memory_with_the_store(stores: dict[str, Path]) -> None:
    for output in OUTPUTS:
        ds = Packed(stores["image"], parse_text(WHOLE.replace("OUTPUT", output)))
        block = np.frombuffer(ds.store.tables["image"].shards.mapped(0), np.uint8)
        batch = ds.read_batch(0, list(range(N)))
        assert batch is not None
        assert not np.may_share_memory(np.asarray(batch["image"]), block)


def _lends_the_map(pipeline: Any, given: Any, epoch: int, virtual: Any, *_: Any) -> dict[str, Any]:
    """A planted fault: a batch that hands out the store itself."""
    first, place = given.image.array(0), int(given.image.lie[0, 0])
    held = (ctypes.c_uint8 * (len(virtual) * first.size)).from_address(place)
    return {"image": np.frombuffer(held, np.uint8).reshape(len(virtual), *first.shape)}


# `verify=`: a flipped byte of a store is told at the first read of its row, or at every one; with None, it is read.


RESIZED = "{version: 1, recipe: whole, steps: [Resize: {height: 20, width: 18}]}"


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


@pytest.mark.parametrize("backend", ["batches", "threads", "processes"])
def test_batches_that_are_gathered_are_looked_at(roots: dict[str, Path], tmp_path: Path, backend: Any) -> None:
    recipe = parse_text(RESIZED)
    place = tmp_path / "store"
    shutil.copytree(packed(IMAGE, roots["image"], RESIZED), place)
    whole = [pixels(Packed(place, recipe)[i]) for i in range(N)]
    assert [pixels(Packed(place, recipe, verify=None)[i]) for i in range(N)] == whole
    assert Packed(place, recipe).read_batch(0, [0, 1]) is not None  # such a store is gathered
    flip(place, "image", 5, random.Random(0))
    with pytest.raises(StoreError, match=r"item 5 \(row 5\) is damaged"):
        list(loader(Packed(place, recipe), 4, num_workers=int(backend != "batches"), backend=backend))
    assert len(list(loader(Packed(place, recipe, verify=None), 4))) == N // 4


test_planted_faults_are_caught = planted_faults(
    {
        "a check that never looks": (
            lambda fixture: flips_are_told(IMAGE, fixture("roots")["image"], fixture("tmp_path"), "raw", "always"),
            (Items, "confirm", lambda self, item: None),
        ),
        "a gather that lends the map": (  # torch, too, warns of memory that cannot be written to
            lambda fixture: test_a_batch_shares_no_memory_with_the_store(fixture("stores")),
            ("augrecipes.data.packed.native_batch", _lends_the_map),
        ),
    },
    (AssertionError, UserWarning),
)  # fmt: skip
