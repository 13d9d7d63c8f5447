"""Packed: the samples of the files, for every kind; and what is said where a store and a recipe do not go together."""

import logging
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.folders import listed_images
from support.kind_laws import LAWS, OF_SAMPLES
from support.kinds import BAKED, IMAGE, KINDS, PAIR, Kind, N, agree, by_kind, open_packed, packed, recipe_of

from augrecipes import DataError, ImageFolder, Packed, StoreError, pack, versions
from augrecipes.recipe.parse import parse_text
from augrecipes.store import StoreWriter


@by_kind
@pytest.mark.parametrize("law", OF_SAMPLES)
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
