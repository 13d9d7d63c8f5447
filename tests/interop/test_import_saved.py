"""Pipelines that `A.save` wrote, of this release and of earlier ones, as recipes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import augrecipes as ar
from augrecipes.cli.app import app
from augrecipes.compat.albumentations import A
from augrecipes.interop.importing import draft_of


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
        "  - ImageCompression: {quality_range: [60, 90]}  # was quality_lower: 60, quality_upper: 90",
        "  - Resize: {height: 224, width: 200}  # was always_apply: true",
        "  - Rotate: {limit: 20, border_mode: reflect_101}",
    ]


def test_an_argument_that_no_release_had_is_named_and_everything_else_comes_in(tmp_path: Path) -> None:
    path = _written(tmp_path, _old({"cls": "D4"}, {"cls": "Blur", "blurr": 3}))
    draft = draft_of(path)
    (problem,) = draft.left_out()
    assert (problem.file, problem.line, problem.code, problem.name) == (path, 1, "E602", "Blur.blurr")
    assert [step.name for step in draft.recipe().steps] == ["D4", "Blur"]
    assert "# left out: Blur.blurr: 3: no release" in draft.to_yaml()


def test_load_and_check_name_the_import(tmp_path: Path) -> None:
    with pytest.raises(ar.RecipeError, match=r"ar\.from_albumentations"):
        ar.load(A.to_dict(A.Compose([A.D4()])))
    path = _written(tmp_path, _old({"cls": "D4"}))
    with pytest.raises(ar.RecipeError, match=r"1 transform, which is no recipe: `augrecipes import .*Old aug.json -o"):
        ar.load(path)


def test_the_command_says_what_changed_and_what_is_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    old = _old({"cls": "ToGray"}, {"cls": "Lambda"}, {"cls": "GaussNoise", "var_limit": [10, 50], "p": 1.0}, seed=7)
    source = _written(tmp_path, old)
    with pytest.raises(SystemExit) as left:
        app(["import", source, "-o", "new.yaml"])
    assert left.value.code == 1  # a part is left out
    shown = " ".join(capsys.readouterr().out.split())  # lines are wrapped
    assert "new.yaml: 2 steps, made of a pipeline that albumentations 1.0.3 saved" in shown
    assert "changed GaussNoise: was var_limit: [10, 50]" in shown
    assert "samples in 3 epochs" not in shown  # no DataLoader is in sight
    assert "The seed 7 is no part of a recipe" in shown
    assert re.search(r"speed exact [\d.]+ · fast [\d.]+ times as fast", shown)
    assert "L102" not in shown
    assert "eval: derived  # the source has none" in (tmp_path / "new.yaml").read_text()
    assert f"{source}:1:" in shown
    assert "E602 Lambda: needs Python code" in shown
    text = (tmp_path / "new.yaml").read_text(encoding="utf-8")
    assert "Incomplete: 1 of its parts has" in text
    assert "# left out: Lambda" in text
    with pytest.raises(SystemExit) as done:
        app(["import", source, "--no-time"])
    found = capsys.readouterr()
    assert done.value.code == 1
    assert ar.load(found.out).steps == ar.load(text).steps  # standard output holds the recipe, and nothing else
    assert "changed  GaussNoise" in found.err
