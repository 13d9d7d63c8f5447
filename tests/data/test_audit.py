"""check-data's looks at images, masks, boxes and bags: every defect in one report, and none that the pipeline takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.errors import DataError
from augrecipes.kinds.bag.reader import check as check_bags
from augrecipes.kinds.image.reader import check as check_images
from augrecipes.recipe.parse import parse_text
from augrecipes.sources import defects

HEIGHT, WIDTH = 40, 60
QUIET = {"split": None, "advance": lambda what, done, total: None}


def picture(path: Path, height: int = HEIGHT, width: int = WIDTH, channels: int = 3) -> Path:
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
    wrong = list(defects.wrong_points(text.inputs, (HEIGHT, WIDTH), given_boxes, None))
    if np.isfinite(given_boxes).all():
        assert bool(wrong) == refused(text, boxes=given_boxes, box_labels=np.array([1]))
    else:
        assert wrong, "albumentations clips what is infinite too"


@given(st.lists(numbers, min_size=2, max_size=2), st.sampled_from(["xy", "yx"]), st.booleans())
def test_keypoints_are_refused_where_the_pipeline_refuses_them(point, format, removes):
    text = recipe(f"inputs: {{keypoints: {{format: {format}, remove_invisible: {str(removes).lower()}}}}},")
    given_points = np.array([point], np.float32)
    wrong = list(defects.wrong_points(text.inputs, (HEIGHT, WIDTH), None, given_points))
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
        picture(tmp_path / f"images/{k}.png")
        picture(tmp_path / f"masks/{k}.png", channels=1)
    picture(tmp_path / "masks/0.png", height=30, channels=1)
    (tmp_path / "masks/1.png").unlink()
    (tmp_path / "images/2.png").write_bytes(b"none")
    (tmp_path / "images/3.png").write_bytes((tmp_path / "images/3.png").read_bytes()[:-20])
    picture(tmp_path / "images/4.png", height=20)
    picture(tmp_path / "masks/4.png", height=20, channels=1)
    picture(tmp_path / "masks/9.png", channels=1)
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
    file = picture(tmp_path / "images/a.png")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 255
    file.write_bytes(bytes(data))
    mask = picture(tmp_path / "masks/a.png")  # of colours, not of labels
    assert look(recipe(), tmp_path / "images").defects == []
    assert len(look(recipe(), tmp_path / "images", content=True).defects) == 1
    assert len(look(recipe("inputs: {mask: optional},"), tmp_path / "images", str(mask.parent), True).defects) == 2


def test_every_defect_of_a_list_at_once(tmp_path):
    for k in range(5):
        picture(tmp_path / f"{k}.png")
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
    picture(tmp_path / "a.png")
    required = look(recipe("inputs: {mask: required},"), tmp_path)
    assert [defect.kind for defect in required.defects] == ["absent"]
    optional = look(recipe("inputs: {boxes: {format: coco}},"), tmp_path)
    assert optional.defects == []
    assert optional.notes == ["the recipe declares boxes, and the data has none"]


def test_bags(tmp_path):
    for bag, count in (("a", 3), ("b", 1), ("c", 2)):
        for k in range(count):
            picture(tmp_path / f"slides/{bag}/{k}_0.png", height=40)
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
