"""Sliders, switches and the other views of the page: they change the recipe in place, and show what that does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import albumentations as A
import pytest
from pages import PATIENCE, RECIPE, Browse, Tab

import augrecipes as ar


@pytest.fixture
def tab(open_page: Any, browse: Browse, file: Path, photos: Path) -> Tab:
    found = browse(open_page(file, photos).running.address)
    found.drawn(12)
    return found


def test_a_slider_changes_the_recipe_in_place_and_the_pictures(tab: Tab) -> None:
    before = tab.addresses()
    tab.page.focus("[data-argument=limit] input[type=range] >> nth=1")
    for _ in range(4):
        tab.page.keyboard.press("ArrowRight")
    tab.until("before => document.querySelector('.cell img').dataset.url !== before", before[0])
    tab.drawn(12)
    (line,) = set(tab.text.splitlines()) - set(RECIPE.splitlines())
    assert line.startswith("  - Rotate: {limit: [-25, ")
    assert line.endswith(", border_mode: reflect_101, p: 1.0}  # a comment that stays")
    low, high = ar.load(tab.text).steps[0].args["limit"]
    assert low == -25 < 25 < high
    tab.page.focus("#editor .cm-content")
    for _ in range(6):
        tab.page.keyboard.press("Control+z")
    assert tab.text == RECIPE


def test_a_slider_is_dragged_with_the_pointer(tab: Tab) -> None:
    handle = tab.page.locator("[data-argument=limit] input[type=range] >> nth=1")
    box = handle.bounding_box()
    low, high = (float(handle.get_attribute(name)) for name in ("min", "max"))
    x = box["x"] + 7 + (box["width"] - 14) * (25 - low) / (high - low)
    y = box["y"] + box["height"] / 2
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    for step in range(1, 11):
        tab.page.mouse.move(x + step * 3, y)
    tab.page.mouse.up()
    tab.until("document.querySelector('#editor').innerText.includes('[-25, ')")
    tab.until("!document.querySelector('.cell[data-stale]')")
    assert 25 < list(ar.load(tab.text).steps[0].args["limit"])[1] <= high


def test_stages_show_each_step_and_switch_it_off(tab: Tab) -> None:
    tab.press("2")
    tab.until("document.querySelectorAll('.stage-card img[data-url]').length >= 4")
    assert "°" in tab.page.inner_text(".stage-card:nth-child(2) .words")
    before = tab.page.get_attribute(".stage-card:nth-child(3) img", "data-url")
    tab.page.click(".stage-card:nth-child(2) .switch")
    tab.until("document.querySelector('.stage-card:nth-child(2)').dataset.off === 'true'")
    tab.until("before => document.querySelector('.stage-card:nth-child(3) img').dataset.url !== before", before)
    assert tab.text == RECIPE  # a switch is of the images
    assert tab.page.is_visible("#switched")
    tab.press("w")
    tab.until("before => document.querySelector('.stage-card:nth-child(3) img').dataset.url === before", before)
    tab.page.click(".stage-card:nth-child(4) [data-value='1']")
    tab.page.click(".stage-card:nth-child(4) >> text=Write it")
    tab.until("document.querySelector('#editor').innerText.includes('HorizontalFlip: {p: 1')")


def test_extremes_of_a_step_differ(tab: Tab) -> None:
    tab.press("x")
    tab.until("document.querySelectorAll('#extremes img[data-url]').length === 2")
    least, most = (tab.pixels(f"#extremes figure:nth-child({place}) img") for place in (1, 2))
    assert least.shape == most.shape
    assert (least != most).any()


def test_two_recipes_beside_each_other(tab: Tab, file: Path, photos: Path) -> None:
    tab.press("p")
    tab.write(RECIPE.replace("HorizontalFlip", "HorizontalFlip: {p: 1.0}").replace("25", "60"))
    tab.until("document.querySelector('#view-compare .verdict')?.textContent.startsWith('Largest')")
    assert "Rotate" in tab.page.inner_text("#view-compare .said")
    shown = [tab.pixels(f"#view-compare .wipe .{side} img") for side in "ab"]
    image = ar.read_image(sorted(photos.iterdir())[0])
    for text, picture in zip((tab.text, RECIPE), shown, strict=True):
        assert (ar.load(text).compile(seed=0).at(0, epoch=0)(image=image)["image"] == picture).all()
    tab.page.focus(".wiper")
    tab.page.keyboard.press("End")
    assert tab.page.evaluate("document.querySelector('.wipe').style.getPropertyValue('--cut')") == "100%"


def test_cost_names_each_step(tab: Tab) -> None:
    tab.press("4")
    tab.page.wait_for_selector(".times >> text=Rotate", timeout=PATIENCE)
    assert tab.page.locator(".totals b").count() == 4


def test_what_is_exported(tab: Tab) -> None:
    tab.press("5")
    tab.page.wait_for_selector(".python >> text=A.Compose", timeout=PATIENCE)
    with tab.page.expect_download() as download:
        tab.press("y")
    assert Path(download.value.path()).read_text(encoding="utf-8") == RECIPE
    with tab.page.expect_download() as download:
        tab.page.click("text=Download .json")
    assert A.from_dict(json.loads(Path(download.value.path()).read_text(encoding="utf-8"))) is not None


DROP = """([name, text]) => {
  const transfer = new DataTransfer()
  transfer.items.add(new File([text], name))
  window.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true}))
}"""


def test_a_dropped_pipeline_of_albumentations_is_imported(tab: Tab) -> None:
    saved = A.to_dict(A.Compose([A.HorizontalFlip(p=0.25), A.RandomCrop(32, 32)]))
    tab.page.evaluate(DROP, ["train.json", json.dumps(saved)])
    tab.until("document.querySelector('#editor').innerText.includes('0.25')")
    assert [step.name for step in ar.load(tab.text).steps] == ["HorizontalFlip", "RandomCrop"]


def test_a_recipe_of_the_gallery_can_be_undone(tab: Tab) -> None:
    tab.press("g")
    tab.page.wait_for_selector("dialog .entries [role=option]", timeout=PATIENCE)
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("Enter")
    tab.until("document.querySelector('#editor').innerText.includes('Purpose')")
    tab.page.keyboard.press("Control+z")
    assert tab.text == RECIPE
