"""CSV files of samples."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.checks import status
from support.folders import RECIPE, draw

from augrecipes import DataError, ImageFolder, PairedImages, TileBags, loader
from augrecipes.kinds.bag.reader import check as check_bags
from augrecipes.kinds.image.reader import check as check_images
from augrecipes.recipe.parse import parse_text
from augrecipes.sources import defects
from augrecipes.sources.csv_list import read_rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(4):
        draw(tmp_path / "images" / f"{i}.png", i)
        cv2.imwrite(str(tmp_path / f"{i}_mask.png"), np.full((32, 28), i, np.uint8))
    return tmp_path


def table(folder: Path, text: str | bytes, name: str = "list.csv", **options: Any) -> ImageFolder:
    data = text.encode() if isinstance(text, str) else text
    (folder / name).write_bytes(data)
    return ImageFolder(files=folder / name, recipe=parse_text(RECIPE), **{"mode": "train", **options})


FULL = """image,mask,label,split,group,weight
images/0.png,0_mask.png,stroma,train,p1,1
images/1.png,1_mask.png,tumour,train,p2,2.5

images/2.png,2_mask.png,stroma,val,p1,1
images/3.png,3_mask.png,necrosis,val,p3,0
"""


def test_every_column(folder: Path) -> None:
    ds = table(folder, FULL)
    assert len(ds) == 4
    assert ds.classes == ["necrosis", "stroma", "tumour"]
    assert ds.labels.tolist() == [1, 2, 1, 0]
    assert ds.groups.tolist() == ["p1", "p2", "p1", "p3"]
    assert ds.weights.tolist() == [1, 2.5, 1, 0]
    sample = ds[3]
    assert (sample["mask"] == 3).all()
    assert (sample["label"], sample["path"]) == (0, str(folder / "images" / "3.png"))


def test_splits_number_their_classes_alike(folder: Path) -> None:
    train, val = table(folder, FULL, split="train"), table(folder, FULL, split="val")
    assert train.classes == val.classes
    assert (train.labels.tolist(), val.labels.tolist()) == ([1, 2], [1, 0])
    with pytest.raises(DataError, match="no row of split 'test'; the file has train, val"):
        table(folder, FULL, split="test")
    with pytest.raises(DataError, match="needs a column `split`"):
        table(folder, "image\nimages/0.png\n", split="train")


@pytest.mark.parametrize("encode", [lambda t: t, lambda t: "\ufeff" + t, lambda t: t.replace(",", ";"),
                                    lambda t: t.replace(",", "\t"), lambda t: t.replace("\n", "\r\n")])  # fmt: skip
def test_dialects(folder: Path, encode: Any) -> None:
    ds = table(folder, encode(FULL))
    assert [Path(ds.path(i)).name for i in range(4)] == ["0.png", "1.png", "2.png", "3.png"]
    assert ds.class_to_idx == {"necrosis": 0, "stroma": 1, "tumour": 2}


BOXES = """image,boxes,keypoints
images/0.png,"[[1, 2, 20, 30, ""cat""], [0, 0, 28, 32, ""ant""]]","[[3, 4]]"
images/1.png,[],
images/2.png,"[[2, 2, 9, 9, ""bee""]]","[[1, 1], [5, 6]]"
"""


def test_boxes_and_keypoints(folder: Path) -> None:
    recipe = RECIPE.replace("RandomCrop: {height: 24, width: 20}", "Transpose")
    (folder / "list.csv").write_text(BOXES)
    ds = ImageFolder(
        files=folder / "list.csv", recipe=parse_text(recipe.replace("HorizontalFlip", "Transpose: {p: 1}"))
    )
    assert ds.box_classes == ["ant", "bee", "cat"]
    for index, (boxes, labels, points) in enumerate([(2, [2, 0], 1), (0, [], 0), (1, [1], 2)]):
        sample = ds[index]
        assert (sample["boxes"].shape, sample["boxes"].dtype) == ((boxes, 4), torch.float32)
        assert (sample["box_labels"].tolist(), sample["box_labels"].dtype) == (labels, torch.int64)
        assert (sample["keypoints"].shape, sample["keypoints"].dtype) == ((points, 2), torch.float32)
    batch = next(iter(loader(ds, 3, collate="list")))
    assert [len(b) for b in batch["boxes"]] == [2, 0, 1]


def test_columns_of_others_are_named_in_the_log(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "list.csv").write_text(",patient,image,label,\n0,p1,images/0.png,a,x\n1,p2,images/1.png,b,y\n")
    rows = read_rows(folder / "list.csv")
    assert rows.columns == {"image": ["images/0.png", "images/1.png"], "label": ["a", "b"]}
    assert "columns that are not read: patient (known: image," in caplog.messages[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "list.csv: the file is empty"),
        ("image\n", "list.csv: the file has a header and no rows"),
        ("label\n1\n", "list.csv:1: no column `image`"),
        ("\nimage,lable\n", r"list.csv:2: unknown column 'lable'; did you mean 'label'\?"),
        ("image,patient,maks\n", r"list.csv:1: unknown column 'maks'; did you mean 'mask'\?"),
        ("image,image\n", "list.csv:1: column 'image' occurs twice"),
        ("image,label\nimages/0.png,a\nimages/0.png,\n", "list.csv:3: no label"),
        ("image,mask\nimages/0.png,\n", "list.csv:2: no mask"),
        ("image\nimages/0.png\n\nimages/9.png\n", r"list.csv:4: .*9\.png: no such file"),
        ("image,weight\nimages/0.png,-1\n", "list.csv:2: weight must be"),
        ("image,weight\nimages/0.png,nan\n", "list.csv:2: weight must be"),
        ('image,boxes\nimages/0.png,"[[1,2,3]]"\n', "list.csv:2: boxes: .* 4 numbers"),
        ('image,boxes\nimages/0.png,"[[1,2,3,""a""]]"\n', "list.csv:2: boxes: .* numbers"),
        ("image,boxes\nimages/0.png,{}\n", "list.csv:2: boxes: should be a JSON list"),
        ("image,boxes\nimages/0.png,[[\n", "list.csv:2: boxes: not valid JSON"),
        ('image,boxes\nimages/0.png,"[[1,2,3,4],[1,2,3,4,5]]"\n', "some rows have a label"),
        ('image\n"images/0.png\n', "list.csv:[23]: not valid CSV"),
        (b"\xff\xfei\0m\0", "list.csv: is UTF-16"),
        (b"image\n\0\n", "list.csv: is not a text file"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(folder: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        table(folder, text)


@pytest.mark.parametrize("column", ["image", "mask"])
def test_files_outside_are_read_when_that_is_said(folder: Path, column: str) -> None:
    """By `..`, whole paths, addresses, and links."""
    (folder / "set" / "in").mkdir(parents=True)
    (folder / "set" / "link.png").symlink_to(folder / "images" / "1.png")
    (folder / "set" / "out").symlink_to(folder / "images")
    for name in ("0.png", "0_mask.png"):
        draw(folder / "set" / name, 1)
    far = ("../images/1.png", folder / "images" / "1.png", "link.png", "out/1.png", "s3://bucket/1.png")
    for line, name in enumerate(far, 2):
        row = f"{name},0_mask.png" if column == "image" else f"0.png,{name}"
        text = "image,mask\n" + "0.png,0_mask.png\n" * (line - 2) + row + "\n"
        with pytest.raises(DataError, match=rf"set/list.csv:{line}: '{name}' is not in .*outside=True"):
            table(folder, text, "set/list.csv")
        if "://" not in str(name):
            assert len(table(folder, text, "set/list.csv", outside=True)) == line - 1
    rows = f"image\nin/../0.png\n{folder}/set/0.png\n"
    assert len(table(folder, rows, "set/list.csv")) == 2


@pytest.mark.parametrize("kind", ["pair", "bag"])
def test_lists_of_pairs_and_bags_stay_in_their_folder(folder: Path, kind: str) -> None:
    (folder / "set").mkdir()
    path = folder / "set" / "list.csv"
    near = (folder / "images" / "0.png").rename(folder / "set" / "0.png").name
    if kind == "pair":
        made = parse_text("{version: 1, recipe: p, kind: pair, scales: {lr: 1, hr: 1}, steps: [], eval: []}")
        rows, dataset = [f"lr,hr\n{near},{near}\n", f"{near},../images/1.png\n"], PairedImages
    else:
        made = parse_text("{version: 1, recipe: b, kind: bag, steps: [], eval: []}")
        rows, dataset = [f"bag,image\na,{near}\n", "b,../images/1.png\n"], TileBags
    path.write_text("".join(rows))
    with pytest.raises(DataError, match=r"list.csv:3: .*images/1.png'? is not in the data's folder .*; outside=True"):
        dataset(files=path, recipe=made)
    assert len(dataset(files=path, recipe=made, outside=True)) == 2
    recipe = folder / "r.yaml"
    recipe.write_text(made.to_yaml())
    for word, code in (("outside=true", 0), ("outside=false", 1)):
        assert status("check-data", str(recipe), f"files={path}", word) == code
    path.write_text(rows[0])
    assert len(dataset(files=path, recipe=made)) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(b"image,boxes\n" + data)
    try:
        rows = read_rows(path)
        rows.refuse()
        assert len(rows) > 0
    except DataError as error:
        assert str(path) in str(error)


# check-data's looks at images, masks, boxes and bags: every defect in one report, and none that the pipeline takes.


HEIGHT, WIDTH = 40, 60
QUIET = {"split": None, "advance": lambda what, done, total: None}


def image_of(path: Path, height: int = HEIGHT, width: int = WIDTH, channels: int = 3) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = np.random.default_rng(0).integers(0, 256, (height, width, channels), np.uint8)
    path.write_bytes(cv2.imencode(path.suffix, image)[1].tobytes())
    return path


def recipe(inputs: str = "", steps: str = "[HorizontalFlip: {p: 1.0}]", more: str = ""):
    return parse_text(f"{{version: 1, recipe: t, {inputs} {more} steps: {steps}, eval: []}}")


def look(text, data, masks=None, content=False):
    return check_images(text, "train", str(data), masks=masks, content=content, **QUIET)


def told(found):
    return sorted((defect.kind, defect.message) for defect in found.defects)


numbers = st.one_of(
    st.sampled_from([0.0, 1.0, 20.0, 40.0, 60.0, 60.4, -1.0, 61.0, float("nan"), float("inf")]),
    st.floats(-5, 70, width=32),
    st.floats(-0.25, 1.25, width=32),
)


@given(st.lists(numbers, min_size=4, max_size=4), st.sampled_from(["pascal_voc", "coco", "yolo", "albumentations"]),
       st.booleans())  # fmt: skip
def test_boxes_are_refused_where_the_pipeline_refuses_them(box, format, clip):
    text = recipe(f"inputs: {{boxes: {{format: {format}, clip: {str(clip).lower()}}}}},")
    given_boxes = np.array([box], np.float32)
    wrong = list(defects.point_problems(text.inputs, (HEIGHT, WIDTH), given_boxes, None))
    if np.isfinite(given_boxes).all():
        assert bool(wrong) == refused(text, boxes=given_boxes, box_labels=np.array([1]))
    else:
        assert wrong, "albumentations clips what is infinite too"


@given(st.lists(numbers, min_size=2, max_size=2), st.sampled_from(["xy", "yx"]), st.booleans())
def test_keypoints_are_refused_where_the_pipeline_refuses_them(point, format, removes):
    text = recipe(f"inputs: {{keypoints: {{format: {format}, remove_invisible: {str(removes).lower()}}}}},")
    given_points = np.array([point], np.float32)
    wrong = list(defects.point_problems(text.inputs, (HEIGHT, WIDTH), None, given_points))
    if np.isfinite(given_points).all():
        assert bool(wrong) == refused(text, keypoints=given_points)


def refused(text, **targets) -> bool:
    try:
        text.compile(seed=0).at(0, 0)(image=np.zeros((HEIGHT, WIDTH, 3), np.uint8), **targets)
    except DataError:
        return True
    return False


def test_a_planted_fault_in_the_boxes_is_found(monkeypatch):
    """Boxes of coco read as corners: the law above must notice."""
    monkeypatch.setattr(
        defects, "corners_of", lambda boxes, format, height, width: boxes / [width, height, width, height]
    )
    law: Any = test_boxes_are_refused_where_the_pipeline_refuses_them
    with pytest.raises(AssertionError):
        law.hypothesis.inner_test([30, 20, 20, 10], "coco", False)


def test_every_defect_of_images_and_masks_at_once(tmp_path):
    for k in range(6):
        image_of(tmp_path / f"images/{k}.png")
        image_of(tmp_path / f"masks/{k}.png", channels=1)
    image_of(tmp_path / "masks/0.png", height=30, channels=1)
    (tmp_path / "masks/1.png").unlink()
    (tmp_path / "images/2.png").write_bytes(b"none")
    (tmp_path / "images/3.png").write_bytes((tmp_path / "images/3.png").read_bytes()[:-20])
    image_of(tmp_path / "images/4.png", height=20)
    image_of(tmp_path / "masks/4.png", height=20, channels=1)
    image_of(tmp_path / "masks/9.png", channels=1)
    text = recipe("inputs: {mask: required},", "[RandomCrop: {height: 32, width: 32}]")
    found = look(text, tmp_path / "images", str(tmp_path / "masks"))
    said = [(kind, message.replace(str(tmp_path), "")) for kind, message in told(found)]
    assert [kind for kind, _ in said] == ["mask", "missing", "small", "unreadable", "unreadable"]
    assert said[0][1] == "/masks/0.png is 60×30, but its image /images/0.png is 60×40"
    assert said[1][1] == "/images/1.png: no mask"
    assert said[2][1] == "/images/4.png 60×20: RandomCrop#1 needs 32×32"
    assert found.fine == 1
    assert "1 mask without an image" in found.notes


def test_damage_in_the_middle_takes_content(tmp_path):
    file = image_of(tmp_path / "images/a.png")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 255
    file.write_bytes(bytes(data))
    mask = image_of(tmp_path / "masks/a.png")  # of colours, not of labels
    assert look(recipe(), tmp_path / "images").defects == []
    assert len(look(recipe(), tmp_path / "images", content=True).defects) == 1
    assert len(look(recipe("inputs: {mask: optional},"), tmp_path / "images", str(mask.parent), True).defects) == 2


def test_every_defect_of_a_list_at_once(tmp_path):
    for k in range(5):
        image_of(tmp_path / f"{k}.png")
    boxes = [[[1, 1, 9, 9, 3]], [[1, 1, 90, 9, 3], [5, 5, 5, 9, 3]], "no JSON", [[1, 1, 9]], []]
    rows = ["image,label,weight,boxes", *(
        f'{k}.png,{"" if k == 4 else "cat"},{"x" if k == 0 else 1},"{json.dumps(cell).replace(chr(34), chr(34) * 2)}"'
        for k, cell in enumerate(boxes)
    ), 'gone.png,cat,1,"[]"']  # fmt: skip
    (tmp_path / "list.csv").write_text("\n".join(rows) + "\n")
    text = recipe("inputs: {boxes: {format: pascal_voc}},")
    found = look(text, tmp_path / "list.csv")
    assert [kind for kind, _ in told(found)] == ["box", "box", "row", "row", "row", "row", "unreadable"]
    messages = " ".join(message for _, message in told(found)).replace(str(tmp_path), "")
    for part in (
        "/list.csv:3: /1.png 60×40: box 1, [1, 1, 90, 9]: it reaches outside",
        "box 2, [5, 5, 5, 9]: it has no width, or no height",
        "/list.csv:2: weight must be",
        "/list.csv:4: boxes: ",
        "/list.csv:5: boxes: [1, 1, 9] should be a list of 4 numbers",
        "/list.csv:6: no label in this row",
        "/list.csv:7: /gone.png: no such file",
    ):
        assert part in messages, messages
    assert found.fine == 0


def test_what_the_recipe_asks_for_and_the_data_has_not(tmp_path):
    image_of(tmp_path / "a.png")
    required = look(recipe("inputs: {mask: required},"), tmp_path)
    assert [defect.kind for defect in required.defects] == ["absent"]
    optional = look(recipe("inputs: {boxes: {format: coco}},"), tmp_path)
    assert optional.defects == []
    assert optional.notes == ["the recipe declares boxes, and the data has none"]


def test_bags(tmp_path):
    for bag, count in (("a", 3), ("b", 1), ("c", 2)):
        for k in range(count):
            image_of(tmp_path / f"slides/{bag}/{k}_0.png", height=40)
    (tmp_path / "slides/c/1_0.png").write_bytes(b"none")
    (tmp_path / "slides/labels.csv").write_text("bag,label\na,1\nb,\nx,1\n")
    text = recipe("", "[D4: {p: 1.0}]", "kind: bag, bag: {min_tiles: 2},")
    found = check_bags(text, "train", str(tmp_path / "slides"), content=True, **QUIET)
    assert [kind for kind, _ in told(found)] == ["bag", "row", "row", "row", "unreadable"]
    assert found.listed == {"bag": 3, "tile": 6}
    assert found.fine == 1
    csv = tmp_path / "tiles.csv"
    csv.write_text("bag,image,label\na,slides/a/0_0.png,1\na,slides/a/1_0.png,2\na,gone.png,1\nb,slides/b/0_0.png,1\n")
    listed = check_bags(text, "train", str(csv), content=False, **QUIET)
    assert [kind for kind, _ in told(listed)] == ["bag", "row", "unreadable"]
