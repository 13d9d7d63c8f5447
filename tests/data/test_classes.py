"""`classes=`: labels with the numbers of another dataset, whatever classes are there."""

import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import augrecipes as ar
from augrecipes.recipe.parse import parse_text

RECIPE = "{version: 1, recipe: plain, steps: [HorizontalFlip], eval: []}"
BAGS = "{version: 1, recipe: tiles, kind: bag, steps: [HorizontalFlip], eval: []}"


def folders(root: Path, names: str) -> Path:
    for name in names.split():
        (root / name).mkdir(parents=True)
        Image.new("RGB", (20, 20)).save(root / name / "1.png")
    return root


def labels(ds: Any) -> list[int]:
    """Of the table, of samples and of a batch: all the same."""
    found = ds.labels.tolist()
    assert [ds[k]["label"] for k in range(len(ds))] == found
    assert next(iter(ar.loader(ds, len(ds))))["label"].tolist() == found
    return [int(k) for k in found]


def test_folders_have_the_numbers_of_the_training_set(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    recipe = parse_text(RECIPE)
    train = ar.ImageFolder(folders(tmp_path / "train", "ant bee cat"), recipe)
    root = folders(tmp_path / "val", "ant cat")
    assert labels(ar.ImageFolder(root, recipe, mode="eval")) == [0, 1]
    caplog.clear()
    caplog.set_level(logging.WARNING, "augrecipes")
    for classes in (train.classes, train.class_to_idx, tuple(train.classes)):
        val = ar.ImageFolder(root, recipe, mode="eval", classes=classes)
        assert labels(val) == [0, 2]
        assert (val.classes, val.class_to_idx) == (train.classes, train.class_to_idx)
        assert labels(val.subset([1])) == [2]
    assert [line.endswith("no samples of bee, which classes= names") for line in caplog.messages] == [True] * 3
    one = ar.ImageFolder(folders(tmp_path / "test", "cat"), recipe, classes=train.classes)
    assert labels(one) == [2]
    assert labels(ar.ImageFolder(root, recipe, classes=["cat", "ant"])) == [1, 0]


def test_folders_that_are_numbers_keep_their_places(tmp_path: Path) -> None:
    recipe = parse_text(RECIPE)
    train = ar.ImageFolder(folders(tmp_path / "train", "0 1 10 2"), recipe)
    val = ar.ImageFolder(folders(tmp_path / "val", "0 2"), recipe, classes=train.classes)
    assert labels(val) == [train.class_to_idx[name] for name in ("0", "2")] == [0, 3]


def test_a_class_that_is_not_among_them_is_named_with_its_file(tmp_path: Path) -> None:
    root = folders(tmp_path / "val", "ant elk")
    with pytest.raises(ar.DataError, match=r"elk.1\.png: class 'elk' is not among classes=, which are ant, bee"):
        ar.ImageFolder(root, parse_text(RECIPE), classes=["ant", "bee"])


@pytest.mark.parametrize("classes", ["ant", ["ant", "ant"]])
def test_what_is_no_list_of_names_is_refused(classes: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="classes= is a list of names, each once"):
        ar.ImageFolder(folders(tmp_path / "val", "ant"), parse_text(RECIPE), classes=classes)


def test_data_without_classes_of_its_own_is_refused(tmp_path: Path) -> None:
    root, recipe = folders(tmp_path / "flat", "ant"), parse_text(RECIPE)
    for given in ({"root": root, "layout": "flat"}, {"root": root / "ant"}):
        with pytest.raises((ValueError, ar.DataError), match=r"has neither|no images in this folder's subfolders"):
            ar.ImageFolder(**given, recipe=recipe, classes=["ant"])
    with pytest.raises(ValueError, match="has neither"):
        ar.Samples([(np.zeros((9, 9, 3), np.uint8), 1)], recipe, classes=["ant", "bee"])


@pytest.mark.parametrize(
    ("names", "train", "val"),
    [("ant bee cat", [0, 1, 2], [0, 2]), ("3 7 12", [3, 7, 12], [3, 12]), ("0 1 2", [0, 1, 2], [0, 2])],
)
def test_lists_of_files(names: str, train: list[int], val: list[int], tmp_path: Path) -> None:
    folders(tmp_path, "some")
    first, _, last = names.split()
    for file, some in (("train.csv", names.split()), ("val.csv", [first, last])):
        (tmp_path / file).write_text("image,label\n" + "".join(f"some/1.png,{name}\n" for name in some))
    recipe = parse_text(RECIPE)
    known = ar.ImageFolder(files=tmp_path / "train.csv", recipe=recipe)
    assert labels(known) == train
    found = ar.ImageFolder(files=tmp_path / "val.csv", recipe=recipe, classes=known.classes)
    assert labels(found) == val
    assert found.class_to_idx == known.class_to_idx


def test_bags_and_packed_datasets(tmp_path: Path) -> None:
    bags = folders(tmp_path / "bags", "slide-1 slide-2")
    (bags / "labels.csv").write_text("bag,label\nslide-1,benign\nslide-2,tumour\n")
    known = ["benign", "border", "tumour"]
    assert ar.TileBags(bags, parse_text(BAGS), classes=known).labels.tolist() == [0, 2]
    recipe = parse_text(RECIPE)
    ar.pack(recipe, str(folders(tmp_path / "val", "ant cat")), tmp_path / "store", workers=0)
    packed = ar.Packed(tmp_path / "store", recipe, classes=["ant", "bee", "cat"])
    assert labels(packed) == labels(pickle.loads(pickle.dumps(packed))) == [0, 2]
