"""Both recipes on the same samples, as a sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from support.folders import draw_waves

from augrecipes.diff.images import compared
from augrecipes.errors import DataError, RecipeError
from augrecipes.preview.cells import SheetRow
from augrecipes.preview.display import EMPTY
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

BRIGHTNESS = "[{RandomBrightnessContrast: {brightness_limit: [%s, %s], contrast_limit: [0, 0], p: 1.0}}]"


def recipe(steps: str = "[]", rest: str = "") -> Recipe:
    return parse_text(f"version: 1\nrecipe: test\nsteps: {steps}\neval: []\n{rest}")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return draw_waves(tmp_path / "photos", 5, (40, 60))


def rows(*given: Any, **how: Any) -> list[SheetRow]:
    """The rows of the sheet."""
    sheet = compared(*given, **how)
    assert sheet.pixels.dtype == np.uint8
    return list(sheet.rows)


def test_the_same_is_identical(photos: Path) -> None:
    made = rows(recipe("[HorizontalFlip]"), recipe("[{HorizontalFlip: {p: 0.5}}]"), photos, rows=3)
    assert [row.caption for row in made] == [f"{photos.name}/{k}.png" for k in (0, 1, 3)]
    for row in made:
        a, b, difference = row.groups
        np.testing.assert_array_equal(a.cells[0].image, b.cells[0].image)
        assert difference.header == "identical"
        assert (difference.cells[0].image == EMPTY).all()
        headers = [row.source and row.source.header, a.header, b.header]
        assert headers == ["source · 60×40", "A · 60×40 · float32", "B · 60×40 · float32"]


def test_a_difference_is_amplified(photos: Path) -> None:
    (row,) = rows(recipe(BRIGHTNESS % (0, 0)), recipe(BRIGHTNESS % (0.02, 0.02)), photos, rows=1)
    difference = row.groups[2]
    assert difference.header == "difference × 32 · most 5"
    assert difference.cells[0].image is not None
    assert difference.cells[0].image.mean() < np.mean(EMPTY) - 50


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (recipe(rest="output: {range: [0, 255], layout: hwc}"), "looks the same, other values"),
        (recipe("[{CenterCrop: {height: 20, width: 30}}]"), "sizes differ"),
    ],
)
def test_what_has_no_difference_to_show(photos: Path, other: Recipe, said: str) -> None:
    (row,) = rows(recipe(), other, photos, rows=1)
    assert row.groups[2].header == said


def test_masks_that_differ(tmp_path: Path) -> None:
    photos, masks = draw_waves(tmp_path / "one", 1, (40, 60)), tmp_path / "masks"
    masks.mkdir()
    mask = np.zeros((40, 60), np.uint8)
    mask[:, :30] = 1
    cv2.imwrite(str(masks / "0.png"), mask)
    (row,) = rows(recipe(), recipe("[{HorizontalFlip: {p: 1.0}}]"), photos, rows=1, masks=masks)
    assert row.notes == ["index 0 · mask differs in 100 %"]


def test_a_row_for_each_target_of_a_pair_and_each_tile_of_a_bag(tmp_path: Path) -> None:
    for name, size in (("hr", 64), ("lr", 16)):
        (tmp_path / name).mkdir()
        cv2.imwrite(str(tmp_path / name / "0.png"), np.full((size, size, 3), 90, np.uint8))
    pairs = "kind: pair\nscales: {lr: 1, hr: 4}"
    data = {"hr": str(tmp_path / "hr"), "lr": str(tmp_path / "lr")}
    made = rows(recipe("[HorizontalFlip]", pairs), recipe("[{InvertImg: {p: 1.0, target: lr}}]", pairs), data)
    assert [(row.notes[0], row.groups[2].header) for row in made] == [
        ("lr · index 0", "difference × 2 · most 75"),
        ("hr · index 0", "identical"),
    ]
    bags = draw_waves(tmp_path / "bags" / "slide", 2, (16, 16)).parent
    a = recipe("[HorizontalFlip]", "kind: bag")
    assert [row.notes[0] for row in rows(a, a, bags)] == ["index 0 · tile 0", "index 0 · tile 1"]


def test_what_cannot_be_drawn(photos: Path) -> None:
    with pytest.raises(DataError, match="A is of kind image and B of kind bag"):
        compared(recipe(), recipe(rest="kind: bag"), photos)
    with pytest.raises(RecipeError, match="no `eval:` section"):
        compared(recipe(), parse_text("version: 1\nrecipe: a\nsteps: []"), photos, mode="eval")
    with pytest.raises(DataError, match="no such file"):
        compared(recipe(), recipe(), photos / "missing")
