"""Small sets of every format: what is counted, what is refused, and which boxes are read; see docs/ANNOTATIONS.md."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.annotations import Files, laid, notes, of_coco, of_labelme, of_yolo, recipe, refused, rows, xml
from support.encoded_images import Jpeg

from augrecipes.recipe.model import Recipe

FAR = [[90, 90], [95, 90], [95, 95]]
BOX, POSED = {"bbox": [1, 1, 5, 5]}, {"bbox": [1, 1, 5, 5], "keypoints": [3, 3, 2]}
LABELS = "0 .5 .5 .1 .1\n"


BOXES, MASKS, DOTS = recipe("pascal_voc"), recipe(mask="required"), recipe(keypoints="format: xy")
POSE, ALL = recipe("coco", keypoints="format: xy"), recipe("coco", keypoints="format: xy", mask="required")

# -- what is counted ---------------------------------------------------------------------------------------------------

CLASSES_3 = [{"id": k, "name": name} for k, name in enumerate(("none", "person", "cat"))]
CROWD, IGNORED = {**BOX, "iscrowd": 1}, {**BOX, "ignore": 1}
MARKED = ("1 object marked as a crowd, difficult or to be ignored", ": annotation 2)", "2 classes without an object: n")
LOST = {**BOX, "keypoints": [5, 6, 2, 0, 0, 0, 90, 8, 1], "segmentation": [[1, 1, 2, 2]]}
DRAWN = {**BOX, "segmentation": [[1, 1, 6, 1, 6, 6]]}
RUNS = {"bbox": [2, 1, 7, 7], "segmentation": {"size": [30, 40], "counts": [1000, 200]}}
UNDRAWN = ({"bbox": [3, 3, 5, 5]}, {"bbox": [90, 1, 5, 5], "segmentation": [[90, 90, 95, 90, 95, 95]]},
           {"bbox": [1, 1, 7, 7], "segmentation": {"size": [30, 40], "counts": [1200]}})  # fmt: skip
PARTED = "<object><name>a</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox><difficult>1"
PARTED += "</difficult><part><name>hand</name></part></object>"
DOT = {"shape_type": "point", "points": [[3, 3]]}
TWICE, UNDREW = "with the class and the box of one before it on the same image, kept", "without an area in their image"
LISTED = {"list.txt": "images/a.png\nREADME\n\nimages\\a.png\n"}
DROPS = (("polygon", BOXES, "boxes"), ("polygon", MASKS, "outlines"), ("point", DOTS, "keypoints"))
ANOTHER = {"JPEGImages/a.png": None, "JPEGImages/b.png": None, "Annotations/b.xml": xml("x")}
# fmt: off
COUNTED: dict[str, tuple[Files, str, Recipe, dict[str, Any], tuple[str, ...]]] = {
    "crowd": (of_coco(BOX, CROWD, categories=CLASSES_3), "i.json", POSE, {}, MARKED),
    "ignored": (of_coco(BOX, IGNORED, categories=CLASSES_3), "i.json", POSE, {}, MARKED),
    "crowds alone": (of_coco(CROWD), "i.json", POSE, {}, ('no boxes are left: crowds="keep" keeps',)),
    "crowds with points": (of_coco(POSED | CROWD), "i.json", DOTS, {}, ('no keypoints are left: crowds="keep" keeps',)),
    "nothing": (of_coco(), "i.json", POSE, {}, ("no boxes are left: there is no object: give annotations",)),
    "outside": (of_coco({"bbox": [90, 1, 5, 5]}), "i.json", POSE, {}, ("no boxes are left: coordinates should be",)),
    "difficult": (
        {"JPEGImages/0.png": None, "JPEGImages/a.png": None, "JPEGImages/b.png": None,
         "Annotations/0.xml": xml("", PARTED, image="0.png")}, "Annotations", POSE, {},
        ("1 object marked as", "no boxes are left: crowds=", "1 part of an object", "2 images without an XML file"),
    ),
    "lost points": (of_coco(LOST), "i.json", ALL, {}, (
        "1 keypoint outside of the image", "1 keypoint not labelled", "1 polygon of fewer than three corners",
    )),
    "no points": (of_coco(BOX | {"keypoints": [0] * 3}), "i.json", POSE, {}, (
        "no keypoints are left: `remove_invisible: false`",
    )),
    "shapes": ({**of_labelme({"shape_type": "line"}, DOT, {"label": "__ignore__"}), "b.png": None}, "", recipe("coco"),
        {}, ("1 line covering nothing", "1 point without a box", "1 shape of __ignore__ or",
             "no boxes are left: there is no object", "1 image without a JSON file, left out (first: b.png)")),
    "boxes twice": (of_yolo("0 0.5 0.5 0.1 0.1", "1 .5 .5 .1 .1", "0 .5 0.50 0.1 0.1", about="names: [a, b]"),
        "labels", POSE, {}, (f"1 object {TWICE} (first: ", "a.txt:3)")),
    "polygons twice": (of_yolo("0 0 0 1 0 1 1", "0 0 0 1 0 0 1", "0 0 0 1 0 1 1", "", ""), "labels", POSE, {}, (
        f"2 objects {TWICE}",
    )),
    "a list": (of_yolo(LABELS, images="list.txt") | LISTED, "data.yaml", POSE, {}, (
        "1 line without the name of an image", "1 image listed again",
    )),
    "undrawn": (of_coco(DRAWN, *UNDRAWN), "i.json", MASKS, {}, (f"3 objects {UNDREW}, not in masks", "annotation 2)")),
    "undrawn runs": (of_coco(RUNS, *UNDRAWN), "i.json", MASKS, {}, (f"3 objects {UNDREW}",)),
    "undrawn shares": (of_yolo("0 .5 .5 .1 .1", "0 .1 .1 .5 .5 .1 .7", "0 1.1 1.1 1.5 1.5 1.1 1.7"), "data.yaml", MASKS,
        {}, (f"2 objects {UNDREW}",)),
    "undrawn shapes": (of_labelme({}, {"points": FAR}), "i.json", MASKS, {}, (f"1 object {UNDREW}",)),
    "bare": (of_coco(POSED, {"bbox": [2, 2, 4, 4]}), "i.json", DOTS, {}, ("1 object without keypoints",)),
    "bare poses": (of_yolo("0 .5 .5 .1 .1", "0 .4 .5 .1 .1 .5 .5", about="names: [a]\nkpt_shape: [1, 2]"), "data.yaml",
        DOTS, {}, ("1 object without keypoints",)),
    "dropped": (of_labelme({"shape_type": "rotation"}, {}), "i.json", BOXES, {"drop_shapes": ["rotation"]}, (
        "1 rotation left out by drop_shapes=",
    )),
    **{f"dropped {kind} {said}": (of_labelme({}, DOT), "i.json", made, {"drop_shapes": [kind]}, (
        f"no {said} are left: take {kind} out of drop_shapes=",
    )) for kind, made, said in DROPS},
    "no box": (of_coco({"segmentation": {"size": [30, 40], "counts": [1200]}}), "i.json", BOXES, {}, (
        "1 box without width",
    )),
    "another image": (ANOTHER, "Annotations", BOXES, {}, ("1 file with another image in <filename>",)),
}
# fmt: on
SILENT = {  # what is not said where there is no reason
    "crowds kept": (of_coco(BOX, CROWD), POSE, {"crowds": "keep"}, "marked as"),
    "all drawn": (of_coco(DRAWN), MASKS, {}, UNDREW),
    "runs drawn": (of_coco(RUNS), MASKS, {}, UNDREW),
    "all posed": (of_coco(POSED), DOTS, {}, "without"),
}


@pytest.mark.parametrize("case", COUNTED)
def test_what_is_left_out_is_counted(tmp_path: Path, case: str) -> None:
    files, path, made, options, words = COUNTED[case]
    told = notes(laid(tmp_path, files, path), made, **options)
    assert [word for word in words if word not in told] == [], told


@pytest.mark.parametrize("case", SILENT)
def test_nothing_else_is_counted(tmp_path: Path, case: str) -> None:
    files, made, options, word = SILENT[case]
    assert word not in notes(laid(tmp_path, files, "i.json"), made, **options)


# -- what is refused ---------------------------------------------------------------------------------------------------

IMAGE = {"id": 9, "file_name": "a.png", "width": 40, "height": 30}
SECRET = '<?xml version="1.0"?><!DOCTYPE a SYSTEM "file:///etc/passwd"><annotation/>'
CURE = ("i.xml: is not ", "save it as UTF-8, or declare what it is")
OTHERS = ("", ' encoding="ascii"', ' encoding="zip"', ' encoding="punycode"', ' encoding="x"')
PICTURES = {"JPEGImages/a.png": None, "JPEGImages/b.png": None}
TWO = PICTURES | {"JPEGImages/c.jpg": b"", "JPEGImages/c.png": b"", "Annotations/c.xml": xml("x", image="d.png")}
# fmt: off
REFUSED: dict[str, tuple[Files, str, tuple[str, ...]]] = {
    "records": (of_coco({"bbox": [1, 2, "x", 4]}, BOX | {"category_id": 8}, {"image_id": 77}, BOX | {"image_id": 77}),
        "i.json", ("i.json: ", "annotation 1: `bbox`", "annotation 2: there is no category of id 8",
                   "annotation 3: `bbox`", "annotation 4: there is no image of id 77")),
    "no images": (of_coco(image={"file_name": "b.png"}), "i.json", ("its images were not found: no 'b.png' in",)),
    "equal ids": (of_coco(images=[IMAGE] * 2), "i.json", ("image id 9: there is another",)),
    "no JSON": ({"i.json": '{"images": [\n{"id": 1},\n}'}, "i.json", ("i.json:3: not valid JSON",)),
    "other JSON": ({"i.json": {"a": 1}}, "i.json", ("is not a COCO file: it has no list of images",)),
    "a list": ({"i.json": "[1]"}, "i.json", ("i.json", "outermost value should be an object")),
    "captions": (of_coco(annotations=[{"image_id": 9, "id": 4, "caption": "a"}]), "i.json", (
        "annotation 4: ", "`category_id`", "are these captions")),
    "no entries": (of_coco(annotations=[7], categories=[{"id": 1}, 3]), "i.json", (
        "annotation 1: should ", "category id 1: should have a `name`", "category 2: should be an object with")),
    "counts": (of_coco({"segmentation": {"size": [30, 40], "counts": [3]}}), "i.json", (
        "`counts` of run lengths should be whole numbers, or COCO's text of them, that add up to 30×40",)),
    "no corners": ({"a.png": None, "a.xml": xml("ape").replace("<xmin>1", "<xmin>one")}, "", (
        "a.xml: object 1: 'ape' needs a <bndbox>",)),
    "no XML": ({"a.png": None, "a.xml": xml("ape").replace("</object>", "")}, "", ("a.xml: not valid XML",)),
    "a bomb": ({"a.png": None, "a.xml": '<!DOCTYPE a [<!ENTITY b "ha">]>' + xml("&b;")}, "", (
        "a.xml: it declares a document type",)),
    "a secret": ({"a.xml": SECRET}, "a.xml", ("a.xml: it declares a document type",)),
    "a hidden secret": ({"a.xml": '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE a>'.encode("utf-16")}, "a.xml", (
        "declares a document type",)),
    **{f"encoding{said}": ({"i.xml": f'<?xml version="1.0"{said}?>{xml("人")}'.encode("gbk")}, "i.xml", CURE)
       for said in OTHERS},
    "one image twice": (PICTURES | {"Annotations/b.xml": xml("x"), "Annotations/c.xml": xml("x", image="b.png")},
        "Annotations", ("c.xml: is of the image b.png, as", "remove one of the two")),
    "two of its name": (TWO, "Annotations", ("c.jpg and c.png are of its name, and <filename> is none of them",)),
    "lines": (of_yolo(LABELS.strip(), "0 320 240 10 10", "0 0.5 0.5 0.1 0.1 0.9", "x", "7 .5 .5 .1 .1"), "labels", (
        "a.txt:2: coordinates should be shares", "a.txt:3: 6 numbers", "a.txt:4: should be a class",
        "a.txt:5: class 7 should be a whole number from 0 to 0")),
    "poses": (of_yolo("0 .5 .5 .5 .5 .25 .5 2 0 0 0", about="names: [a]\nkpt_shape: [2, 2]"), "data.yaml", (
        "a.txt:1", "11 numbers: a pose of kpt_shape [2, 2] has 9")),
    "nowhere": ({}, "nothing", ("no such file or folder",)),
    "no format": ({"x.md": "hello"}, "", ("no annotations of a format that is known", "\n  COCO: ")),
    "two formats": ({"a.png": None, "a.xml": xml("x"), "b.json": {"shapes": []}}, "", (
        "holds annotations of labelme or Pascal VOC",)),
    "a cuboid": (of_labelme({"shape_type": "cuboid"}, {}), "i.json", (
        "shape 1: cuboid with 4 points is not read; drop_shapes=['cuboid'] leaves such out",)),
    "bad shapes": (of_labelme({"shape_type": "circle"}, {"points": [[3]]}, {"label": 3}), "i.json", (
        "i.json: shape 1: circle with 4 points", "shape 2: `points`", "shape 3: should be an object with a `label`")),
    "not in the list": (of_labelme({}) | {"labels.txt": "__ignore__\nbit\n"}, "i.json", (
        "label 'a' is not in the list of classes",)),
    **{f"embedded {name}": (of_labelme({}, imagePath=name, imageData="iVBORw0K"), "i.json", (
        "its copy in `imageData` is not read",)) for name in ("gone.png", None)},
}
# fmt: on


@pytest.mark.parametrize("case", REFUSED)
def test_errors_name_file_record_and_cure(tmp_path: Path, case: str) -> None:
    files, path, words = REFUSED[case]
    refused(laid(tmp_path, files, path), *words)


# -- what is read ------------------------------------------------------------------------------------------------------

TRUTH = np.zeros((30, 40), np.uint8)
TRUTH[4:9, 6:20] = 1
AREA = {"size": [30, 40], "counts": np.diff(np.flatnonzero(np.diff(TRUTH.T.ravel(), prepend=0, append=0)),
                                            prepend=0, append=1200).tolist()}  # fmt: skip
EMPTY = ({}, {"bbox": None}, {"bbox": []}, {"bbox": [0, 0, 0, 0]}, {"bbox": [0.0, 0.0, 0.0, 0.0]})
GROUP, OTHER = {"group_id": 1}, {"group_id": 1, "points": [[20, 12], [30, 12], [30, 22]]}
APART = {"points": OTHER["points"]}
TURNED = {"shape_type": "rotation", "points": [[10, 2], [18, 10], [10, 18], [2, 10]], "direction": 0.78}
TURNED_JPEG = {"images/a.jpg": Jpeg(30, 40, turn=6).data, "labels/a.txt": "0 0.5 0.5 1 0.5\n"}  # 30×40 as it is seen
WINDOWS = ("images\\a.png", "C:\\data\\images\\a.png", "D:/x/images/a.png", "\\\\nas\\images\\a.png")
MARKED_GROUP = of_labelme(GROUP, OTHER | {"flags": {"difficult": True}})
# fmt: off
READ: dict[str, tuple[Files, str, dict[str, Any], Any]] = {
    "crowds": (of_coco(CROWD, {"bbox": [0, 0, 5, 5]}), "i.json", {}, [[0, 0, 5, 5]]),
    "crowds kept": (of_coco(CROWD, {"bbox": [0, 0, 5, 5]}), "i.json", {"crowds": "keep"}, [[1, 1, 6, 6], [0, 0, 5, 5]]),
    **{f"the box of {name} {k}": (of_coco({"segmentation": area, **box}), "i.json", {}, [[6, 4, 20, 9]])
       for name, area in (("runs", AREA), ("a polygon", [[6, 4, 20, 4, 20, 9]])) for k, box in enumerate(EMPTY)},
    "four corners": (of_yolo("0 0.25 0 0.75 0 0.75 1 0.25 1"), "data.yaml", {}, [[10, 0, 30, 30]]),
    "turned by EXIF": (TURNED_JPEG, "labels", {}, [[0, 10, 30, 30]]),
    "EXIF ignored": (TURNED_JPEG, "labels", {"exif": "ignore"}, [[0, 7.5, 40, 22.5]]),
    "groups": (of_labelme(GROUP, OTHER, {"label": "b", **OTHER}, APART, APART), "i.json", {},
        [[2, 2, 30, 22], *[[20, 12, 30, 22]] * 3]),
    "a marked group": (MARKED_GROUP, "i.json", {}, []),
    "a marked group kept": (MARKED_GROUP, "i.json", {"crowds": "keep"}, [[2, 2, 30, 22]]),
    "turned": (of_labelme(TURNED, {}), "i.json", {}, [[2, 2, 18, 18], [2, 2, 9, 9]]),
    "turned dropped": (of_labelme(TURNED, {}), "i.json", {"drop_shapes": ["rotation"]}, [[2, 2, 9, 9]]),
    "a cuboid dropped": (of_labelme({"shape_type": "cuboid"}, {}), "", {"drop_shapes": ["cuboid"]}, [[2, 2, 9, 9]]),
    "embedded": (of_labelme({}, imageData="iVBORw0K"), "i.json", {}, [[2, 2, 9, 9]]),
    **{f"{name} {format}": (files | {"images/a.png": None}, path, {}, box) for name in WINDOWS
       for format, files, path, box in (
           ("coco", {"i.json": of_coco(BOX, image={"file_name": name})["i.json"]}, "i.json", [[1, 1, 6, 6]]),
           ("labelme", {"i.json": of_labelme({}, imagePath=name)["i.json"]}, "i.json", [[2, 2, 9, 9]]),
           ("yolo", of_yolo(LABELS, about=f"names: [x]\npath: {name[:-13]}", images="list.txt")
            | {"list.txt": f"{name}\n"}, "data.yaml", [[18, 13.5, 22, 16.5]]),
           ("yolo folder", of_yolo(LABELS, images=name.removesuffix("a.png")), "data.yaml", [[18, 13.5, 22, 16.5]]),
       )},
}
# fmt: on


@pytest.mark.parametrize("case", READ)
def test_boxes_are_read(tmp_path: Path, case: str) -> None:
    files, path, options, wanted = READ[case]
    np.testing.assert_allclose(
        rows(laid(tmp_path, files, path), **options) or np.zeros((0, 4)), np.reshape(wanted, (-1, 4))
    )
