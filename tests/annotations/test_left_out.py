"""What annotation readers leave out is counted; what other systems write is read, or refused with a cure."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, features
from support.annotations import A, B, Picture, Set, Thing, draw, instances, listed, recipe, refused, rows, voc, write
from torch.utils.data import ConcatDataset, Subset

import augrecipes as ar
from augrecipes.data.order import weights_of
from augrecipes.sources.annotations.records import AnnotationOptions
from augrecipes.sources.annotations.table import table_of_annotations
from augrecipes.sources.columns import number
from augrecipes.sources.defects import Findings
from augrecipes.sources.listing import list_folders

POSE = recipe("coco", keypoints="format: xy")
POINTS = [[2, 2], [9, 2], [9, 9], [2, 9]]
COCO = {"bbox": [1, 1, 5, 5]}


def notes(path: Path, made: Any = POSE, **options: Any) -> str:
    found = Findings()
    table_of_annotations(path, AnnotationOptions(made.inputs, **options), found)
    found.refuse()
    return "\n".join(found.notes)


def labelme(path: Path, *shapes: dict[str, Any], **more: Any) -> Path:
    made = [{"label": "a", "shape_type": "polygon", "points": POINTS, **shape} for shape in shapes]
    return write(path, {"shapes": made, "imagePath": "a.png", "imageWidth": 40, "imageHeight": 30, **more})


# -- counted -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [{"iscrowd": 1}, {"ignore": 1}])
def test_marked_objects_and_classes_without_any(tmp_path: Path, mark: dict[str, int]) -> None:
    classes = [{"id": k, "name": name} for k, name in enumerate(("none", "person", "cat"))]
    path = instances(tmp_path, COCO, {**COCO, **mark}, categories=classes)
    told = notes(path)
    assert "1 object marked as a crowd, difficult or to be ignored" in told
    assert f"(first: {path}: annotation 2)" in told
    assert "2 classes without an object: none, cat" in told
    assert "marked as" not in notes(path, crowds="keep")
    assert 'no boxes are left: crowds="keep" keeps' in notes(instances(tmp_path, {**COCO, **mark}))
    assert "no boxes are left: there is no object: give annotations" in notes(instances(tmp_path))
    assert "no boxes are left: coordinates should be" in notes(instances(tmp_path, {"bbox": [90, 1, 5, 5]}))


def test_difficult_objects_parts_and_images_without_a_file(tmp_path: Path) -> None:
    path = voc(tmp_path, Set((Picture("0.png", 40, 30, (Thing("ape", (1, 1, 9, 9), flagged=True),)),)))
    draw(tmp_path / "JPEGImages", [A, B])
    file = path / "0.xml"
    write(file, file.read_text().replace("</object>", "<part><name>hand</name></part></object>"))
    told = notes(path)
    for what in (
        "1 object marked as",
        "no boxes are left: crowds=",
        "1 part of an object",
        "2 images without an XML file",
    ):
        assert what in told


def test_keypoints_and_corners(tmp_path: Path) -> None:
    pose = {**COCO, "keypoints": [5, 6, 2, 0, 0, 0, 90, 8, 1], "segmentation": [[1, 1, 2, 2]]}
    told = notes(instances(tmp_path, pose), recipe("coco", keypoints="format: xy", mask="required"))
    for what in ("1 keypoint outside of the image", "1 keypoint not labelled", "1 polygon of fewer than three corners"):
        assert what in told
    assert "no keypoints are left: `remove_invisible: false`" in notes(
        instances(tmp_path, COCO | {"keypoints": [0] * 3})
    )


def test_shapes_of_labelme(tmp_path: Path) -> None:
    draw(tmp_path, [A, B])
    point = {"shape_type": "point", "points": [[3, 3]]}
    labelme(tmp_path / "a.json", {"shape_type": "line"}, point, {"label": "__ignore__"})
    told = notes(tmp_path, recipe("coco"))
    for what in (
        "1 line covering nothing",
        "1 point without a box",
        "1 shape of __ignore__ or",
        "no boxes are left: there is no object",
    ):
        assert what in told
    assert "1 image without a JSON file, left out (first: b.png)" in told


def test_rows_of_yolo(tmp_path: Path) -> None:
    draw(tmp_path / "images", [A])
    label = write(tmp_path / "labels" / "a.txt", "0 0.5 0.5 0.1 0.1\n1 0.5 0.5 0.1 0.1\n0 .5 0.50 0.1 0.1\n")
    assert f"1 object with the class and the box of one before it on the same image, kept (first: {label}:3)" in notes(
        label.parent
    )
    polygons = ("0 0 0 1 0 1 1", "0 0 0 1 0 0 1", "0 0 0 1 0 1 1", "", "")
    write(label, "\n".join(polygons))
    assert "2 objects with the class and the box" in notes(label.parent)
    write(tmp_path / "list.txt", "images/a.png\nREADME\n\nimages\\a.png\n")
    told = notes(write(tmp_path / "data.yaml", "train: list.txt\nnames: [x, y]\n"))
    assert "1 line without the name of an image" in told
    assert "1 image listed again" in told


def of_yolo(folder: Path, *lines: str, more: str = "") -> Path:
    draw(folder / "images", [A])
    write(folder / "labels" / "a.txt", "\n".join(lines))
    return write(folder / "data.yaml", f"train: images\nnames: [a]\n{more}")


FAR = [[90, 90], [95, 90], [95, 95]]
DRAWN = COCO | {"segmentation": [[1, 1, 6, 1, 6, 6]]}
UNDRAWN = (
    {"bbox": [3, 3, 5, 5]}, {"bbox": [90, 1, 5, 5], "segmentation": [[90, 90, 95, 90, 95, 95]]},
    {"bbox": [1, 1, 7, 7], "segmentation": {"size": [30, 40], "counts": [1200]}},
)  # fmt: skip
RUNS = {"bbox": [2, 1, 7, 7], "segmentation": {"size": [30, 40], "counts": [1000, 200]}}


def test_objects_that_masks_and_keypoints_lack(tmp_path: Path) -> None:
    masks, points, said = recipe(mask="required"), recipe(keypoints="format: xy"), "without an area in their image"
    for drawn in (DRAWN, RUNS):
        told = notes(instances(tmp_path, drawn, *UNDRAWN), masks)
        assert f"3 objects {said}, not in masks (first: {tmp_path / 'instances.json'}: annotation 2)" in told
        assert said not in notes(instances(tmp_path, drawn), masks)
    shares = ("0 .5 .5 .1 .1", "0 .1 .1 .5 .5 .1 .7", "0 1.1 1.1 1.5 1.5 1.1 1.7")
    assert f"2 objects {said}" in notes(of_yolo(tmp_path, *shares), masks)
    draw(tmp_path, [A])
    assert f"1 object {said}" in notes(labelme(tmp_path / "a.json", {}, {"points": FAR}), masks)
    posed = COCO | {"keypoints": [3, 3, 2]}
    assert "1 object without keypoints" in notes(instances(tmp_path, posed, {"bbox": [2, 2, 4, 4]}), points)
    pose = of_yolo(tmp_path, "0 .5 .5 .1 .1", "0 .4 .5 .1 .1 .5 .5", more="kpt_shape: [1, 2]\n")
    assert "1 object without keypoints" in notes(pose, points)
    assert "without" not in notes(instances(tmp_path, posed), points)
    left = notes(instances(tmp_path, posed | {"iscrowd": 1}), points)
    assert 'no keypoints are left: crowds="keep" keeps' in left


@pytest.mark.parametrize(
    ("drop", "made", "said"),
    [("polygon", recipe("coco"), "boxes"), ("polygon", recipe(mask="required"), "outlines"),
     ("point", recipe(keypoints="format: xy"), "keypoints")],
)  # fmt: skip
def test_shapes_that_were_dropped_can_be_kept(tmp_path: Path, drop: str, made: Any, said: str) -> None:
    draw(tmp_path, [A])
    path = labelme(tmp_path / "a.json", {}, {"shape_type": "point", "points": [[3, 3]]})
    assert f"no {said} are left: take {drop} out of drop_shapes=" in notes(path, made, drop_shapes=[drop])


# -- Pascal VOC: which image, in which encoding ------------------------------------------------------------------------

NOTE = "<annotation><filename>{}</filename><object><name>{}</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax>"
NOTE += "<ymax>9</ymax></bndbox></object></annotation>"


def test_an_xml_file_goes_by_its_own_name(tmp_path: Path) -> None:
    draw(tmp_path / "JPEGImages", [A, B])
    write(tmp_path / "Annotations" / "b.xml", NOTE.format("a.png", "x"))
    assert listed(tmp_path / "Annotations").images.name(0) == "b.png"
    assert "1 file with another image in <filename>" in notes(tmp_path / "Annotations")
    write(tmp_path / "Annotations" / "c.xml", NOTE.format("b.png", "x"))
    refused(tmp_path / "Annotations", "c.xml: is of the image b.png, as", "remove one of the two")
    (tmp_path / "Annotations" / "b.xml").unlink()
    assert listed(tmp_path / "Annotations").images.name(0) == "b.png"  # there is no c.png
    (tmp_path / "JPEGImages" / "c.jpg").write_bytes(b"")
    (tmp_path / "JPEGImages" / "c.png").write_bytes(b"")
    refused(tmp_path / "Annotations", "c.jpg and c.png are of its name, and <filename> is none of them")


@pytest.mark.parametrize(
    "encoding", ["GBK", "gb2312", "Big5", "Shift_JIS", "ISO-8859-1", "windows-1251", "utf-16", "UTF-8"]
)
def test_declared_encodings_are_honoured(tmp_path: Path, encoding: str) -> None:
    name = {"ISO-8859-1": "élan", "windows-1251": "кот"}.get(encoding, "人")
    draw(tmp_path, [A])
    text = f'<?xml version="1.0" encoding="{encoding}"?>' + NOTE.format("a.png", name)
    (tmp_path / "a.xml").write_bytes(text.encode(encoding))
    assert listed(tmp_path / "a.xml").box_classes == (name,)


@pytest.mark.parametrize(
    "declared", ["", ' encoding="ascii"', ' encoding="zip"', ' encoding="punycode"', ' encoding="x"']
)
def test_other_encodings_name_the_cure(tmp_path: Path, declared: str) -> None:
    draw(tmp_path, [A])
    text = f'<?xml version="1.0"{declared}?>' + NOTE.format("a.png", "人")
    (tmp_path / "a.xml").write_bytes(text.encode("gbk"))
    refused(tmp_path / "a.xml", "a.xml: is not ", "save it as UTF-8, or declare what it is")
    (tmp_path / "a.xml").write_bytes('<?xml version="1.0" encoding="utf-16"?><!DOCTYPE a>'.encode("utf-16"))
    refused(tmp_path / "a.xml", "declares a document type")


# -- labelme: groups, turned rectangles, what is no class --------------------------------------------------------------


def test_a_group_is_one_object(tmp_path: Path) -> None:
    draw(tmp_path, [A])
    far = [[20, 12], [30, 12], [30, 22]]
    one, two = {"group_id": 1}, {"group_id": 1, "points": far}
    path = labelme(tmp_path / "a.json", one, two, {"label": "b", **two}, {"points": far}, {"points": far})
    table = listed(path, recipe("pascal_voc", mask="required"))
    assert table.boxes.rows(0).tolist() == [[2, 2, 30, 22], *[[20, 12, 30, 22]] * 3]
    assert table.boxes.labels.tolist() == [0, 1, 0, 0]
    mask = table.outlines.draw(0, 30, 40)
    assert (mask[5, 5], mask[13, 28]) == (1, 1)
    marked = labelme(path, one, two | {"flags": {"difficult": True}})
    assert rows(marked) == []
    assert rows(marked, crowds="keep") == [[2, 2, 30, 22]]


def test_turned_rectangles_are_read_or_left_out(tmp_path: Path) -> None:
    draw(tmp_path, [A])
    turned = {"shape_type": "rotation", "points": [[10, 2], [18, 10], [10, 18], [2, 10]], "direction": 0.78}
    path = labelme(tmp_path / "a.json", turned, {})
    assert rows(path) == [[2, 2, 18, 18], [2, 2, 9, 9]]
    assert rows(path, drop_shapes=["rotation"]) == [[2, 2, 9, 9]]
    assert "1 rotation left out by drop_shapes=" in notes(path, drop_shapes=["rotation"])
    cube = labelme(path, {"shape_type": "cuboid"}, {})
    refused(cube, "shape 1: cuboid with 4 points is not read; drop_shapes=['cuboid'] leaves such out")
    assert len(ar.ImageFolder(files=cube, recipe=recipe("coco"), drop_shapes=["cuboid"])[0]["boxes"]) == 1


@pytest.mark.parametrize("classes", ["", "__ignore__\n_background_\na\nb\n"])
def test_ignore_and_background_are_drawn_over_what_lies_beneath(tmp_path: Path, classes: str) -> None:
    draw(tmp_path, [A])
    if classes:
        write(tmp_path / "labels.txt", classes)
    square = {"shape_type": "rectangle"}
    shapes = [
        {"label": "b", "points": [[0, 0], [30, 20]]}, {"points": [[0, 0], [9, 9]]},
        {"label": "__ignore__", "points": [[4, 4], [9, 9]]}, {"label": "_background_", "points": [[6, 6], [12, 12]]},
        {"points": [[7, 7], [8, 8]]},
    ]  # fmt: skip
    path = labelme(tmp_path / "a.json", *(square | shape for shape in shapes))
    table = listed(path, recipe("pascal_voc", mask="required"))
    mask = table.outlines.draw(0, 30, 40)
    assert [int(mask[k, k]) for k in (1, 5, 6, 7, 8, 11, 15, 25)] == [1, 255, 0, 1, 0, 0, 2, 0]
    assert (table.box_classes, len(table.boxes.values)) == (("a", "b"), 3)
    order = listed(path, recipe(mask="required"), classes=["b", "a"])
    assert order.outlines.draw(0, 30, 40)[1, 1] == 2
    labelme(path, {"label": "__ignore__"}, *({"label": f"{k:03}x"} for k in range(255)))
    (tmp_path / "labels.txt").unlink(missing_ok=True)
    refused(path, "255 classes, and 255 in masks is what is to be ignored", recipe=recipe(mask="required"))


def test_image_data_is_not_read_and_the_error_says_so(tmp_path: Path) -> None:
    for name in ("gone.png", None):
        refused(
            labelme(tmp_path / "a.json", {}, imagePath=name, imageData="iVBORw0K"),
            "its copy in `imageData` is not read",
        )
    draw(tmp_path, [A])
    assert len(rows(labelme(tmp_path / "a.json", {}, imageData="iVBORw0K"))) == 1


# -- COCO without boxes, paths of Windows ------------------------------------------------------------------------------


def test_the_box_of_a_mask(tmp_path: Path) -> None:
    truth = np.zeros((30, 40), np.uint8)
    truth[4:9, 6:20] = 1
    edges = np.flatnonzero(np.diff(truth.T.ravel(), prepend=0, append=0))
    counts = np.diff(edges, prepend=0, append=1200).tolist()
    for box in ({}, {"bbox": None}, {"bbox": []}, {"bbox": [0, 0, 0, 0]}, {"bbox": [0.0, 0.0, 0.0, 0.0]}):
        path = instances(tmp_path, {"segmentation": {"size": [30, 40], "counts": counts}, **box})
        assert rows(path) == [[6, 4, 20, 9]]
        assert rows(instances(tmp_path, {"segmentation": [[6, 4, 20, 4, 20, 9]], **box})) == [[6, 4, 20, 9]]
    refused(
        instances(tmp_path, {"segmentation": {"size": [30, 40], "counts": [3]}}), "`counts` of run lengths should be"
    )
    assert "1 box without width" in notes(instances(tmp_path, {"segmentation": {"size": [30, 40], "counts": [1200]}}))


@pytest.mark.parametrize(
    "written", ["images\\a.png", "C:\\data\\images\\a.png", "D:/x/images/a.png", "\\\\nas\\images\\a.png"]
)
def test_paths_of_windows(tmp_path: Path, written: str) -> None:
    draw(tmp_path / "images", [A])
    image = {"id": 9, "file_name": written, "width": 40, "height": 30}
    folder = tmp_path / "c"
    path = instances(folder, COCO, images=[image])
    (folder / "a.png").unlink()
    draw(folder / "images", [A])
    assert rows(path) == [[1, 1, 6, 6]]
    assert "1 name as Windows writes paths" in notes(path)
    draw(tmp_path / "l", [])
    assert len(rows(labelme(tmp_path / "a.json", {}, imagePath=written))) == 1
    write(tmp_path / "labels" / "a.txt", "0 0.5 0.5 0.1 0.1\n")
    write(tmp_path / "list.txt", f"{written}\n")
    assert len(rows(write(tmp_path / "data.yaml", f"train: list.txt\nnames: [x]\npath: {written[:-13]}\n"))) == 1
    assert len(rows(write(tmp_path / "data.yaml", f"train: {written.removesuffix('a.png')}\nnames: [x]\n"))) == 1
    write(tmp_path / "list.csv", f"image\n{written}\n")
    assert len(ar.ImageFolder(files=tmp_path / "list.csv", recipe="folder-128")) == 1
    (tmp_path / "images" / "a.png").rename(tmp_path / "secret.png")
    (tmp_path / "images").rmdir()
    (tmp_path / "images").mkdir()
    with pytest.raises(ar.DataError, match=r"no such file|not in the data"):
        ar.ImageFolder(files=tmp_path / "list.csv", recipe="folder-128")


# -- labels, folders, weights, masks -----------------------------------------------------------------------------------


def test_numbers_sort_as_numbers(tmp_path: Path) -> None:
    assert number(["10.0", "2.0", "2"])[0].tolist() == [10, 2, 2]
    assert number(["10.5", "2.5", "1e3", "b", "10", ".5", "a"])[1] == [".5", "2.5", "10", "10.5", "1e3", "a", "b"]
    draw(tmp_path, [A, B])
    write(tmp_path / "a.csv", 'image,label,boxes\na.png,10.0,"[[1,1,5,5,10.0]]"\nb.png,2.0,"[[1,1,5,5,2]]"\n')
    ds = ar.ImageFolder(files=tmp_path / "a.csv", recipe=recipe("pascal_voc"))
    assert (ds.classes, ds.labels.tolist(), ds[0]["kinds"].tolist()) == (["2", "10"], [10, 2], [10])
    path = voc(
        tmp_path / "v", Set((Picture("0.png", 40, 30, tuple(Thing(k, (1, 1, 9, 9)) for k in ("10a", "9", "10"))),))
    )
    assert listed(path).box_classes == ("9", "10", "10a")


def test_folders_of_systems_are_no_classes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    skipped = [
        "@eaDir",
        "#recycle",
        "lost+found",
        "$RECYCLE.BIN",
        "System Volume Information",
        ".Trash-1000",
        "@Recycle",
    ]
    for name in ("cat", "dog", *skipped):
        draw(tmp_path / name, [A])
        draw(tmp_path / "cat" / name, [B])
    with caplog.at_level(logging.INFO, logger="augrecipes"):
        found = list_folders([tmp_path], cache=False)
    assert (found.classes, len(found)) == (("cat", "dog"), 4)  # of a cat a folder of cats, and one of dogs
    assert f"{tmp_path}: 2 classes: cat, dog" in caplog.text
    draw(tmp_path / "data" / "@eaDir", [A])
    draw(tmp_path / "data", [A, B])
    assert len(list_folders([tmp_path / "data"], cache=False)) == 2


@pytest.mark.parametrize(
    ("names", "asks"),
    [("train val", True), ("Train valid TEST", True), ("train2017", True), ("flowers", True), ("cat dog", False),
     ("train cat", False)],
)  # fmt: skip
def test_folders_that_look_like_no_classes_are_asked_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, names: str, asks: bool
) -> None:
    for name in names.split():
        draw(tmp_path / name, [A])
    list_folders([tmp_path], cache=False)
    assert ("layout='classes'" in caplog.text) is asks
    caplog.clear()
    list_folders([tmp_path], cache=False, layout="classes")
    assert not caplog.text


def test_balanced_weights_of_parts(tmp_path: Path) -> None:
    for name, count in (("cat", 3), ("dog", 1)):
        draw(tmp_path / name, [Picture(f"{k}.png", 8, 8) for k in range(count)])
    ds = ar.ImageFolder(tmp_path, "folder-128")
    both = ConcatDataset([Subset(ds, [3, 0]), ds.subset([1, 2, 3])])
    for data, wanted in ((ds, [1 / 3] * 3 + [1]), (both, [1 / 2, 1 / 3, 1 / 3, 1 / 3, 1 / 2])):
        np.testing.assert_allclose(weights_of("balanced", data), wanted)
    assert len(next(iter(ar.loader(both, 5, weights="balanced", num_workers=0)))["label"]) == 5
    with pytest.raises(ValueError, match=r"ds\.subset\(indices\)"):
        weights_of("balanced", [1, 2])
    for beyond in (99, -5):
        with pytest.raises(ar.DataError, match=f"a Subset has index {beyond}, and its data 4 samples"):
            ar.loader(Subset(ds, [1, beyond]), 2, weights="balanced", num_workers=0)


@pytest.mark.parametrize("cell", ["", "nan", "NaN", " nan"])
def test_labels_that_pandas_lacks(tmp_path: Path, cell: str) -> None:
    draw(tmp_path, [A, B])
    path = write(tmp_path / "a.csv", f"image,label\na.png,cat\nb.png,{cell}\n")
    with pytest.raises(ar.DataError, match=r"a\.csv:3: no label in this row, .*: give it one, or remove it"):
        ar.ImageFolder(files=path, recipe="folder-128")


LOSSY: dict[str, dict[str, Any]] = {
    "a.jpg": {}, "a.webp": {}, "a.jp2": {"irreversible": True, "quality_layers": [20]}, "a.avif": {},
    "a.jpeg": {"format": "MPO"}, "a.tif": {"compression": "jpeg"},
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSY)
def test_lossy_masks_are_refused(tmp_path: Path, name: str) -> None:
    if name.endswith("avif") and not features.check("avif"):
        pytest.skip("this Pillow writes no AVIF")
    draw(tmp_path / "images", [A])
    file = tmp_path / "masks" / name
    file.parent.mkdir()
    Image.fromarray(np.full((30, 40), 98, np.uint8)).save(file, **LOSSY[name])
    made = recipe(mask="required")
    ds = ar.ImageFolder(tmp_path / "images", made, masks=tmp_path / "masks")
    with pytest.raises(ar.DataError, match=rf"{name}: a mask in a lossy .* Save masks as PNG"):
        ds[0]
    with Image.open(file) as mask:
        sample = {"image": np.zeros((30, 40, 3), np.uint8), "mask": mask}
        for read in (lambda one: ar.Samples([one], made)[0], made.transform("train")):
            with pytest.raises(ar.DataError, match=r"a mask in a lossy .* Save masks as PNG"):
                read(sample)


@pytest.mark.parametrize(("name", "how"), [("a.png", {}), ("a.webp", {"lossless": True}), ("a.jp2", {}), ("a.tif", {})])
def test_other_masks_of_pillow_are_read(tmp_path: Path, name: str, how: dict[str, Any]) -> None:
    Image.fromarray(np.full((30, 40), 98, np.uint8)).save(tmp_path / name, **how)
    with Image.open(tmp_path / name) as opened:
        for mask in (opened, opened.convert("L"), tmp_path / name):
            sample = {"image": np.zeros((30, 40, 3), np.uint8), "mask": mask}
            assert (np.asarray(ar.Samples([sample], recipe(mask="required"))[0]["mask"]) == 98).all()
