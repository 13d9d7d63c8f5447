"""`augrecipes diff`."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.diff import diff

A = """version: 1
recipe: one
steps:
  - RandomCrop: {height: 48, width: 40}
  - HorizontalFlip
  - GaussianBlur: {p: 1.0}
eval: []
"""
B = """# The same, turned round and longer.
recipe: two
version: 1
eval:
  - CenterCrop: {width: 40, height: 48}
steps:
  - GaussianBlur: {p: 1}
  - {HorizontalFlip: {p: 0.2}}
  - VerticalFlip
output: {layout: hwc}
"""


@pytest.fixture
def files(write, photos):
    write("a.yaml", A)
    write("b.yaml", B)


def picture(path: Path) -> np.ndarray:
    return cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)


def test_what_differs(run, files, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    result = run("diff", "a.yaml", "b.yaml")
    assert result.exit_code == 1, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "output.layout chw → hwc" in lines
    assert "> HorizontalFlip#1 kept moved behind GaussianBlur#1, from 2 to 2, p: 0.5 → 0.2" in lines
    assert "+ VerticalFlip#1 added at 3: p: 0.5" in lines
    assert any(line.startswith("- RandomCrop#1 removed at 1: ") for line in lines)
    assert lines[lines.index("Evaluation steps") + 2].startswith("+ CenterCrop#1 added at 1: ")
    assert "recipe: one → two" in lines
    assert lines[-1] == "they differ: 1 setting, 4 steps; 1 step is the same"
    assert "\033" not in result.stdout


def test_a_copy_in_other_words_is_the_same(run, files, write):
    copy = A.replace("recipe: one", "recipe: one  # a copy").replace("height: 48, width: 40", "width: 40.0, height: 48")
    write("copy.yaml", copy.replace("- HorizontalFlip", "- {HorizontalFlip: {p: 5e-1}}"))
    result = run("diff", "a.yaml", "copy.yaml")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "the same in effect: 3 steps are the same"


def test_steps_have_the_colours_of_their_marks(run, files):
    found = diff(ar.load("a.yaml"), ar.load("b.yaml")).report().text(colour=True)
    (added,) = [line for line in found.splitlines() if "VerticalFlip#1" in line]
    assert added.startswith("  \033[32m+")


def test_json(run, files):
    result = run("diff", "a.yaml", "b.yaml", "--json", "--mode", "train")
    told = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (told["same"], told["modes"], told["a"]["file"]) == (False, ["train"], "a.yaml")
    assert [(one["what"], one["draws"]) for one in told["steps"]] == [
        ("removed", None),
        ("moved", "kept"),
        ("added", None),
    ]
    assert told["steps"][1]["changes"] == [{"key": "p", "a": 0.5, "b": 0.2}]


def test_changes_are_of_the_second(run, files):
    assert run("diff", "a.yaml").exit_code == 0
    result = run("diff", "a.yaml", "--set", "RandomCrop.height=32", "--without", "HorizontalFlip")
    assert result.exit_code == 1
    assert "height: 48 → 32" in result.stdout and "-  HorizontalFlip#1" in result.stdout
    assert run("diff", "a.yaml", "b.yaml", "--set", "HorizontalFlip.p=0.5", "--mode", "eval").exit_code == 1
    assert run("diff", "a.yaml", "a.yaml", "--set", "HorizontalFlip.p=0.5", "--mode", "train").exit_code == 0


def test_a_picture_of_both(run, files, tmp_path):
    result = run(
        "diff", "a.yaml", "--set", "HorizontalFlip.p=1.0", "--data", "photos", "-o", "out/grid.png", "--rows", "2"
    )
    assert result.exit_code == 1, result.output
    assert result.stdout.splitlines()[-1] == "out/grid.png"
    assert picture(tmp_path / "out/grid.png").shape[2] == 3
    again = run("diff", "a.yaml", "--data", "photos", "--json", "-o", "same.png")
    assert (again.exit_code, json.loads(again.stdout)["picture"]) == (0, "same.png")


def test_the_problems_of_both_are_told(run, files, write):
    write("x.yaml", "{version: 1, recipe: x, steps: [Flup]}")
    write("y.yaml", "{version: 1, recipe: y, steps: [Flap]}")
    result = run("diff", "x.yaml", "y.yaml")
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["x.yaml", "y.yaml"]
    assert len(run("diff", "x.yaml").stderr.splitlines()) == 1


def test_a_recipe_that_lints_refuse_can_be_compared_without_pixels(run, files, write):
    write("lint.yaml", "{version: 1, recipe: lint, eval: [HorizontalFlip], steps: []}")
    assert run("diff", "lint.yaml", "lint.yaml").exit_code == 0
