"""What people write who come from torchvision: refused with what is written instead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import albumentations as A
import pytest
from support.folders import draw

import augrecipes as ar
from augrecipes.data.packed import Packed
from augrecipes.errors import DataError
from augrecipes.kinds.image.dataset import ImageFolder
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text

_MAKERS = (ar.ImageFolder, ar.PairedImages, ar.TileBags, ar.SlideBags, ar.Samples, ar.Packed)


@pytest.mark.parametrize("make", _MAKERS)
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("transform", "give a recipe, or `ar.from_albumentations(transform)`"),
        ("transforms", "give a recipe, or `ar.from_albumentations(transform)`"),
        ("target_transform", "labels come as they are"),
        ("train", "mode='eval'"),
        ("download", "nothing is downloaded"),
    ],
)
def test_what_other_datasets_take_is_refused_with_the_way_out(make: Any, word: str, said: str) -> None:
    with pytest.raises(TypeError, match=rf"^{make.__name__} takes no {word}=: .*{re.escape(said)}"):
        make("somewhere", **{word: None})


def test_a_transform_in_the_place_of_a_recipe_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"albumentations' Compose: ar\.from_albumentations\(it\)"):
        ar.ImageFolder(tmp_path, A.Compose([A.HorizontalFlip()]))  # type: ignore[arg-type]


# Boxes and keypoints that a recipe declares and the data has not are told before the first sample, once.


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
def test_what_the_data_has_not_is_told_once(data: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    declares, rows = recipe(DECLARED[name]), data / "rows.csv"
    rows.write_text("image\na/1.png\n")
    for opened in (
        lambda: ImageFolder(data, declares),
        lambda: ImageFolder(data, declares, mode="eval"),
        lambda: ImageFolder(files=rows, recipe=declares),
        lambda: pack(declares, str(data), data.parent / "store", workers=0),
        lambda: Packed(data.parent / "store", declares),
    ):
        opened()
        check(caplog.messages, name)
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
        test_what_the_data_has_not_is_told_once(data, "boxes", caplog)
