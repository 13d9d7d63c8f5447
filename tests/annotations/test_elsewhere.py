"""Annotations in every command, in packed stores and in workers; lists and masks under names of the user's own."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from support.annotations import (
    CLASSES,
    WRITERS,
    A,
    B,
    Picture,
    Set,
    Thing,
    coco,
    draw,
    instances,
    labelme,
    random_set,
    voc,
    write,
)
from support.commands import status

import augrecipes as ar
from augrecipes.errors import DataError
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.csv_list import read_rows

TEXT = """
version: 1
recipe: detect
inputs: {mask: MASK, boxes: {format: yolo, labels: kinds}, keypoints: {format: xy, labels: which}}
steps:
  - HorizontalFlip
  - RandomBrightnessContrast
eval: derived
"""
SQUARE = (4.0, 4.0, 20.0, 4.0, 20.0, 16.0, 4.0, 16.0)
OF = Set(
    (
        Picture(
            "0.png", 40, 30, (Thing(CLASSES[0], (4, 4, 20, 16), SQUARE), Thing(CLASSES[2], (4, 4, 20, 16), SQUARE))
        ),
        Picture("1.png", 40, 30),
    ),
    polygons=True,
)


@pytest.mark.parametrize("name", ["coco", "yolo", "voc", "labelme"])
def test_commands_take_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    path = WRITERS[name](tmp_path / "set", OF)
    made = write(tmp_path / "r.yaml", TEXT.replace("MASK", "optional"))
    assert status("check-data", str(made), str(path), "--json") == 0
    told = capsys.readouterr().out
    assert re.search(r'"image": 2', told)
    assert re.search(r'"boxes": 2', told)
    assert status("preview", str(made), "--data", str(path), "-o", str(tmp_path / "grid.png"), "--rows", "1") == 0
    assert (tmp_path / "grid.png").stat().st_size > 1000


def test_commands_that_read_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = coco(tmp_path / "set", OF)
    (tmp_path / "set" / "images").rename(tmp_path / "pictures")
    made = write(tmp_path / "r.yaml", TEXT.replace("MASK", "required"))
    data = [f"files={path}", f"images={tmp_path / 'pictures'}"]
    assert status("check-data", str(made), *data) == 0
    assert status("explain", str(made), *data) == 0
    assert status("verify", str(made), *data, "--samples", "2") == 0
    assert status("bench", str(made), *data, "--seconds", "0.01", "--samples", "2", "--no-effects") == 0
    assert status("pack", str(made), *data, "-o", str(tmp_path / "store"), "--workers", "0") == 0
    capsys.readouterr()
    assert status("check-data", str(made), str(path)) == 2
    assert "images=FOLDER" in capsys.readouterr().err


def test_defects_are_reported_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = {"id": 9, "file_name": "a.png", "width": 80, "height": 60}
    path = instances(
        tmp_path, {"bbox": [1, 2, "x", 4]}, {"bbox": [0, 0, 4, 4]}, {"bbox": [70, 0, 20, 4]}, images=[image]
    )
    made = write(tmp_path / "r.yaml", TEXT.replace("MASK", "optional"))
    assert status("check-data", str(made), str(path)) == 1
    told = capsys.readouterr()
    told = " ".join((told.out + told.err).split())
    assert "annotation 1: `bbox` should be" in told
    assert "has annotations for 60×80 px" in told
    assert "1 box reaching beyond the picture, cut to it" in told


@pytest.mark.parametrize("points", [True, False])
def test_a_folder_is_of_annotations_or_of_pictures(tmp_path: Path, points: bool) -> None:
    """What lies beside pictures is read for a recipe that takes boxes; a folder without pictures always."""
    from augrecipes.sources.annotations.table import is_given_as_data

    beside = labelme(tmp_path / "a", OF)
    assert is_given_as_data(beside, points=points) == points
    assert is_given_as_data(voc(tmp_path / "b", OF), points=points)
    assert not is_given_as_data(tmp_path / "b" / "JPEGImages", points=points)
    assert not is_given_as_data(tmp_path / "b" / "JPEGImages" / "0.png", points=points)


@pytest.mark.parametrize("mask", ["required", "optional"])
def test_a_store_has_what_the_files_have(tmp_path: Path, mask: str) -> None:
    made = ar.load(write(tmp_path / "r.yaml", TEXT.replace("MASK", mask)))
    path = coco(tmp_path / "set", random_set(5, polygons=True))
    ar.pack(made, path, tmp_path / "store", workers=0)
    files, store = ar.ImageFolder(files=path, recipe=made, seed=3), ar.Packed(tmp_path / "store", made, seed=3)
    assert store.box_classes == files.box_classes
    for k in range(len(files)):
        a, b = files[1, k], store[1, k]
        assert ("mask" in a) == ("mask" in b) == (mask == "required")
        for key in {"image", "mask", "boxes", "kinds", "keypoints", "which"} & set(a):
            np.testing.assert_allclose(a[key], b[key], atol=1e-5)


def test_workers_read_what_is_read_here(tmp_path: Path) -> None:
    made = ar.load(write(tmp_path / "r.yaml", TEXT.replace("MASK", "required")))
    ds = ar.ImageFolder(files=coco(tmp_path / "set", OF), recipe=made)
    (batch,) = ar.loader(ds, batch_size=2, num_workers=1)
    again = pickle.loads(pickle.dumps(ds))
    for k in range(2):
        assert (batch["mask"][k] == ds[0, k]["mask"]).all()
        assert (again[0, k]["boxes"] == ds[0, k]["boxes"]).all()
    assert ds.fingerprint() == again.fingerprint()
    other = Set((OF.pictures[0], Picture("1.png", 40, 30, (Thing(CLASSES[1], (1, 1, 9, 9)),))), polygons=True)
    assert ar.ImageFolder(files=coco(tmp_path / "set", other), recipe=made).fingerprint() != ds.fingerprint()


# -- lists and masks ---------------------------------------------------------------------------------------------------


def test_columns_are_called_what_the_file_calls_them(tmp_path: Path) -> None:
    draw(tmp_path, [A, B])
    draw(tmp_path / "lr", [Picture("a.png", 10, 8), Picture("b.png", 10, 8)])
    draw(tmp_path / "hr", [Picture("a.png", 40, 32), Picture("b.png", 40, 32)])
    path = write(tmp_path / "list.csv", "Image,File,species,LR_path,hr_path,slide\nx,a.png,oak,lr/a.png,hr/a.png,s\n")
    trees = ar.ImageFolder(files=path, columns={"image": "file", "label": "species"}, recipe="folder-128")
    assert (trees.classes, Path(trees.path(0)).name) == (["oak"], "a.png")
    pairs = ar.PairedImages(files=path, columns={"lr": "lr_path", "hr": "hr_path"}, recipe="sr-x4-bicubic"
                            if "sr-x4-bicubic" in ar.gallery_names() else "sr-x4", check="names")  # fmt: skip
    assert {name: Path(file).parent.name for name, file in pairs.paths(0).items()} == {"hr": "hr", "lr": "lr"}
    bags = ar.TileBags(
        files=path, columns={"bag": "slide", "image": "file"}, recipe="stained-tissue-bag", on_error="skip"
    )
    assert len(bags) == 1
    with pytest.raises(DataError, match=r"list.csv:1: no column `art`, which columns= names; the file has image, file"):
        ar.ImageFolder(files=path, columns={"label": "art"}, recipe="folder-128")
    with pytest.raises(ValueError, match="'colour' is none of them"):
        ar.ImageFolder(files=path, columns={"colour": "species"}, recipe="folder-128")
    with pytest.raises(ValueError, match="columns= goes with files="):
        ar.ImageFolder(tmp_path, columns={"image": "file"}, recipe="folder-128")
    assert read_rows(path, renamed={"image": "file"}).columns["image"] == ["a.png"]


def masks(folder: Path, template: str, names: list[str]) -> None:
    for k, name in enumerate(names):
        path = folder / template.replace("{stem}", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), np.full((30, 40), k + 1, np.uint8))


SEGMENT = "{version: 1, recipe: s, inputs: {mask: required}, steps: [NoOp]}"


@pytest.mark.parametrize(
    "template", ["masks/{stem}_mask.png", "{stem}_mask.png", "masks/m-{stem}", "gt/{stem}.seg.png"]
)
def test_masks_by_a_template(tmp_path: Path, template: str) -> None:
    names = ["a", "b.c", "d_mask.x"]
    beside = "/" not in template
    draw(tmp_path / "images", [Picture(f"{name}.jpg" if name != "b.c" else "b.c.png", 40, 30) for name in names])
    masks(tmp_path / ("images" if beside else ""), template if "." in template else f"{template}.png", names)
    given = template if beside else str(tmp_path / template)
    ds = ar.ImageFolder(tmp_path / "images", parse_text(SEGMENT), masks=given)
    assert [Path(ds.path(k)).name for k in range(len(ds))] == ["a.jpg", "b.c.png", "d_mask.x.jpg"]
    assert [int(ds[k]["mask"][0, 0]) for k in range(3)] == [1, 2, 3]
    made = write(tmp_path / "s.yaml", SEGMENT)
    assert status("check-data", str(made), str(tmp_path / "images"), "--masks", given) == 0


def test_templates_that_do_not_fit(tmp_path: Path) -> None:
    draw(tmp_path / "images", [A, B])
    masks(tmp_path / "images", "{stem}_mask.png", ["a"])
    with pytest.raises(DataError, match=r"b.png: no mask"):
        ar.ImageFolder(tmp_path / "images", parse_text(SEGMENT), masks="{stem}_mask.png")
    with pytest.raises(DataError, match=r"no file here is named \{stem\}_m.png"):
        ar.ImageFolder(tmp_path / "images", parse_text(SEGMENT), masks="{stem}_m.png")
    for wrong in ("{stem}/mask.png", "{stem}_{stem}.png", "{stem}.png"):
        with pytest.raises(ValueError, match="masks="):
            ar.ImageFolder(tmp_path / "images", parse_text(SEGMENT), masks=wrong)
