"""Packed: samples and batches are those of the files, for every kind; stores that recipes do not fit; damage."""

import ctypes
import logging
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.checks import planted_faults
from support.folders import listed_images
from support.kind_laws import LAWS, OF_SAMPLES
from support.kinds import (
    BAKED,
    IMAGE,
    KINDS,
    PAIR,
    Kind,
    N,
    agree,
    by_kind,
    by_turns,
    open_packed,
    packed,
    pixels,
    recipe_of,
)

from augrecipes import DataError, ImageFolder, Packed, StoreError, loader, pack, versions
from augrecipes.data.collate import Collate
from augrecipes.recipe.parse import parse_text
from augrecipes.store import StoreWriter, open_store
from augrecipes.store.items import Items


@by_turns(OF_SAMPLES, KINDS)
def test_law(roots: dict[str, Path], kind: Kind, law: str) -> None:
    LAWS[law](lambda **options: open_packed(kind, roots[kind.name], **{"seed": 3, **options}))


@by_kind
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_samples_are_those_of_the_files(roots: dict[str, Path], kind: Kind, mode: Any) -> None:
    recipe = parse_text(recipe_of(kind))
    store = packed(kind, roots[kind.name])
    files = kind.open(roots[kind.name], recipe_of(kind), seed=3, mode=mode)
    for optimize in ("none", "exact"):
        ds = Packed(store, recipe, seed=3, mode=mode, optimize=optimize)
        assert agree(files, ds)
        assert (ds.classes, ds.class_to_idx) == (files.classes, files.class_to_idx)
        assert (ds.labels is None) == (files.labels is None)
        assert ds.labels is None or files.labels is None or ds.labels.tolist() == files.labels.tolist()
        assert [ds.path(i) for i in range(N)] == [files.path(i) for i in range(N)]
    assert ds.store.about["steps"]


# -- masks, boxes, keypoints -----------------------------------------------------------------------------------------

TARGETS = """
version: 1
recipe: targets
inputs:
  mask: required
  boxes: {format: FORMAT, labels: box_labels, min_area: 4, min_visibility: 0.1}
  keypoints: {format: xy, labels: names}
steps:
  - SmallestMaxSize: {max_size: 30}
  - CenterCrop: {height: 28, width: 26}
  - Rotate: {limit: 20, p: 1.0, interpolation: linear}
  - RandomCrop: {height: 20, width: 18}
  - HorizontalFlip
eval:
  - SmallestMaxSize: {max_size: 30}
  - CenterCrop: {height: 28, width: 26}
  - CenterCrop: {height: 20, width: 18}
"""


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return listed_images(tmp_path_factory.mktemp("listed"))


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_all_that_lies_on_an_image(listed: Path, tmp_path: Path, mode: Any) -> None:
    recipe = parse_text(TARGETS.replace("FORMAT", "pascal_voc"))
    pack(recipe, str(listed), tmp_path / "store", split="train", workers=0)
    files = ImageFolder(files=listed, recipe=recipe, split="train", mode=mode, seed=2)
    ds = Packed(tmp_path / "store", recipe, mode=mode, seed=2)
    assert agree(files, ds)
    assert {"image", "mask", "boxes", "box_labels", "keypoints", "names", "label"} <= set(ds[3])
    assert sum(len(ds[i]["boxes"]) for i in range(6)) > 3
    assert (ds.box_classes, ds.classes) == (files.box_classes, files.classes) == (["kind-0", "kind-1"], ["a", "b"])
    assert (ds.groups.tolist(), ds.weights.tolist()) == (files.groups.tolist(), files.weights.tolist())  # type: ignore[union-attr]
    assert ds.store.about["steps"][0]["step"] == "SmallestMaxSize"
    with pytest.raises(StoreError, match="declare boxes as"):
        Packed(tmp_path / "store", parse_text(TARGETS.replace("FORMAT", "coco")))
    without = TARGETS.replace("  boxes: {format: FORMAT, labels: box_labels, min_area: 4, min_visibility: 0.1}\n", "")
    assert "boxes" not in Packed(tmp_path / "store", parse_text(without))[0]


# -- a store and a recipe that do not go together ---------------------------------------------------------------------


def test_other_first_steps_are_refused_with_both_digests(roots: dict[str, Path]) -> None:
    store = packed(IMAGE, roots["image"])
    other = parse_text(recipe_of(IMAGE).replace("max_size: 30", "max_size: 31"))
    with pytest.raises(StoreError) as caught:
        Packed(store, other)
    text = str(caught.value)
    assert str(store) in text
    assert "SmallestMaxSize(interpolation: area, max_size: 30)" in text
    assert "SmallestMaxSize(interpolation: area, max_size: 31)" in text
    assert len(set(re.findall(r"\b[0-9a-f]{12}\b", text))) == 2
    with pytest.raises(StoreError, match="no steps"):
        Packed(store, parse_text("{version: 1, recipe: r, steps: []}"))


def refused_of(kind: Kind, old: str = "", new: str = "", **options: Any) -> Callable[[dict[str, Path]], Any]:
    """Opens the store of a kind by its recipe with other words."""
    return lambda roots: Packed(
        packed(kind, roots[kind.name]), parse_text(recipe_of(kind).replace(old, new, 1)), **options
    )


REFUSED: dict[str, tuple[Callable[[dict[str, Path]], Any], type[Exception], str]] = {
    **{
        f"another kind, {kind}": (
            lambda roots, kind=kind, other=other: Packed(packed(kind, roots[kind.name]), parse_text(recipe_of(other))),
            StoreError, f"of kind '{kind.name}', recipe .* is of kind '{other.name}'",
        )
        for kind, other in zip(KINDS, KINDS[1:] + KINDS[:1], strict=True)
    },
    "other scales": (refused_of(PAIR, "hr: 2", "hr: 3"), StoreError, "of scales"),
    "a mask that is not there": (
        refused_of(IMAGE, "mask: optional", "mask: required"), StoreError, "requires mask",
    ),
    "arguments of bags": (refused_of(IMAGE, max_tiles=3), ValueError, "for stores of bags"),
    "no recipe": (
        lambda roots: Packed(packed(IMAGE, roots["image"]), None), TypeError, "a recipe is needed",  # type: ignore[arg-type]
    ),
    "another word for verify": (
        refused_of(IMAGE, verify="sometimes"), ValueError, "None, 'first' or 'always'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together_is_refused(roots: dict[str, Path], case: str) -> None:
    opened, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        opened(roots)


def test_what_is_no_store_of_samples(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such store"):
        Packed(tmp_path / "nowhere", "folder-128")
    with StoreWriter(tmp_path / "rows", format="raw", kind="image", targets={"image": "image"}, rows=0) as writer:
        writer.finish({})
    with pytest.raises(StoreError, match="its rows are not samples"):
        Packed(tmp_path / "rows", "folder-128")


def test_a_section_that_begins_otherwise_is_refused(roots: dict[str, Path], tmp_path: Path) -> None:
    text = IMAGE.recipe.replace("steps:\n", f"steps:\n  - {BAKED['image']}\n", 1)
    recipe = parse_text(text)
    pack(recipe, str(roots["image"]), tmp_path / "store", mode="train", workers=0)
    ds = Packed(tmp_path / "store", recipe)
    assert ds.store.about["serves"] == ["train"]
    with pytest.raises(StoreError, match="mode 'eval'"):
        ds.subset([0], mode="eval")


def test_other_versions_are_told(roots: dict[str, Path], monkeypatch: Any, caplog: Any) -> None:
    open_packed(IMAGE, roots["image"])
    monkeypatch.setattr(versions, "versions", lambda: {"opencv": "9.9"})
    open_packed(IMAGE, roots["image"])
    open_packed(IMAGE, roots["image"])
    (message,) = [record.getMessage() for record in caplog.records if "9.9" in record.getMessage()]
    assert "pixels may differ" in message


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["{dtype: uint8, layout: hwc}", "{where: device}", "{dtype: float32}"])
def test_samples_share_no_memory_with_the_store(roots: dict[str, Path], tmp_path: Path, output: str) -> None:
    recipe = parse_text(f"{{version: 1, recipe: whole, steps: [], eval: [], output: {output}}}")
    pack(recipe, str(roots["image"]), tmp_path / "store", workers=0)
    ds = Packed(tmp_path / "store", recipe)
    stored = [ds.store.array("image", i) for i in range(N)]
    assert not any(array.flags.writeable for array in stored)
    before = [array.tobytes() for array in stored]
    for i in range(N):
        sample = ds[i]["image"]
        assert not np.shares_memory(sample.numpy(), stored[i])
        sample.zero_()
    assert [array.tobytes() for array in stored] == before


# -- inputs that cannot be read ----------------------------------------------------------------------------------------


@by_kind
def test_unreadable_inputs_are_errors_as_files_are(
    roots: dict[str, Path], kind: Kind, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "files"
    shutil.copytree(roots[kind.name], root)
    path = root / kind.files(5)
    files = kind.open(root, recipe_of(kind), seed=3)
    skipping = kind.open(root, recipe_of(kind), seed=3, on_error="skip")
    path.write_bytes(path.read_bytes()[:-30])  # its header is whole
    if kind.name == "pair":
        path.write_bytes(_broken_inside(roots["pair"] / kind.files(5)))
    store = packed(kind, root)
    recipe = parse_text(recipe_of(kind))
    ds = Packed(store, recipe, seed=3)
    assert [lost.path for lost in ds.unreadable.values()] == [str(path)]
    with pytest.raises(DataError) as ours:
        ds[5]
    with pytest.raises(DataError) as theirs:
        files[5]
    assert (str(ours.value), ours.value.path) == (str(theirs.value), theirs.value.path)
    caplog.set_level(logging.ERROR)
    assert agree(skipping, Packed(store, recipe, seed=3, on_error="skip"))


def _broken_inside(file: Path) -> bytes:
    """A PNG file whose header and end are fine."""
    data = bytearray(file.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 8] = bytes(8)
    return bytes(data)


# Whole batches out of a store are the samples, side by side, to the bit; and none of them is the store's memory.


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
