"""Whole batches out of a store are the samples, side by side, to the bit; and none of them is the store's memory."""

import ctypes
import io
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from support.checks import DEAR, FAILURES, planted, planted_faults, same
from support.datasets import here as in_process
from support.kinds import IMAGE, KINDS, PAIR, Kind, N, packed, pixels, recipe_of

from augrecipes import CollateError, DataError, Packed, Samples, StoreError, loader, pack
from augrecipes.data import source_runs
from augrecipes.data.collate import Collate
from augrecipes.native.kernels import library
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
@pytest.mark.parametrize("form", ["raw", "jpeg"])
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
            (Items, "_confirm", lambda self, item: None),
        ),
        "a gather that lends the map": (  # torch, too, warns of memory that cannot be written to
            lambda fixture: test_a_batch_shares_no_memory_with_the_store(fixture("stores")),
            ("augrecipes.data.packed.native_batch", _lends_the_map),
        ),
    },
    (AssertionError, UserWarning),
)  # fmt: skip


# Batches of a source of one's own are its samples one by one, whatever the items hold and whoever reads them.


RECIPE = parse_text(
    """
version: 1
recipe: on-images
inputs: {mask: optional, boxes: {format: pascal_voc, labels: names, min_area: 4}}
steps:
  - RandomCrop: {height: 20, width: 18}
  - Affine: {rotate: 20, p: 0.5}
  - HorizontalFlip
eval: []
"""
)
N_SOURCES = 9


def encoded(image: np.ndarray) -> bytes:
    Image.fromarray(image).save(file := io.BytesIO(), "PNG")
    return file.getvalue()


FORMS: tuple[Callable[[np.ndarray], Any], ...] = (
    np.asarray,
    encoded,
    Image.fromarray,
    lambda picture: torch.from_numpy(picture).permute(2, 0, 1),
    lambda picture: picture.astype(np.float32) / np.float32(255),
)
# What an item may have beside its image, by the name and the number of the item.
BESIDE: dict[str, Callable[[int], Any]] = {
    "label": lambda k: np.int64(k % 3),
    "cls": lambda k: f"class {k}",
    "score": lambda k: 0.5 * k,
    "true": lambda k: k % 2 == 0,
    "caption": lambda k: f"no. {k}",
    "numbers": lambda k: np.full(4, k, np.float32),
    "scalar": torch.tensor,
    "found": lambda k: {"at": k},
    "mask": lambda k: np.random.default_rng(k).integers(0, 256, (30, 26), np.uint8),
    "boxes": lambda k: [[1, 2, 20.5, 25], [4, 4, 9, 9]][: k % 3],
    "names": lambda k: [7, 1][: k % 3],
}


def items(form: Callable[[np.ndarray], Any], names: Any, broken: int | None = None) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    made: list[dict[str, Any]] = []
    for k in range(N_SOURCES):
        image: Any = form(rng.integers(0, 256, (30, 26, 3), np.uint8)) if k != broken else b"no picture"
        made.append({"image": image} | {name: value(k) for name, value in BESIDE.items() if name in names})
    return made


class OneByOne(Samples):
    """Whose samples are not read at once."""

    def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        return super()._sample(row, epoch, virtual)


def check(form: int, names: set[str], order: list[int], how: dict[str, Any]) -> None:
    rows = items(FORMS[form], names)
    here, there = Samples(rows, RECIPE, seed=3), OneByOne(rows, RECIPE, seed=3, optimize="none")
    assert here.gathers
    assert not there.gathers
    wanted = [there[2, k] for k in order]
    same(here.__getitems__([(2, k) for k in order]), wanted)
    for batch, other in zip(loader(here, 4, shuffle=True, **how), in_process(there, 4, shuffle=True), strict=True):
        same(batch, other)
    ragged = here.ragged_keys
    same(Collate(ragged_keys=ragged)([here[2, k] for k in order]), Collate(ragged_keys=ragged)(wanted))


natively = pytest.mark.skipif(library() is None, reason="no native kernels here")
ORDERS_SOURCES = st.lists(st.integers(0, 3 * N_SOURCES), min_size=1, max_size=12)
NAMES = st.sets(st.sampled_from([*BESIDE]))
BACKENDS: tuple[dict[str, Any], ...] = ({}, {"backend": "threads", "num_workers": 2})


@natively
@DEAR
@given(st.integers(0, len(FORMS) - 1), NAMES, ORDERS_SOURCES, st.sampled_from(BACKENDS))
def test_batches_are_the_samples(form: int, names: set[str], order: list[int], how: dict[str, Any]) -> None:
    check(form, names, order, how)


@natively
def test_processes_read_batches() -> None:
    check(0, {*BESIDE}, [3], {"num_workers": 2, "multiprocessing_context": "fork"})


@natively
def test_no_sample_is_made_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Samples, "_sample", None)
    monkeypatch.setattr(Samples, "gathers", property(Samples._runs_at_once))  # which looks who has changed `_sample`
    ds = Samples(items(np.asarray, {"label", "score", "mask"}), RECIPE)
    (batch,) = loader(ds, N_SOURCES)
    assert batch["image"].shape == (N_SOURCES, 3, 20, 18)
    assert batch["mask"].shape == (N_SOURCES, 20, 18)
    assert batch["label"].tolist() == [k % 3 for k in range(N_SOURCES)]
    assert batch["score"].tolist() == [0.5 * k for k in range(N_SOURCES)]


@natively
def test_an_item_that_is_broken_fails_alone() -> None:
    rows = items(encoded, {"label", "caption", "numbers"}, broken=5)
    with pytest.raises(DataError, match=r"list\[5\]"):
        [*loader(Samples(rows, RECIPE), N_SOURCES)]
    here, there = (
        in_process(kind(rows, RECIPE, on_error="skip"), N_SOURCES, shuffle=True) for kind in (Samples, OneByOne)
    )
    same([*here], [*there])
    assert here.skipped == there.skipped
    assert [record.path for record in here.skipped] == ["list[5]"]


@natively
@pytest.mark.parametrize("odd", ["mask", "boxes", "caption"])
@pytest.mark.parametrize("where", [0, 4, N_SOURCES - 1])
def test_items_that_are_not_alike_are_told_as_one_by_one(odd: str, where: int) -> None:
    rows = items(np.asarray, {"label", "mask", "boxes", "names", "caption"})
    del rows[where][odd]
    with pytest.raises(CollateError) as told:
        [*in_process(OneByOne(rows, RECIPE), N_SOURCES)]
    with pytest.raises(CollateError) as found:
        [*loader(Samples(rows, RECIPE), N_SOURCES)]
    assert str(found.value) == str(told.value)
    same(Samples(rows, RECIPE).__getitems__([*range(N_SOURCES)]), [OneByOne(rows, RECIPE)[k] for k in range(N_SOURCES)])


class Rewritten:
    """A source whose items are a few arrays, written to again in turn: images, or the masks of images."""

    def __init__(self, arrays: int, *, masks: bool = False) -> None:
        self.pictures = np.random.default_rng(0).integers(0, 256, (N_SOURCES, 30, 26, 3), np.uint8)
        self.masks = masks
        self.arrays = [np.empty_like(self.pictures[0, :, :, 0] if masks else self.pictures[0]) for _ in range(arrays)]

    def __len__(self) -> int:
        return N_SOURCES

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        array, image = self.arrays[index % len(self.arrays)], self.pictures[index]
        array[...] = image[:, :, 0] if self.masks else image
        return {"image": image, "mask": array} if self.masks else {"image": array}


@natively
@pytest.mark.parametrize("arrays", [1, 2, 3])
@pytest.mark.parametrize("masks", [False, True], ids=["pictures", "masks"])
def test_a_source_that_writes_to_its_arrays_again(arrays: int, masks: bool) -> None:
    here, there = Samples(Rewritten(arrays, masks=masks), RECIPE), OneByOne(Rewritten(arrays, masks=masks), RECIPE)
    assert here.gathers
    for batch, other in zip(loader(here, 4), in_process(there, 4), strict=True):
        same(batch, other)
    same(here.__getitems__([1, 1, 2, 4, 5]), [there[k] for k in (1, 1, 2, 4, 5)])
    with pytest.MonkeyPatch.context() as patch, pytest.raises(AssertionError):
        patch.setattr(source_runs, "_is_overwritten", lambda *_: False)  # a planted fault
        same([*loader(Samples(Rewritten(arrays, masks=masks), RECIPE), 8)], [*in_process(there, 8)])


columns = source_runs._columns
of_names = planted(lambda names, order: check(0, names, order, {}), NAMES, ORDERS_SOURCES)
test_planted_faults_are_found = natively(planted_faults({
    "another's": (
        of_names,
        (source_runs, "_columns", lambda beside, *rest: columns({k: beside[max(0, k - 1)] for k in beside}, *rest)),
    ),
    "lists stay lists": (of_names, ("augrecipes.data.fetch.Draft._lists", lambda *_: False)),
    "unlike is alike": (
        lambda _: test_items_that_are_not_alike_are_told_as_one_by_one("boxes", 4),
        (source_runs, "frozenset", lambda _: 0, False),  # it is Python's own
    ),
}, (*FAILURES, KeyError, pytest.fail.Exception)))  # fmt: skip
