"""The rules of docs/ANNOTATIONS.md, each on files of the formats that it is about."""

import base64
import logging
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
    listed,
    random_set,
    recipe,
    refused,
    rows,
    voc,
    write,
    yolo,
)
from support.checks import status
from support.encoded_images import Jpeg

import augrecipes as ar
from augrecipes.recipe.parse import parse_text

# -- classes and ids ---------------------------------------------------------------------------------------------------


def test_gaps_in_ids_are_closed_and_kept(tmp_path: Path) -> None:
    of = Set((Picture("0.png", 20, 20, (Thing("zebra", (1, 1, 9, 9)),)), Picture("1.png", 20, 20)), ("zebra", "ant"))
    ds = ar.ImageFolder(files=coco(tmp_path, of), recipe=recipe("coco"))
    assert ds.box_classes == ["zebra", "ant"]
    assert ds.box_numbers == [3, 10]
    assert ds.ids.tolist() == [5, 16]
    assert ds.subset([1]).ids.tolist() == [16]  # type: ignore[union-attr]
    assert ds[0]["kinds"].tolist() == [0]


def test_classes_are_given(tmp_path: Path) -> None:
    of = Set((Picture("0.png", 20, 20, (Thing("bee", (1, 1, 9, 9)), Thing("ape", (2, 2, 5, 5)))),), ("ape", "bee"))
    for k, writer in enumerate((coco, voc, yolo)):
        ds = ar.ImageFolder(
            files=writer(tmp_path / str(k), of), recipe=recipe("coco"), box_classes=["bee", "cat", "ape"]
        )
        assert ds.box_classes == ["bee", "cat", "ape"]
        assert ds[0]["kinds"].tolist() == [0, 2]
        with pytest.raises(ar.DataError, match="class 'bee' is not among box_classes="):
            ar.ImageFolder(files=writer(tmp_path / str(k), of), recipe=recipe("coco"), box_classes=["ape"])


# -- marked objects, images without any ------------------------------------------------------------------------------


def test_crowds_are_left_out_of_boxes_and_drawn_in_masks(tmp_path: Path) -> None:
    square = [[10, 10, 20, 10, 20, 20, 10, 20]]
    path = instances(tmp_path, {"bbox": [10, 10, 10, 10], "iscrowd": 1, "segmentation": square}, {"bbox": [0, 0, 5, 5]})
    assert rows(path) == [[0, 0, 5, 5]]
    assert rows(path, crowds="keep") == [[10, 10, 20, 20], [0, 0, 5, 5]]
    drawn = listed(path, recipe(mask="required")).outlines
    assert drawn.draw(0, 30, 40).sum() == 100
    with pytest.raises(ValueError, match="crowds must be"):
        ar.ImageFolder(files=path, recipe=recipe("coco"), crowds="maybe")  # type: ignore[arg-type]


# -- places ------------------------------------------------------------------------------------------------------------


def test_what_is_cut_and_left_out_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = instances(
        tmp_path, {"bbox": [30, 20, 20, 20]}, {"bbox": [50, 5, 5, 5]}, {"bbox": [5, 5, 0, 3]}, {"bbox": [5, 5, -3, 3]}
    )
    with caplog.at_level(logging.WARNING, logger="augrecipes"):
        ds = ar.ImageFolder(files=path, recipe=recipe("pascal_voc"))
    assert ds[0]["boxes"].tolist() == [[30, 20, 40, 30]]
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: 1 box reaching beyond the image, cut to it (first: {path}: annotation 1)",
        f"{path}: 1 box outside of the image, left out (first: {path}: annotation 2)",
        f"{path}: 2 boxes without width or height, left out (first: {path}: annotation 3)",
    ]


def test_places_count_in_the_image_as_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.jpg").write_bytes(Jpeg(30, 40, turn=6).data)  # 30×40 as it is seen
    write(tmp_path / "labels" / "a.txt", "0 0.5 0.5 1 0.5\n")
    assert rows(tmp_path / "labels") == [[0, 10, 30, 30]]
    assert rows(tmp_path / "labels", exif="ignore") == [[0, 7.5, 40, 22.5]]
    # A size that was recorded says which image was looked at.
    for seen, exif in (((30, 40), "apply"), ((40, 30), "ignore")):
        image = {"id": 9, "file_name": "images/a.jpg", "width": seen[0], "height": seen[1]}
        path = instances(tmp_path, {"bbox": [0, 0, 10, 10]}, images=[image])
        assert ar.ImageFolder(files=path, recipe=recipe("coco"), exif=exif)[0]["boxes"].tolist() == [[0, 0, 10, 10]]
        other = "ignore" if exif == "apply" else "apply"
        with pytest.raises(
            ar.DataError, match=rf"a.jpg: .*{path.name} has annotations for {seen[1]}×{seen[0]} px"
        ) as caught:
            ar.ImageFolder(files=path, recipe=recipe("coco"), exif=other)[0]
        assert f"Then give exif={exif!r}" in str(caught.value)


def test_an_image_of_another_size_is_refused(tmp_path: Path) -> None:
    image = {"id": 9, "file_name": "a.png", "width": 80, "height": 60}
    path = instances(tmp_path, {"bbox": [0, 0, 70, 50]}, images=[image])
    with pytest.raises(ar.DataError, match=r"a.png: is 30×40 px, but .*instances.json has annotations for 60×80 px$"):
        ar.ImageFolder(files=path, recipe=recipe("coco"))[0]


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


def test_pose_and_segments_of_yolo(tmp_path: Path) -> None:
    draw(tmp_path / "images" / "val", [A])
    label = write(tmp_path / "labels" / "val" / "a.txt", "0 0.5 0.5 0.5 0.5 0.25 0.5 2 0 0 0\n\n0 0.5 0.5 0.1 0.1\n")
    path = write(tmp_path / "data.yaml", "train: images/val\nval: images/val\nkpt_shape: [2, 3]\nnames: [person]\n")
    poses = recipe("pascal_voc", keypoints="format: xy, labels: which")
    sample = ar.ImageFolder(files=path, recipe=poses, split="val")[0]
    assert sample["boxes"].tolist() == [[10, 7.5, 30, 22.5], [18, 13.5, 22, 16.5]]
    assert (sample["keypoints"].tolist(), sample["which"].tolist()) == ([[10, 15, 2]], [0])
    write(path, "train: images/val\nkpt_shape: [2, 2]\nnames: {0: person}\n")
    refused(path, f"{label}:1", "11 numbers: a pose of kpt_shape [2, 2] has 9")
    write(label, "0 0.5 0.5 0.5 0.5 0.25 0.5 0 0\n")
    assert ar.ImageFolder(files=path, recipe=poses)[0]["keypoints"].tolist() == [[10, 15, 2]]
    write(path, "train: images/val\nnames: [person]\n")
    write(label, "0 0.25 0 0.75 0 0.75 1 0.25 1\n")  # four corners: also a turned box
    assert rows(path) == [[10, 0, 30, 30]]
    drawn = ar.ImageFolder(files=path, recipe=recipe(mask="required"))[0]["mask"]
    assert (int(drawn.sum()), drawn[0, 10].item(), drawn[0, 9].item()) == (600, 1, 0)


def test_shapes_of_labelme(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    draw(tmp_path, [A])
    bitmap = base64.b64encode(cv2.imencode(".png", np.eye(4, dtype=np.uint8))[1].tobytes()).decode()
    shapes = [
        {"label": "disc", "shape_type": "circle", "points": [[20, 10], [23, 14]]},
        {"label": "bit", "shape_type": "mask", "points": [[30, 20], [33, 23]], "mask": bitmap},
        {"label": "way", "shape_type": "line", "points": [[1, 1], [2, 2]]},
        {"label": "_background_", "shape_type": "polygon", "points": [[1, 1], [2, 2], [3, 1]]},
        {"label": "tip", "shape_type": "point", "points": [[3, 4]]},
    ]
    said = {"shapes": shapes, "imagePath": "a.png", "imageHeight": 30, "imageWidth": 40}
    path = write(tmp_path / "a.json", said)
    with caplog.at_level(logging.WARNING, logger="augrecipes"):
        ds = ar.ImageFolder(files=path, recipe=recipe("pascal_voc", keypoints="format: xy", mask="required"))
    assert "1 line covering nothing, left out" in caplog.text
    sample = ds[0]
    np.testing.assert_allclose(sample["boxes"], [[15, 5, 25, 15], [30, 20, 33, 23]], atol=0.02)
    assert ds.box_classes == ["bit", "disc", "tip"]
    assert sample["keypoints"].tolist() == [[3, 4, 2]]
    mask = sample["mask"].numpy()
    assert (mask[20:24, 30:34] == np.eye(4)).all()
    assert abs((mask == 2).sum() - np.pi * 25) < 3
    shapes[4]["points"] = [[3]]
    shapes[0]["shape_type"] = "cube"
    refused(write(path, said), "a.json: shape 1: cube with 2 points", "a.json: shape 5: `points`")
    # Two data sets with classes of their own number them apart: `box_classes` says how, or a list beside them.
    write(tmp_path / "labels.txt", "__ignore__\nbit\n")
    refused(path, "label 'disc' is not in the list of classes")


# -- files -------------------------------------------------------------------------------------------------------------


def test_errors_name_file_and_record(tmp_path: Path) -> None:
    path = instances(tmp_path, {"bbox": [1, 2, "x", 4]}, {"bbox": [1, 2, 3, 4], "category_id": 8}, {"image_id": 77})
    words = "annotation 1: `bbox`", "annotation 2: there is no category of id 8", "annotation 3: `bbox`"
    refused(path, "instances.json: ", *words)
    refused(instances(tmp_path, images=[{"id": 9, "file_name": "b.png"}]), "its images were not found: no 'b.png' in")
    refused(instances(tmp_path, images=[{"id": 9, "file_name": "a.png"}] * 2), "image id 9: there is another")
    refused(write(tmp_path / "x.json", '{"images": [\n{"id": 1},\n}'), "x.json:3: not valid JSON")
    refused(write(tmp_path / "x.json", {"a": 1}), "is no COCO file: no list of images and no annotations")
    refused(write(tmp_path / "x.json", "[1]"), "x.json", "outermost value should be an object")
    captions = {"image_id": 9, "id": 4, "caption": "a dog"}
    refused(instances(tmp_path, annotations=[captions]), "are these captions")
    folder = voc(tmp_path / "v", Set((Picture("a.png", 40, 30, (Thing("ape", (1, 1, 9, 9)),)),)))
    file = folder / "a.xml"
    good = file.read_text()
    refused(write(file, good.replace("<xmin>1", "<xmin>one")).parent, "a.xml: object 1: 'ape' needs a <bndbox>")
    refused(write(file, good.replace("</object>", "")).parent, "a.xml: not valid XML")
    bomb = '<!DOCTYPE a [<!ENTITY b "ha">]>' + good.replace("ape", "&b;")
    refused(write(file, bomb).parent, "a.xml: it declares a document type")
    xml = write(tmp_path / "w" / "a.xml", '<?xml version="1.0"?><!DOCTYPE a SYSTEM "file:///etc/passwd"><annotation/>')
    refused(xml, "a.xml: it declares a document type")
    draw(tmp_path / "images", [A])
    label = write(tmp_path / "labels" / "a.txt", "0 0.5 0.5 0.1 0.1\n0 320 240 10 10\n0 0.5 0.5 0.1 0.1 0.9\nx\n")
    refused(label.parent, "a.txt:2: coordinates should be shares", "a.txt:3: 6 numbers", "a.txt:4: should be a class")
    refused(tmp_path / "nothing", "no such file or folder")
    refused(
        write(tmp_path / "notes" / "x.md", "hello").parent, "no annotations of a format that is known", "\n  COCO: "
    )
    write(tmp_path / "v" / "Annotations" / "a.json", {"shapes": []})
    write(file, good)
    refused(folder, "holds annotations of labelme or Pascal VOC")


@pytest.mark.parametrize(
    "text",
    ["path,label,x_min,y_min,x_max,y_max\na.png,cat,1,2,3,4\n", "image,class,xmin,ymin,xmax,ymax\na.png,1,1,1,2,2\n"],
)
def test_a_row_a_box_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ar.DataError, match=r"boxes.csv:1: has one row a box: give one row an image"):
        ar.ImageFolder(files=write(tmp_path / "boxes.csv", text), recipe=recipe("coco"))


def outside(folder: Path, name: str, *, format: str) -> Path:
    """Annotations of an image of the name that they give; beside it two links that leave the folder of the data."""
    draw(folder / "set" / "images", [A])
    draw(folder, [B])
    for link, target in (("link.png", folder / "b.png"), ("out", folder), ("in.png", folder / "set/images/a.png")):
        if not (place := folder / "set" / "images" / link).is_symlink():
            place.symlink_to(target)
    if format == "coco":
        return instances(folder / "set", {"bbox": [1, 2, 3, 4]}, images=[{"id": 9, "file_name": name}])
    if format == "labelme":
        shape = {"label": "x", "shape_type": "rectangle", "points": [[1, 2], [4, 6]]}
        return write(folder / "set" / "images" / "a.json", {"shapes": [shape], "imagePath": name})
    if format == "voc":
        return write(folder / "set" / "Annotations" / "z.xml", f"<annotation><filename>{name}</filename></annotation>")
    write(folder / "set" / "labels" / "a.txt", "0 0.1 0.1 0.1 0.1\n")
    write(folder / "set" / "list.txt", f"images/a.png\n{name}\n")
    return write(folder / "set" / "data.yaml", "train: list.txt\nnames: [x]\n")


FORMATS = {"coco": "images/", "labelme": "", "yolo": "images/", "voc": ""}  # what stands before the names of images


@pytest.mark.parametrize("format", FORMATS)
def test_images_outside_are_read_when_that_is_said(tmp_path: Path, format: str) -> None:
    """By `..`, whole paths, addresses, and links; of Pascal VOC only the last part of a name is taken."""
    below = FORMATS[format]
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
    path = outside(tmp_path / "a", "images/a.png", format="yolo")
    draw(tmp_path / "images", [A])
    write(tmp_path / "labels" / "a.txt", "0 0.5 0.5 0.1 0.1\n")
    for entry in (tmp_path / "images", "../../images"):
        write(path, f"train: {entry}\nnames: [x]\n")
        refused(path, f"data.yaml: {str(entry)!r} is not in the data's folder")
        assert len(rows(path, outside=True)) == 1
    write(path, f"path: {tmp_path}\ntrain: images\nnames: [x]\n")
    assert len(rows(path)) == 1


# Annotations in every command, in packed stores and in workers; lists and masks under names of the user's own.


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
    assert "1 box reaching beyond the image, cut to it" in told


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


# -- lists and masks ---------------------------------------------------------------------------------------------------


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
