"""The images of the page: they are the pipeline's, come where they are looked at, and give way to edits."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from pages import PATIENCE, RECIPE, Browse, Tab

import augrecipes as ar
from augrecipes.studio.view import png_of


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_a_large_sample_is_the_pipelines_to_the_byte(
    optimize: str, open_page: Any, browse: Browse, file: Path, photos: Path
) -> None:
    opened = open_page(file, photos)
    tab = browse(opened.running.address)
    tab.page.select_option("#optimise", optimize)
    tab.drawn(12)
    tab.page.click(".strip:nth-child(3) .cell:nth-child(2)")
    shown = tab.pixels(".large .stage img")
    pipeline = ar.load(file).compile(seed=0, optimize=optimize)
    wanted = pipeline.at(2, epoch=1)(image=ar.read_image(sorted(photos.iterdir())[2]))["image"]
    assert shown.shape == wanted.shape == (64, 64, 3)
    assert (shown == wanted).all()
    address = tab.page.get_attribute(".large .stage img", "data-url")
    assert opened.ask("GET", address).body == png_of(wanted)
    assert f"optimize={optimize!r}" in tab.page.inner_text(".large .python")
    assert ".at(2, epoch=1)" in tab.page.inner_text(".large .python")


def test_of_two_hundred_samples_those_in_sight_are_drawn(
    open_page: Any, browse: Browse, file: Path, tmp_path: Path
) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(200):
        assert cv2.imwrite(str(many / f"{number:03}.png"), np.full((80, 80, 3), number, np.uint8))
    opened = open_page(file, many)
    tab = browse(opened.running.address)
    tab.drawn(18)
    tab.page.fill("[aria-label=Samples]", "200")
    tab.page.keyboard.press("Enter")
    tab.until("document.querySelectorAll('.strip').length === 200")
    tab.drawn(24)
    assert tab.page.locator(".cell img[data-url]").count() < 300
    tab.page.locator(".strip").last.scroll_into_view_if_needed()
    tab.until("document.querySelectorAll('.strip')[199].querySelectorAll('img[data-url]').length === 3")
    shown = tab.pixels(".strip:nth-child(200) .cell:nth-child(3) img")
    assert abs(int(np.median(shown)) - 199) <= 1


def test_a_slow_recipe_says_how_far_it_is_and_gives_way_to_an_edit(
    open_page: Any, browse: Browse, file: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from augrecipes.sources.sample import Sample

    run, slow, made = Sample.run, [False], []

    def waits(self: Any, pipeline: Any, epoch: int) -> Any:
        if slow[0]:
            made.append(epoch)
            time.sleep(2)
        return run(self, pipeline, epoch)

    monkeypatch.setattr(Sample, "run", waits)
    tab = browse(open_page(file, photos).running.address)
    tab.drawn(12)
    slow[0] = True
    tab.write(RECIPE.replace("25", "44"))
    tab.until("document.querySelector('.draws .progress:not([hidden]) span')?.textContent.match(/^[1-4] of 12 drawn/)")
    assert tab.page.locator(".cell[data-stale]").count() > 0
    slow[0] = False
    tab.write(RECIPE.replace("25", "45"))
    tab.until("document.querySelector('.draws .progress').hidden")
    tab.drawn(12)
    assert 1 <= len(made) < 12


def test_masks_boxes_and_points_are_drawn_and_switched(open_page: Any, browse: Browse, tmp_path: Path) -> None:
    folder, masks = tmp_path / "photos", tmp_path / "masks"
    folder.mkdir()
    masks.mkdir()
    mask = np.zeros((90, 90), np.uint8)
    mask[30:60, 30:60] = 1
    for number in range(2):
        assert cv2.imwrite(str(folder / f"{number}.png"), np.full((90, 90, 3), 128, np.uint8))
        assert cv2.imwrite(str(masks / f"{number}.png"), mask)
    recipe = tmp_path / "masked.yaml"
    recipe.write_text(
        "version: 1\nrecipe: masked\ninputs: {mask: required}\nsteps:\n  - HorizontalFlip: {p: 1.0}\n", encoding="utf-8"
    )
    tab = browse(open_page(recipe, folder, masks=masks).running.address)
    tab.drawn(6)
    pixels = "document.querySelector('.cell canvas').getContext('2d').getImageData(0, 0, 999, 999).data"
    inked = f"() => [...{pixels}].some(Boolean)"
    tab.until(inked)
    tab.press("m")
    tab.until(f"() => !({inked})()")
    assert tab.page.get_attribute("[data-overlay=masks]", "aria-pressed") == "false"


def test_every_view_can_be_reached_with_keys(open_page: Any, browse: Browse, file: Path, photos: Path) -> None:
    tab: Tab = browse(open_page(file, photos).running.address)
    tab.drawn(12)
    for number, name in enumerate(("draws", "stages", "compare", "cost", "export"), start=1):
        tab.press(str(number))
        assert tab.page.is_visible(f"#view-{name}")
        assert tab.page.get_attribute(f"#tab-{name}", "aria-selected") == "true"
    tab.press("1 ?")
    assert tab.page.is_visible("dialog .keys")
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("e")
    assert tab.page.evaluate("document.activeElement.className").startswith("cm-content")
    tab.page.keyboard.press("Escape")
    tab.page.locator(".cell").first.focus()
    tab.page.keyboard.press("ArrowRight")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_selector(".large:not([hidden]) img[data-url]", timeout=PATIENCE)
    assert "epoch 1" in tab.page.inner_text(".large h3")
    tab.page.keyboard.press("Escape")
    assert tab.page.is_visible(".grid")
