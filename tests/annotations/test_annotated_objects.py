"""Annotations say which points are of which box, and which of them change places in a mirror."""

from pathlib import Path
from typing import Any

import pytest
from support.annotations import Picture, draw, instances, refused, write

import augrecipes as ar

CATEGORIES = [{"id": 1, "name": "dog"}, {"id": 5, "name": "person", "keypoints": ["nose", "left_eye", "right_eye"]}]
BOXES = ([10, 5, 20, 20], [50, 5, 20, 20])


def points(x: int, y: int, *seen: int) -> list[int]:
    """A nose, a left and a right eye, and which of them are seen."""
    return [x, y, seen[0], x - 3, y - 2, seen[1], x + 3, y - 2, seen[2]]


def people(folder: Path) -> Path:
    """One whole person, a dog, one person without a left eye; in other images, too, so that numbers have gaps."""
    things: list[dict[str, Any]] = [
        {"bbox": BOXES[0], "category_id": 5, "keypoints": points(20, 15, 2, 2, 2)},
        {"bbox": [40, 30, 5, 5], "category_id": 1},
        {"bbox": BOXES[1], "category_id": 5, "keypoints": points(60, 15, 1, 0, 2)},
    ]
    images = [{"id": 9, "file_name": "a.png", "width": 80, "height": 60}]
    path = instances(folder, *things, images=images, categories=CATEGORIES)
    draw(folder, [Picture("a.png", 80, 60)])
    return path


def recipe(keypoints: dict[str, Any], steps: list[Any]) -> dict[str, Any]:
    inputs = {"boxes": "pascal_voc", "keypoints": keypoints}
    return {"version": 1, "recipe": "people", "inputs": inputs, "steps": steps, "eval": []}


CROP, FLIP = {"Crop": {"x_max": 66, "y_max": 60, "p": 1.0}}, {"HorizontalFlip": {"p": 1.0}}
NOSE, LEFT, RIGHT, OTHER_NOSE, OTHER_RIGHT = [45, 15, 2], [42, 13, 2], [48, 13, 2], [5, 15, 1], [2, 13, 2]
# Of points, mirrored: x, y and visibility in their rows; the number of each; its object.
CASES: list[tuple[dict[str, Any], Any, list[int], list[int]]] = [
    ({}, [NOSE, LEFT, RIGHT, OTHER_NOSE, OTHER_RIGHT], [0, 1, 2, 3, 4], [0, 0, 0, 2, 2]),
    (
        {"flip_pairs": [["nose", "left_eye"]]},
        [RIGHT, NOSE, LEFT, OTHER_NOSE, OTHER_RIGHT], [0, 1, 2, 4, 5], [0, 0, 0, 2, 2],
    ),
    ({"flip_pairs": [[0, 2]]}, [LEFT, RIGHT, NOSE, OTHER_RIGHT, OTHER_NOSE], [0, 1, 2, 3, 5], [0, 0, 0, 2, 2]),
    (
        {"remove_invisible": False, "flip_pairs": []},
        [NOSE, LEFT, RIGHT, OTHER_NOSE, OTHER_RIGHT, [8, 13, 0]], [0, 1, 2, 3, 4, 5], [0, 0, 0, 2, 2, 2],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_sides_of_coco(tmp_path: Path, case: int, optimize: Any) -> None:
    """Also from a packed dataset, that has both steps behind it, or the first."""
    keypoints, where, numbers, owners = CASES[case]
    path, found = people(tmp_path / "set"), []
    for name, steps in {"all": [CROP, FLIP], "first": [CROP, {"RandomGamma": {"p": 0.5}}, FLIP]}.items():
        made = recipe({"labels": "which", **keypoints}, steps)
        found.append(ar.ImageFolder(files=path, recipe=made, optimize=optimize)[0])
        ar.pack(made, path, tmp_path / name, workers=0)
        found.append(ar.Packed(tmp_path / name, made, optimize=optimize)[0])
    for sample in found:
        assert sample["keypoints"].tolist() == where
        assert sample["which"].tolist() == numbers
        assert sample["object"].tolist() == [0, 1, 2]
        assert sample["keypoint_object"].tolist() == owners


def test_points_of_a_box_that_is_dropped(tmp_path: Path) -> None:
    path = people(tmp_path / "set")
    left = {"Crop": {"x_max": 62, "y_max": 60, "p": 1.0}}
    for of, owners in ((None, [0, 0, 0, 2]), ("boxes", [0, 0, 0])):
        made = recipe({"of": of}, [left])
        made["inputs"]["boxes"] = {"format": "pascal_voc", "min_visibility": 0.8}
        sample = ar.ImageFolder(files=path, recipe=made)[0]
        assert sample["object"].tolist() == [0, 1]
        assert sample["keypoint_object"].tolist() == owners
    assert "object" not in ar.ImageFolder(files=path, recipe={**made, "inputs": {"boxes": "pascal_voc"}})[0]


def test_sides_of_yolo(tmp_path: Path) -> None:
    draw(tmp_path / "images", [Picture("a.png", 80, 60)])
    label = "0 0.5 0.5 0.5 0.5 0.25 0.5 0.5 0.5\n"
    write(tmp_path / "labels" / "a.txt", label * 2)
    about = "train: images\nkpt_shape: [2, 2]\nnames: [person]\nflip_idx: {}\n"
    path = write(tmp_path / "data.yaml", about.format("[1, 0]"))
    sample = ar.ImageFolder(files=path, recipe=recipe({"remove_invisible": False}, [FLIP]))[0]
    assert sample["keypoints"][:, 0].tolist() == [39, 59] * 2
    assert sample["keypoint_object"].tolist() == [0, 0, 1, 1]
    for wrong in ("[0, 0]", "[1, 2]", "[1]", "yes", "['1', 0]"):
        write(path, about.format(wrong))
        refused(path, "`flip_idx` should have the numbers [0, 1] in the order of a mirror")
