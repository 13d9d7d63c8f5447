"""Pipelines that `A.save` wrote, of this release and of earlier ones, as recipes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import augrecipes as ar
from augrecipes.bring.importing import draft_of
from augrecipes.compat.albumentations import A


def _old(*transforms: dict[str, Any], **more: Any) -> dict[str, Any]:
    listed = [{"__class_fullname__": each.pop("cls"), **each} for each in map(dict, transforms)]
    return {"__version__": "1.0.3", "transform": {"__class_fullname__": "Compose", "transforms": listed, **more}}


def _written(folder: Path, saved: dict[str, Any]) -> str:
    path = folder / "Old aug.json"
    path.write_text(json.dumps(saved), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_is_saved_today_becomes_a_recipe(tmp_path: Path, form: str) -> None:
    saved = tmp_path / f"train.{form}"
    steps = [A.RandomCrop(64, 48), A.OneOf([A.Blur(), A.GaussNoise(p=0.2)], p=0.3), A.Normalize(), A.ToTensorV2()]
    boxes = A.BboxParams("coco", label_fields=["cls"], min_area=3)
    A.save(A.Compose(steps, bbox_params=boxes), saved, data_format=form)
    recipe = draft_of(str(saved)).recipe()
    assert [step.name for step in recipe.walk()] == ["RandomCrop", "OneOf", "Blur", "GaussNoise"]
    assert (recipe.name, recipe.steps[1].p, recipe.output.layout) == ("train", 0.3, "chw")
    assert recipe.output.normalize == ar.load("imagenet-train").output.normalize
    assert recipe.inputs.boxes is not None
    assert (recipe.inputs.boxes.format, recipe.inputs.boxes.labels, recipe.inputs.boxes.min_area) == ("coco", "cls", 3)


def test_old_names_are_todays_with_a_comment_at_the_line(tmp_path: Path) -> None:
    old = _old(
        {"cls": "ImageCompression", "quality_lower": 60, "quality_upper": 90, "always_apply": False, "p": 0.5},
        {"cls": "Resize", "height": 224, "width": 200, "interpolation": 1, "always_apply": True, "p": 0.5},
        {"cls": "Rotate", "limit": [-20, 20], "border_mode": 4, "value": None, "mask_value": None, "p": 0.5},
    )
    lines = draft_of(_written(tmp_path, old)).to_yaml().splitlines()
    assert lines[-5:-1] == [
        "steps:",
        "  - ImageCompression: {quality_range: [60, 90]}  # was quality_lower: 60, quality_upper: 90 until 1.4.24",
        "  - Resize: {height: 224, width: 200}  # was always_apply: true until 1.4.24",
        "  - Rotate: {limit: [-20, 20], border_mode: reflect_101}",
    ]


def test_what_no_recipe_holds_is_named_with_the_way_out(tmp_path: Path) -> None:
    draft = draft_of(_written(tmp_path, _old({"cls": "Lambda", "name": "x"}, {"cls": "my.Foo", "a": 1}, {"cls": "D4"})))
    assert [(found.name, "augrecipes.register" in found.message) for found in draft.left_out()] == [
        ("Lambda", True),
        ("Foo", True),
    ]
    assert [step.name for step in draft.recipe().steps] == ["D4"]
    assert draft.to_yaml().count("# left out: ") == 2


def test_an_argument_that_no_release_had_is_an_error_at_its_line_of_the_source(tmp_path: Path) -> None:
    path = _written(tmp_path, _old({"cls": "D4"}, {"cls": "Blur", "blurr": 3}))
    with pytest.raises(ar.RecipeError) as caught:
        draft_of(path).to_yaml()
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.code) == (path, 1, "E304")


def test_load_and_check_name_the_import(tmp_path: Path) -> None:
    path = _written(tmp_path, _old({"cls": "D4"}))
    with pytest.raises(ar.RecipeError, match=r"1 transform, which is no recipe: `augrecipes import .*Old aug.json -o"):
        ar.load(path)
