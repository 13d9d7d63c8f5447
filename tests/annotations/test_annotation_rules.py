"""The rules of docs/ANNOTATIONS.md, beside those that test_annotation_tables.py has."""

import base64
import logging
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from support.annotations import (
    CLASSES,
    WRITERS,
    A,
    B,
    Files,
    Picture,
    Set,
    Thing,
    coco,
    draw,
    instances,
    laid,
    listed,
    notes,
    of_coco,
    of_labelme,
    of_yolo,
    random_set,
    recipe,
    refused,
    rows,
    voc,
    write,
    xml,
    yolo,
)  # fmt: skip
from support.checks import status
from test_annotation_tables import BOX, BOXES, GROUP, LABELS, MASKS, OTHER, PICTURES, TURNED_JPEG, WINDOWS

import augrecipes as ar


def test_what_is_cut_and_left_out_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    boxes = [{"bbox": box} for box in ([30, 20, 20, 20], [50, 5, 5, 5], [5, 5, 0, 3], [5, 5, -3, 3])]
    path = instances(tmp_path, *boxes)
    with caplog.at_level(logging.WARNING, logger="augrecipes"):
        ds = ar.ImageFolder(files=path, recipe=BOXES)
    assert ds[0]["boxes"].tolist() == [[30, 20, 40, 30]]
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: 1 box reaching beyond the image, cut to it (first: {path}: annotation 1)",
        f"{path}: 1 box outside of the image, left out (first: {path}: annotation 2)",
        f"{path}: 2 boxes without width or height, left out (first: {path}: annotation 3)",
    ]


def test_names_as_windows_writes_them(tmp_path: Path) -> None:
    files = of_coco(BOX, image={"file_name": WINDOWS[1]}) | {"images/a.png": None}
    del files["a.png"]
    path = laid(tmp_path, files, "i.json")
    assert "1 name as Windows writes paths" in notes(path, BOXES)
    write(tmp_path / "list.csv", f"image\n{WINDOWS[1]}\n")
    assert len(ar.ImageFolder(files=tmp_path / "list.csv", recipe="folder-128")) == 1
    (tmp_path / "images" / "a.png").rename(tmp_path / "secret.png")
    with pytest.raises(ar.DataError, match=r"no such file|not in the data"):
        ar.ImageFolder(files=tmp_path / "list.csv", recipe="folder-128")


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("ISO-8859-1", "élan"), ("windows-1251", "кот"),
     *((encoding, "人") for encoding in ("GBK", "gb2312", "Big5", "Shift_JIS", "utf-16", "UTF-8"))],
)  # fmt: skip
def test_declared_encodings_are_honoured(tmp_path: Path, encoding: str, name: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>{xml(name)}'
    assert listed(laid(tmp_path, {"a.png": None, "a.xml": text.encode(encoding)}, "a.xml")).box_classes == (name,)


@pytest.mark.parametrize("files", [{"Annotations/b.xml": xml("x")}, {"Annotations/c.xml": xml("x", image="b.png")}])
def test_an_xml_file_goes_by_its_own_name(tmp_path: Path, files: Files) -> None:
    """Or by <filename>, where there is no image of its name."""
    assert listed(laid(tmp_path, PICTURES | files, "Annotations")).images.name(0) == "b.png"


def test_gaps_in_ids_are_closed_and_kept(tmp_path: Path) -> None:
    of = Set((Picture("0.png", 20, 20, (Thing("zebra", (1, 1, 9, 9)),)), Picture("1.png", 20, 20)), ("zebra", "ant"))
    ds = ar.ImageFolder(files=coco(tmp_path, of), recipe=recipe("coco"))
    assert (ds.box_classes, ds.box_numbers, ds.ids.tolist()) == (["zebra", "ant"], [3, 10], [5, 16])
    assert ds.subset([1]).ids.tolist() == [16]  # type: ignore[union-attr]
    assert ds[0]["kinds"].tolist() == [0]


@pytest.mark.parametrize("writer", [coco, voc, yolo])
def test_classes_are_given(tmp_path: Path, writer: Any) -> None:
    of = Set((Picture("0.png", 20, 20, (Thing("bee", (1, 1, 9, 9)), Thing("ape", (2, 2, 5, 5)))),), ("ape", "bee"))
    path, names = writer(tmp_path, of), ["bee", "cat", "ape"]
    ds = ar.ImageFolder(files=path, recipe=recipe("coco"), box_classes=names)
    assert (ds.box_classes, ds[0]["kinds"].tolist()) == (names, [0, 2])
    with pytest.raises(ar.DataError, match="class 'bee' is not among box_classes="):
        ar.ImageFolder(files=path, recipe=recipe("coco"), box_classes=["ape"])


def test_numbers_without_names(tmp_path: Path) -> None:
    """Labels of YOLO that nothing names stay numbers; so do names that are 0, 1, ...; others sort, numbers by size."""
    path = laid(tmp_path, {"images/a.png": None, "labels/a.txt": "7 .5 .5 .1 .1\n"}, "labels")
    assert (listed(path).box_classes, listed(path).boxes.labels.tolist()) == (None, [7])
    refused(path, "a.txt:1: class 7: no class of this number is among box_classes=", classes=["a", "b"])
    things = tuple(Thing(name, (1, 1, 9, 9)) for name in ("10a", "9", "10"))
    assert listed(voc(tmp_path / "v", Set((Picture("0.png", 40, 30, things),)))).box_classes == ("9", "10", "10a")


def test_an_image_of_another_size_is_refused(tmp_path: Path) -> None:
    """A size that was recorded says which image was looked at."""
    image = {"id": 9, "file_name": "a.png", "width": 80, "height": 60}
    path = instances(tmp_path, {"bbox": [0, 0, 70, 50]}, images=[image])
    with pytest.raises(ar.DataError, match=r"a.png: is 30×40 px, but .*i.json has annotations for 60×80 px$"):
        ar.ImageFolder(files=path, recipe=recipe("coco"))[0]
    write_jpeg = laid(tmp_path, TURNED_JPEG, "images/a.jpg")
    for (width, height), exif, other in (((30, 40), "apply", "ignore"), ((40, 30), "ignore", "apply")):
        image = {"id": 9, "file_name": f"images/{write_jpeg.name}", "width": width, "height": height}
        path = instances(tmp_path, {"bbox": [0, 0, 10, 10]}, images=[image])
        assert ar.ImageFolder(files=path, recipe=recipe("coco"), exif=exif)[0]["boxes"].tolist() == [[0, 0, 10, 10]]
        said = rf"a.jpg: .*{path.name} has annotations for {height}×{width} px.*Then give exif={exif!r}"
        with pytest.raises(ar.DataError, match=said):
            ar.ImageFolder(files=path, recipe=recipe("coco"), exif=other)[0]


# -- keypoints and areas -----------------------------------------------------------------------------------------------


def test_keypoints_of_coco(tmp_path: Path) -> None:
    first = {"bbox": [0, 0, 9, 9], "keypoints": [5, 6, 2, 0, 0, 0, 7, 8, 1], "num_keypoints": 2}
    second = {"bbox": [0, 0, 9, 9], "keypoints": [90, 6, 2, 3, 4, 2, 0, 0, 0]}
    path = instances(tmp_path, first, second, {"bbox": [1, 1, 2, 2], "iscrowd": 1, "keypoints": [1, 1, 2] * 3})
    sample = ar.ImageFolder(files=path, recipe=recipe(keypoints="format: xy, labels: which"))[0]
    assert sample["keypoints"].tolist() == [[5, 6, 2], [7, 8, 1], [3, 4, 2]]
    assert sample["which"].tolist() == [0, 2, 4]
    kept = ar.ImageFolder(files=path, recipe=recipe(keypoints="format: yx, remove_invisible: false"))[0]
    assert kept["keypoints"].tolist() == [[6, 5, 2], [0, 0, 0], [8, 7, 1], [6, 90, 2], [4, 3, 2], [0, 0, 0]]
    with pytest.raises(ar.RecipeError, match="'xyz'"):
        ar.ImageFolder(files=path, recipe=recipe(keypoints="format: xyz"))


def test_poses_of_yolo(tmp_path: Path) -> None:
    lines, poses = ("0 .5 .5 .5 .5 .25 .5 2 0 0 0", "", "0 .5 .5 .1 .1"), recipe("pascal_voc", keypoints="format: xy")
    path = laid(tmp_path, of_yolo(*lines, about="val: images\nkpt_shape: [2, 3]\nnames: [person]"), "data.yaml")
    sample = ar.ImageFolder(files=path, recipe=poses, split="val")[0]
    assert sample["boxes"].tolist() == [[10, 7.5, 30, 22.5], [18, 13.5, 22, 16.5]]
    assert sample["keypoints"].tolist() == [[10, 15, 2]]
    laid(tmp_path, of_yolo("0 .5 .5 .5 .5 .25 .5 0 0", about="names: {0: person}\nkpt_shape: [2, 2]"), "")
    assert ar.ImageFolder(files=path, recipe=poses)[0]["keypoints"].tolist() == [[10, 15, 2]]


def test_areas(tmp_path: Path) -> None:
    """Crowds are drawn, too; a pixel is inside where its centre is; groups, and what hides what lies beneath."""
    square = {"bbox": [10, 10, 10, 10], "iscrowd": 1, "segmentation": [[10, 10, 20, 10, 20, 20, 10, 20]]}
    assert listed(instances(tmp_path / "c", square), MASKS).outlines.draw(0, 30, 40).sum() == 100
    path = laid(tmp_path / "y", of_yolo("0 0.25 0 0.75 0 0.75 1 0.25 1"), "data.yaml")
    drawn = ar.ImageFolder(files=path, recipe=MASKS)[0]["mask"]
    assert (int(drawn.sum()), drawn[0, 10].item(), drawn[0, 9].item()) == (600, 1, 0)
    mask = listed(laid(tmp_path / "l", of_labelme(GROUP, OTHER), "i.json"), MASKS).outlines.draw(0, 30, 40)
    assert (mask[5, 5], mask[13, 28]) == (1, 1)


@pytest.mark.parametrize("classes", ["", "__ignore__\n_background_\na\nb\n"])
def test_ignore_and_background_are_drawn_over_what_lies_beneath(tmp_path: Path, classes: str) -> None:
    shapes = [
        {"label": "b", "points": [[0, 0], [30, 20]]}, {"points": [[0, 0], [9, 9]]},
        {"label": "__ignore__", "points": [[4, 4], [9, 9]]}, {"label": "_background_", "points": [[6, 6], [12, 12]]},
        {"points": [[7, 7], [8, 8]]},
    ]  # fmt: skip
    files = of_labelme(*({"shape_type": "rectangle"} | shape for shape in shapes))
    path = laid(tmp_path, files | ({"labels.txt": classes} if classes else {}), "i.json")
    table = listed(path, recipe("pascal_voc", mask="required"))
    mask = table.outlines.draw(0, 30, 40)
    assert [int(mask[k, k]) for k in (1, 5, 6, 7, 8, 11, 15, 25)] == [1, 255, 0, 1, 0, 0, 2, 0]
    assert (table.box_classes, len(table.boxes.values)) == (("a", "b"), 3)
    assert listed(path, MASKS, classes=["b", "a"]).outlines.draw(0, 30, 40)[1, 1] == 2
    laid(tmp_path, of_labelme({"label": "__ignore__"}, *({"label": f"{k:03}x"} for k in range(255))), "")
    (tmp_path / "labels.txt").unlink(missing_ok=True)
    refused(path, "255 classes, and 255 in masks is what is to be ignored", recipe=MASKS)


def test_shapes_of_labelme(tmp_path: Path) -> None:
    bitmap = base64.b64encode(cv2.imencode(".png", np.eye(4, dtype=np.uint8))[1].tobytes()).decode()
    shapes = [
        {"label": "disc", "shape_type": "circle", "points": [[20, 10], [23, 14]]},
        {"label": "bit", "shape_type": "mask", "points": [[30, 20], [33, 23]], "mask": bitmap},
        {"label": "_background_", "points": [[1, 1], [2, 2], [3, 1]]},
        {"label": "tip", "shape_type": "point", "points": [[3, 4]]},
    ]
    path = laid(tmp_path, of_labelme(*shapes), "i.json")
    ds = ar.ImageFolder(files=path, recipe=recipe("pascal_voc", keypoints="format: xy", mask="required"))
    sample = ds[0]
    np.testing.assert_allclose(sample["boxes"], [[15, 5, 25, 15], [30, 20, 33, 23]], atol=0.02)
    assert ds.box_classes == ["bit", "disc", "tip"]
    assert sample["keypoints"].tolist() == [[3, 4, 2]]
    mask = sample["mask"].numpy()
    assert (mask[20:24, 30:34] == np.eye(4)).all()
    assert abs((mask == 2).sum() - np.pi * 25) < 3


# -- files outside of the data's folder --------------------------------------------------------------------------------


def outside(folder: Path, name: str, *, format: str) -> Path:
    """Annotations of an image of the name that they give; beside it two links that leave the folder of the data."""
    draw(folder / "set" / "images", [A])
    draw(folder, [B])
    for link, target in (("link.png", folder / "b.png"), ("out", folder), ("in.png", folder / "set/images/a.png")):
        if not (place := folder / "set" / "images" / link).is_symlink():
            place.symlink_to(target)
    path, files = {
        "coco": ("i.json", {"i.json": of_coco(BOX, image={"file_name": name})["i.json"]}),
        "labelme": ("images/a.json", {"images/a.json": of_labelme({}, imagePath=name)["i.json"]}),
        "voc": ("Annotations", {"Annotations/z.xml": f"<annotation><filename>{name}</filename></annotation>"}),
        "yolo": ("data.yaml", of_yolo(LABELS, images="list.txt") | {"list.txt": f"images/a.png\n{name}\n"}),
    }[format]
    return laid(folder / "set", {file: content for file, content in files.items() if content is not None}, path)


BELOW = {"coco": "images/", "labelme": "", "yolo": "images/", "voc": ""}  # what stands before the names of images


@pytest.mark.parametrize("format", BELOW)
def test_images_outside_are_read_when_that_is_said(tmp_path: Path, format: str) -> None:
    """By `..`, whole paths, addresses, and links; of Pascal VOC only the last part of a name is taken."""
    below = BELOW[format]
    up = {"": "../../", "images/": "../"}[below]
    names = [f"{up}b.png", str(tmp_path / "b.png"), "https://example.org/b.png", f"{below}../images/../{up}b.png"]
    for name in ["link.png"] if format == "voc" else [*names, f"{below}link.png", f"{below}out/b.png"]:
        path = outside(tmp_path, name, format=format)
        with pytest.raises(ar.DataError, match=r"is not in the data's folder .*; outside=True reads it") as told:
            ar.ImageFolder(files=path, recipe=recipe("coco"))
        assert repr(name) in str(told.value)
        if "://" not in name and "images/.." not in name:
            anyway = ar.ImageFolder(files=path, recipe=recipe("coco"), outside=True)
            assert Path(anyway.path(len(anyway) - 1)).resolve() == (tmp_path / "b.png").resolve()
    for name in (f"{below}a.png", f"{below}in.png", f"{below}../images/a.png"):
        assert len(ar.ImageFolder(files=outside(tmp_path, name, format=format), recipe=recipe("coco"))) > 0


def test_folders_that_data_yaml_names_do_not_leave_it(tmp_path: Path) -> None:
    path = laid(tmp_path / "a" / "set", of_yolo(LABELS), "data.yaml")
    laid(tmp_path, of_yolo(LABELS), "")
    for entry in (tmp_path / "images", "../../images"):
        write(path, f"train: {entry}\nnames: [x]\n")
        refused(path, f"data.yaml: {str(entry)!r} is not in the data's folder")
        assert len(rows(path, outside=True)) == 1
    write(path, f"path: {tmp_path}\ntrain: images\nnames: [x]\n")
    assert len(rows(path)) == 1


# -- commands, and packed datasets -------------------------------------------------------------------------------------

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
THINGS = tuple(Thing(name, (4, 4, 20, 16), SQUARE) for name in (CLASSES[0], CLASSES[2]))
OF = Set((Picture("0.png", 40, 30, THINGS), Picture("1.png", 40, 30)), polygons=True)


@pytest.mark.parametrize("name", WRITERS)
def test_commands_take_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    path = WRITERS[name](tmp_path / "set", OF)
    made = write(tmp_path / "r.yaml", TEXT.replace("MASK", "optional"))
    assert status("check-data", str(made), str(path), "--json") == 0
    told = capsys.readouterr().out
    assert '"image": 2' in told
    assert '"boxes": 2' in told
    assert status("preview", str(made), "--data", str(path), "-o", str(tmp_path / "grid.png"), "--rows", "1") == 0
    assert (tmp_path / "grid.png").stat().st_size > 1000


def test_defects_are_reported_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    boxes = [{"bbox": box} for box in ([1, 2, "x", 4], [0, 0, 4, 4], [70, 0, 20, 4])]
    path = laid(tmp_path, of_coco(*boxes, image={"width": 80, "height": 60}), "i.json")
    assert status("check-data", str(write(tmp_path / "r.yaml", TEXT.replace("MASK", "optional"))), str(path)) == 1
    told = capsys.readouterr()
    text = " ".join((told.out + told.err).split())
    for word in (
        "annotation 1: `bbox` should be",
        "has annotations for 60×80 px",
        "1 box reaching beyond the image, cut",
    ):
        assert word in text


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


# -- lists in CSV files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["path,label,x_min,y_min,x_max,y_max\na.png,cat,1,2,3,4\n", "image,class,xmin,ymin,xmax,ymax\na.png,1,1,1,2,2\n"],
)
def test_a_row_a_box_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ar.DataError, match=r"boxes.csv:1: has one row a box: give one row an image"):
        ar.ImageFolder(files=write(tmp_path / "boxes.csv", text), recipe=recipe("coco"))


def test_words_that_do_not_go_together(tmp_path: Path) -> None:
    path = laid(tmp_path, of_coco(BOX), "i.json")
    with pytest.raises(ValueError, match="crowds must be"):
        ar.ImageFolder(files=path, recipe=recipe("coco"), crowds="maybe")  # type: ignore[arg-type]
