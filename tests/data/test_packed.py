"""Packed: the samples of the files, for every kind; and what is said where a store and a recipe do not go together."""

from __future__ import annotations

import json
import logging
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from kind_laws import LAWS
from kinds import BAG, IMAGE, PAIR, Kind, N, arrays, pixels
from packed_kinds import BAKED, KINDS, open_packed, packed, recipe_of
from pictures import draw

from augrecipes import versions
from augrecipes.data.packed import Packed
from augrecipes.errors import DataError, StoreError
from augrecipes.kinds.image.dataset import ImageFolder
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text
from augrecipes.store import StoreWriter

by_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


def agree(a: Any, b: Any, epochs: tuple[int, ...] = (0, 3)) -> bool:
    """Whether two datasets have the same samples, to the bit, under the same keys."""
    pairs = [(a[epoch, i], b[epoch, i]) for epoch in epochs for i in range(len(a))]
    return len(a) == len(b) and all(
        list(x) == list(y) and pixels(x) == pixels(y) and x.get("bag") == y.get("bag") for x, y in pairs
    )


# What the loader and the base of all datasets do is held to its laws elsewhere.
OF_THE_LOADER = {
    "epochs_are_shuffled_differently",
    "passes_can_be_resumed_at_any_batch",
    "shards_share_the_samples_out",
    "the_same_dataset_twice_draws_twice",
    "views_pass_epochs_on",
}


@by_kind
@pytest.mark.parametrize("law", sorted(LAWS.keys() - OF_THE_LOADER))
def test_law(roots: dict[str, Path], kind: Kind, law: str) -> None:
    LAWS[law](lambda **options: open_packed(kind, roots[kind.name], **{"seed": 3, **options}))


@by_kind
@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("form", ["raw", "hdf5"])
def test_samples_are_those_of_the_files(roots: dict[str, Path], kind: Kind, mode: Any, form: str) -> None:
    recipe = parse_text(recipe_of(kind))
    store = packed(kind, roots[kind.name], format=form)
    files = kind.open(roots[kind.name], recipe_of(kind), seed=3, mode=mode)
    for optimize in ("none", "exact"):
        ds = Packed(store, recipe, seed=3, mode=mode, optimize=optimize)
        assert agree(files, ds)
        assert (ds.classes, ds.class_to_idx) == (files.classes, files.class_to_idx)
        assert (ds.labels is None) == (files.labels is None)
        assert ds.labels is None or files.labels is None or ds.labels.tolist() == files.labels.tolist()
        assert [ds.path(i) for i in range(N)] == [files.path(i) for i in range(N)]
    assert ds.store.about["steps"]


@by_kind
def test_whole_pictures_are_kept_where_draws_come_first(roots: dict[str, Path], kind: Kind) -> None:
    store = packed(kind, roots[kind.name], kind.recipe)
    assert agree(kind.open(roots[kind.name], seed=3), Packed(store, parse_text(kind.recipe), seed=3))


@by_kind
def test_jpeg_is_near(roots: dict[str, Path], kind: Kind) -> None:
    """Noise is what JPEG keeps worst; at quality 100 the mean of a picture hardly moves."""
    recipe = parse_text(recipe_of(kind))
    near = Packed(packed(kind, roots[kind.name], format="jpeg", quality=100), recipe, seed=3)
    exact = open_packed(kind, roots[kind.name], seed=3)
    for i in range(N):
        for key, values in arrays(exact[i]).items():
            other = arrays(near[i])[key]
            assert other.shape == values.shape
            if key in near.pipeline.outputs:
                assert abs(float(other.mean()) - float(values.mean())) < 0.02


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
    """A CSV file of 8 images with everything that a CSV file may say."""
    root = tmp_path_factory.mktemp("listed")
    numbers = np.random.default_rng(0)
    rows = ["image,mask,label,split,group,weight,boxes,keypoints"]
    for i in range(8):
        height, width = 36 + i, 50 - i
        draw(root / f"{i}.png", seed=i, size=(height, width))
        assert cv2.imwrite(str(root / f"{i}-mask.png"), numbers.integers(0, 600, (height, width)).astype(np.uint16))
        corners = (numbers.random((i % 4, 2)) * [width - 12, height - 12]).round(2).tolist()
        boxes = [[x, y, x + 9.5, y + 8.25, f"kind-{k % 2}"] for k, (x, y) in enumerate(corners)]
        cells = ['"' + json.dumps(value).replace('"', '""') + '"' for value in (boxes, corners)]
        split, group = "train" if i < 6 else "val", f"patient-{i % 3}"
        rows.append(f"{i}.png,{i}-mask.png,{'ab'[i % 2]},{split},{group},{i / 2},{cells[0]},{cells[1]}")
    path = root / "list.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("form", ["raw", "hdf5"])
def test_all_that_lies_on_an_image(listed: Path, tmp_path: Path, form: str, mode: Any) -> None:
    recipe = parse_text(TARGETS.replace("FORMAT", "pascal_voc"))
    pack(recipe, str(listed), tmp_path / "store", split="train", format=form, workers=0)
    files = ImageFolder(files=listed, recipe=recipe, split="train", mode=mode, seed=2)
    ds = Packed(tmp_path / "store", recipe, mode=mode, seed=2)
    assert agree(files, ds)
    assert {"image", "mask", "boxes", "box_labels", "keypoints", "names", "label"} <= set(ds[3])
    assert sum(len(ds[i]["boxes"]) for i in range(6)) > 3
    assert (ds.box_classes, ds.classes) == (files.box_classes, files.classes) == (["kind-0", "kind-1"], ["a", "b"])
    assert ds.groups is not None
    assert ds.weights is not None
    assert (ds.groups.tolist(), ds.weights.tolist()) == (files.groups.tolist(), files.weights.tolist())  # type: ignore[union-attr]
    assert ds.store.about["steps"][0]["step"] == "SmallestMaxSize"


def test_boxes_of_another_format_are_refused(listed: Path, tmp_path: Path) -> None:
    pack(parse_text(TARGETS.replace("FORMAT", "pascal_voc")), str(listed), tmp_path / "store", workers=0)
    with pytest.raises(StoreError, match="declare boxes as"):
        Packed(tmp_path / "store", parse_text(TARGETS.replace("FORMAT", "coco")))
    without = TARGETS.replace("  boxes: {format: FORMAT, labels: box_labels, min_area: 4, min_visibility: 0.1}\n", "")
    assert "boxes" not in Packed(tmp_path / "store", parse_text(without))[0]


def test_a_required_mask_that_is_not_there(roots: dict[str, Path]) -> None:
    with pytest.raises(StoreError, match="requires mask"):
        Packed(packed(IMAGE, roots["image"]), parse_text(recipe_of(IMAGE).replace("mask: optional", "mask: required")))


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


@by_kind
def test_another_kind_is_refused(roots: dict[str, Path], kind: Kind) -> None:
    other = KINDS[(KINDS.index(kind) + 1) % 3]
    with pytest.raises(StoreError, match=f"of kind '{kind.name}', recipe .* is of kind '{other.name}'"):
        Packed(packed(kind, roots[kind.name]), parse_text(recipe_of(other)))


def test_other_scales_are_refused(roots: dict[str, Path]) -> None:
    with pytest.raises(StoreError, match="of scales"):
        Packed(packed(PAIR, roots["pair"]), parse_text(recipe_of(PAIR).replace("hr: 2", "hr: 3")))


def test_what_is_no_store_of_samples(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such store"):
        Packed(tmp_path / "nowhere", "folder-128")
    with StoreWriter(tmp_path / "rows", format="raw", kind="image", targets={"image": "image"}, rows=0) as writer:
        writer.finish({})
    with pytest.raises(StoreError, match="its rows are not samples"):
        Packed(tmp_path / "rows", "folder-128")


def test_arguments_of_bags_are_for_bags(roots: dict[str, Path]) -> None:
    store = packed(IMAGE, roots["image"])
    with pytest.raises(ValueError, match="for stores of bags"):
        Packed(store, parse_text(recipe_of(IMAGE)), max_tiles=3)
    with pytest.raises(TypeError, match="a recipe is needed"):
        Packed(store, None)  # type: ignore[arg-type]


def test_a_section_that_begins_otherwise_is_refused(roots: dict[str, Path], tmp_path: Path) -> None:
    text = IMAGE.recipe.replace("steps:\n", f"steps:\n  - {BAKED['image']}\n", 1)
    recipe = parse_text(text)
    pack(recipe, str(roots["image"]), tmp_path / "store", mode="train", workers=0)
    ds = Packed(tmp_path / "store", recipe)
    assert ds.store.about["serves"] == ["train"]
    with pytest.raises(StoreError, match="mode 'eval'"):
        ds.subset([0], mode="eval")


def test_other_versions_are_told(roots: dict[str, Path], monkeypatch: Any, caplog: Any) -> None:
    monkeypatch.setattr(versions, "versions", lambda: {"opencv": "9.9"})
    open_packed(IMAGE, roots["image"])
    open_packed(IMAGE, roots["image"])
    (message,) = [record.getMessage() for record in caplog.records if "9.9" in record.getMessage()]
    assert "pixels may differ" in message


def test_bags_take_the_arguments_of_bags(roots: dict[str, Path]) -> None:
    options: dict[str, Any] = {"max_tiles": 2, "pick": "stride", "threads": 1, "seed": 3}
    files: Any = BAG.open(roots["bag"], recipe_of(BAG), **options)
    ds = open_packed(BAG, roots["bag"], **options)
    assert agree(files, ds)
    assert (ds.bags, len(ds[0]["image"])) == (files.bags, 2)
    assert ds.subset([3, 3]).bags == ["slide-03", "slide-03"]


def test_pairs_know_all_their_files(roots: dict[str, Path]) -> None:
    ds = open_packed(PAIR, roots["pair"])
    files: Any = PAIR.open(roots["pair"], recipe_of(PAIR))
    assert ds.paths(5) == files.paths(5)
    assert ds.image_layout == files.image_layout


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


def test_a_pickle_is_small_and_reads_alike(roots: dict[str, Path]) -> None:
    ds = open_packed(IMAGE, roots["image"], seed=3)
    data = pickle.dumps(ds)
    assert ds.store.array("image", 0).tobytes()[:64] not in data
    assert str(roots["image"]).encode() not in data  # nor the list of files
    assert agree(ds, pickle.loads(data))


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
