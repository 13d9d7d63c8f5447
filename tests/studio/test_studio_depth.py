"""Recipes and files of 16 bits and floats in the studio: images are stretched, it says so, and steps can be moved."""

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from studio_pages import Page

from augrecipes.preview.stretch import NODATA

TEXT = """\
version: 1
recipe: deep
inputs: {depth: 16, nodata: 0}
steps:
  - RandomCrop: {height: 48, width: 64}
  - Rotate: {limit: [20, 20], p: 1.0}
  - RandomBrightnessContrast: {brightness_limit: [0.005, 0.01], contrast_limit: [0, 0], p: 1.0}
  - HorizontalFlip: {p: 0.5}
eval: derived
output: {normalize: imagenet}
"""
FLOATS = TEXT.replace("depth: 16, nodata: 0", "depth: float32, range: [-20, 60], nodata: nan")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Images that take a small part of 16 bits, and arrays of floats; a corner of each holds no data."""
    root = tmp_path_factory.mktemp("deep")
    for name in ("png", "npy"):
        (root / name).mkdir()
    for number in range(2):
        image = np.random.default_rng(number).integers(1000, 3000, (64, 80, 3)).astype(np.uint16)
        image[:8, :8] = 0
        assert cv2.imwrite(str(root / "png" / f"{number}.png"), image)
        floats = image.astype(np.float32) / 100 - 20
        floats[:8, :8] = np.nan
        np.save(root / "npy" / f"{number}.npy", floats)
    return {TEXT: root / "png", FLOATS: root / "npy"}


@pytest.mark.parametrize("text", [TEXT, FLOATS], ids=["16 bits", "floats"])
def test_all_that_the_page_shows_is_stretched(
    folders: dict[str, Path], open_page: Callable[..., Page], text: str
) -> None:
    page = open_page(None, folders[text])
    drawn, *_ = page.lines("/api/draws", text=text, indices=[1], epochs=[0], size=0, source=True)
    assert drawn["shown"].startswith("stretched from "), drawn
    (shown,) = drawn["pictures"]
    source = page.pixels(shown["source"]["url"])
    assert (source[:8, :8] == NODATA).all()
    assert np.ptp(source) == 255
    assert (page.pixels(shown["url"]) == NODATA).all(axis=2).any(), "what the turn leaves empty is no data"
    lines = page.lines("/api/stages", text=text, index=1, size=0)
    assert drawn["shown"] in lines[0]["words"]
    levels = [page.pixels(line["url"]) for line in lines[:-1]]
    assert all(image.std() > 30 for image in levels)
    assert (levels[3] == NODATA).all(axis=2).sum() == (levels[2] == NODATA).all(axis=2).sum() > 0
    brighter = levels[3][(levels[3] != NODATA).all(axis=2)].mean() - levels[2][(levels[2] != NODATA).all(axis=2)].mean()
    assert brighter > 4, "a step that adds light does so on the page"
    found = page.post("/api/extremes", text=text, path="steps.2", index=1)
    assert found["most"]["apart"] > found["least"]["apart"] > 0
    assert page.pixels(found["most"]["url"]).std() > 30
    cost = page.post("/api/cost", text=text, index=1)
    assert cost["native"].startswith("no, steps run one by one")
    assert {step["site"] for step in cost["steps"]} >= {"RandomCrop#1", "Rotate#1"}


def test_two_settings_are_compared_alike(folders: dict[str, Path], open_page: Callable[..., Page]) -> None:
    page = open_page(None, folders[TEXT])
    other = TEXT.replace("[0.005, 0.01]", "[0.01, 0.02]")
    answer = page.post("/api/compare", a={"text": TEXT}, b={"text": other}, index=0)
    said = [words for words in answer["words"] if "stretched" in words]
    assert [words[:2] for words in said] == ["A ", "B "]
    assert said[0][2:] == said[1][2:]
    assert answer["mean"] > 10


def test_without_a_depth_the_page_says_what_is_missing(
    folders: dict[str, Path], open_page: Callable[..., Page]
) -> None:
    page = open_page(None, folders[TEXT])
    drawn, *_ = page.lines("/api/draws", text=TEXT.replace("inputs: {depth: 16, nodata: 0}\n", ""), indices=[0])
    assert "depth" in drawn["error"]["message"]
