"""Both recipes on the same samples, as a sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from support.folders import draw_waves

from augrecipes.diff import images
from augrecipes.errors import DataError, RecipeError
from augrecipes.preview.cells import SheetRow
from augrecipes.preview.display import EMPTY
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text


def recipe(steps: str = "[]", rest: str = "") -> Recipe:
    return parse_text(f"version: 1\nrecipe: test\nsteps: {steps}\neval: []\n{rest}")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return draw_waves(tmp_path, 5, (40, 60))


def rows(*given: Any, **how: Any) -> list[SheetRow]:
    """The rows of the sheet."""
    sheet = images.compared(*given, **how)
    assert sheet.pixels.dtype == np.uint8
    return list(sheet.rows)


def test_the_same_is_identical(photos: Path) -> None:
    same = recipe("[HorizontalFlip]"), recipe("[{HorizontalFlip: {p: 0.5}}]"), photos
    made = rows(*same, rows=3)
    assert images.compared(*same, rows=3).pixels.ndim == 3
    assert [row.caption for row in made] == [f"{photos.name}/{k}.png" for k in (0, 1, 3)]
    for row in made:
        a, b, apart = row.groups
        np.testing.assert_array_equal(a.cells[0].picture, b.cells[0].picture)
        assert apart.header == "identical"
        assert (apart.cells[0].picture == EMPTY).all()
        headers = [row.source and row.source.header, a.header, b.header]
        assert headers == ["source · 60×40", "A · 60×40 · float32", "B · 60×40 · float32"]


def test_a_difference_is_amplified(photos: Path) -> None:
    by_four = "[{RandomBrightnessContrast: {brightness_limit: [%s, %s], contrast_limit: [0, 0], p: 1.0}}]"
    (row,) = rows(recipe(by_four % (0, 0)), recipe(by_four % (0.02, 0.02)), photos, rows=1)
    apart = row.groups[2]
    assert apart.header == "difference × 32 · most 5"
    assert apart.cells[0].picture is not None
    assert apart.cells[0].picture.mean() < np.mean(EMPTY) - 50


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


def test_masks_that_differ(photos: Path, tmp_path: Path) -> None:
    for k in range(5):
        (tmp_path / "masks").mkdir(exist_ok=True)
        mask = np.zeros((40, 60), np.uint8)
        mask[:, :30] = 1
        cv2.imwrite(str(tmp_path / "masks" / f"{k}.png"), mask)
    other = recipe("[{HorizontalFlip: {p: 1.0}}]")
    only = photos / "0.png"
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "0.png").write_bytes(only.read_bytes())
    for k in range(1, 5):
        (tmp_path / "masks" / f"{k}.png").unlink()
    (row,) = rows(recipe(), other, folder, rows=1, masks=tmp_path / "masks")
    assert row.notes == ["index 0 · mask differs in 100 %"]


def test_pairs_have_a_row_a_target(tmp_path: Path) -> None:
    for name, size in (("hr", 64), ("lr", 16)):
        (tmp_path / name).mkdir()
        cv2.imwrite(str(tmp_path / name / "0.png"), np.full((size, size, 3), 90, np.uint8))
    kind = "kind: pair\nscales: {lr: 1, hr: 4}"
    data = {"hr": str(tmp_path / "hr"), "lr": str(tmp_path / "lr")}
    made = rows(recipe("[HorizontalFlip]", kind), recipe("[{InvertImg: {p: 1.0, target: lr}}]", kind), data)
    assert [(row.notes[0], row.groups[2].header) for row in made] == [
        ("lr · index 0", "difference × 2 · most 75"),
        ("hr · index 0", "identical"),
    ]


def test_tiles_of_bags(tmp_path: Path) -> None:
    (tmp_path / "slide").mkdir()
    for k in range(2):
        cv2.imwrite(str(tmp_path / "slide" / f"{k}.png"), np.full((16, 16, 3), 90, np.uint8))
    a = recipe("[HorizontalFlip]", "kind: bag")
    assert [row.notes[0] for row in rows(a, a, tmp_path)] == ["index 0 · tile 0", "index 0 · tile 1"]


def test_what_cannot_be_drawn(photos: Path) -> None:
    with pytest.raises(DataError, match="A is of kind image and B of kind bag"):
        images.compared(recipe(), recipe(rest="kind: bag"), photos)
    with pytest.raises(RecipeError, match="no `eval:` section"):
        images.compared(recipe(), parse_text("version: 1\nrecipe: a\nsteps: []"), photos, mode="eval")
    with pytest.raises(DataError, match="no such file"):
        images.compared(recipe(), recipe(), photos / "missing")
