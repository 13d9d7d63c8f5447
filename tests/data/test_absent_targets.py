"""Boxes and keypoints that a recipe declares and the data has not are told before the first sample, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pictures import draw

from augrecipes.data.packed import Packed
from augrecipes.errors import DataError
from augrecipes.kinds.image.dataset import ImageFolder
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text

DECLARED = {
    "boxes": "boxes: {format: pascal_voc, labels: box_labels}",
    "keypoints": "keypoints: {format: xy}",
    "both": "boxes: {format: pascal_voc}, keypoints: {format: xy}",
}


def recipe(inputs: str) -> Any:
    steps = "[Resize: {height: 8, width: 8}, HorizontalFlip]"
    return parse_text(f"{{version: 1, recipe: declares, inputs: {{{inputs}}}, steps: {steps}, eval: []}}")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    draw(tmp_path / "data" / "a" / "1.png", seed=1, size=(20, 20))
    return tmp_path / "data"


def check(told: list[str], name: str) -> None:
    (line,) = told
    words = ("boxes", "keypoints") if name == "both" else (name,)
    assert line.startswith(f"recipe 'declares' declares {' and '.join(words)}, and the data has none")


@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_a_folder(data: Path, name: str, mode: Any, caplog: pytest.LogCaptureFixture) -> None:
    ImageFolder(data, recipe(DECLARED[name]), mode=mode)
    check(caplog.messages, name)


@pytest.mark.parametrize("name", DECLARED)
def test_a_store(data: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    pack(recipe(DECLARED[name]), str(data), data.parent / "store", workers=0)
    check(caplog.messages, name)
    caplog.clear()
    Packed(data.parent / "store", recipe(DECLARED[name]))
    check(caplog.messages, name)


def test_a_csv_file_and_one_with_boxes(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = data / "rows.csv"
    rows.write_text("image\na/1.png\n")
    ImageFolder(files=rows, recipe=recipe(DECLARED["boxes"]))
    check(caplog.messages, "boxes")
    caplog.clear()
    rows.write_text('image,boxes\na/1.png,"[[1, 2, 5, 6]]"\n')
    ImageFolder(files=rows, recipe=recipe("boxes: {format: pascal_voc}"))
    assert not caplog.messages


def test_what_is_required_is_an_error_and_what_is_not_declared_is_silent(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(DataError, match="requires boxes"):
        ImageFolder(data, recipe("boxes: {format: pascal_voc, presence: required}"))
    ImageFolder(data, recipe("mask: optional"))
    ImageFolder(data, recipe("boxes: absent"))
    assert not caplog.messages


def test_a_planted_fault_is_caught(data: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    monkeypatch.setattr("augrecipes.sources.arguments.tell_of_absent", lambda recipe, given: None)
    with pytest.raises(ValueError, match="not enough values"):
        test_a_folder(data, "boxes", "train", caplog)
