"""The page: images are the pipeline's and give way to edits; the editor: fixes, completion, saving, odd names."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import albumentations as A
import cv2
import numpy as np
import pytest
from studio_pages import PATIENCE, RECIPE, Browse, Page, Tab, in_both, write_masks

import augrecipes as ar
from augrecipes.sources.sample import Sample
from augrecipes.studio.view import png_of


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@in_both
def test_a_large_sample_is_the_pipelines_to_the_byte(optimize: str, opened_page: Page, tab: Tab, file: Path) -> None:
    tab.page.select_option("#optimise", optimize)
    tab.drawn(12)
    tab.page.click(".strip:nth-child(3) .cell:nth-child(2)")
    shown = tab.pixels(".large .stage img")
    wanted = ar.load(file).compile(seed=0, optimize=optimize).at(2, epoch=1)(image=ar.read_image(opened_page.files[2]))
    assert np.array_equal(shown, wanted["image"])
    address = tab.page.get_attribute(".large .stage img", "data-url")
    assert opened_page.ask("GET", address).body == png_of(wanted["image"])
    assert f"optimize={optimize!r}" in tab.page.inner_text(".large .python")
    assert ".at(2, epoch=1)" in tab.page.inner_text(".large .python")


@in_both
def test_of_two_hundred_samples_those_in_sight_are_drawn(
    open_page: Any, browse: Browse, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "many").mkdir()
    for number in range(200):
        assert cv2.imwrite(str(tmp_path / "many" / f"{number:03}.png"), np.full((80, 80, 3), number, np.uint8))
    tab = browse(open_page(file, tmp_path / "many").running.address)
    tab.drawn(18)
    tab.fill("[aria-label=Samples]", 200)
    tab.page.keyboard.press("Enter")
    tab.until("document.querySelectorAll('.strip').length === 200")
    tab.drawn(24)
    assert tab.page.locator(".cell img[data-url]").count() < 300
    tab.page.locator(".strip").last.scroll_into_view_if_needed()
    tab.until("document.querySelectorAll('.strip')[199].querySelectorAll('img[data-url]').length === 3")
    assert abs(int(np.median(tab.pixels(".strip:nth-child(200) .cell:nth-child(3) img"))) - 199) <= 1


@in_both
def test_a_slow_recipe_says_how_far_it_is_and_gives_way_to_an_edit(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    run, slow, made = Sample.run, [True], []

    def waits(self: Any, pipeline: Any, epoch: int) -> Any:
        if slow[0]:
            made.append(epoch)
            time.sleep(2)
        return run(self, pipeline, epoch)

    monkeypatch.setattr(Sample, "run", waits)
    tab.write(RECIPE.replace("25", "44"))
    tab.until("document.querySelector('.draws .progress:not([hidden]) span')?.textContent.match(/^[1-4] of 12 drawn/)")
    assert tab.page.locator(".cell[data-stale]").count() > 0
    slow[0] = False
    tab.write(RECIPE.replace("25", "45"))
    tab.until("document.querySelector('.draws .progress').hidden")
    tab.drawn(12)
    assert 1 <= len(made) < 12


@in_both
def test_masks_are_drawn_and_switched(open_page: Any, browse: Browse, photos: Path, tmp_path: Path) -> None:
    text = "version: 1\nrecipe: masked\ninputs: {mask: required}\nsteps:\n  - HorizontalFlip: {p: 1.0}\n"
    tab = browse(open_page(text, photos, masks=write_masks(tmp_path / "masks", photos)).running.address)
    tab.drawn(6)
    pixels = "document.querySelector('.cell canvas').getContext('2d').getImageData(0, 0, 999, 999).data"
    inked = f"() => [...{pixels}].some(Boolean)"
    tab.until(inked)
    tab.press("m")
    tab.until(f"() => !({inked})()")
    assert tab.page.get_attribute("[data-overlay=masks]", "aria-pressed") == "false"


@in_both
def test_every_view_can_be_reached_with_keys(tab: Tab) -> None:
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
    for key in ("ArrowRight", "Enter"):
        tab.page.keyboard.press(key)
    tab.page.wait_for_selector(".large:not([hidden]) img[data-url]", timeout=PATIENCE)
    assert "epoch 1" in tab.page.inner_text(".large h3")
    tab.page.keyboard.press("Escape")
    assert tab.page.is_visible(".grid")


@in_both
def test_a_slider_changes_the_recipe_in_place_and_the_images(tab: Tab) -> None:
    first = "document.querySelector('.cell img').dataset.url"
    before = tab.page.evaluate(first)
    tab.page.focus("[data-argument=limit] input[type=range] >> nth=1")
    for _ in range(4):
        tab.page.keyboard.press("ArrowRight")
    tab.until(f"before => {first} !== before", before)
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


# Asks for one seed, and for another while the draws of the first are on their way, as a slider that is moved does.
TWO_SEEDS = """async ([first, second]) => {
  const {change} = await import(new URL("state.js", location.href).href)
  const [ask, now] = [window.fetch, performance.now]
  performance.now = () => 0 // what has just begun may go on
  await new Promise((resolve) => {
    window.fetch = async (path, options) => {
      const answer = await ask(path, options)
      if (path !== "api/draws") return answer
      window.fetch = ask
      const lines = await answer.text()
      change({seed: second})
      resolve()
      return new Response(lines)
    }
    change({seed: first})
  })
  performance.now = now
}"""


@in_both
def test_draws_of_an_earlier_request_do_not_stay(tab: Tab) -> None:
    image = "document.querySelector('.cell img').dataset.url"
    seeds = "async seed => (await import(new URL('state.js', location.href).href)).change({seed})"
    before = tab.page.evaluate(image)
    tab.page.evaluate(seeds, 2)
    tab.until(f"before => {image} !== before", before)
    tab.drawn(12)
    wanted = tab.page.evaluate(image)
    tab.page.evaluate(seeds, 0)
    tab.until(f"before => {image} === before", before)
    tab.page.evaluate(TWO_SEEDS, [1, 2])
    tab.until(f"wanted => {image} === wanted", wanted)
    tab.drawn(12)


@in_both
def test_stages_show_each_step_and_switch_it_off(tab: Tab) -> None:
    tab.press("2")
    tab.until("document.querySelectorAll('.stage-card img[data-url]').length >= 4")
    assert "°" in tab.page.inner_text(".stage-card:nth-child(2) .words")
    third = "document.querySelector('.stage-card:nth-child(3) img').dataset.url"
    before = tab.page.evaluate(third)
    tab.page.click(".stage-card:nth-child(2) .switch")
    tab.until("document.querySelector('.stage-card:nth-child(2)').dataset.off === 'true'")
    tab.until(f"before => {third} !== before", before)
    assert tab.text == RECIPE  # a switch is of the images
    assert tab.page.is_visible("#switched")
    tab.press("w")
    tab.until(f"before => {third} === before", before)
    tab.page.click(".stage-card:nth-child(4) [data-value='1']")
    tab.page.click(".stage-card:nth-child(4) >> text=Write it")
    tab.until("document.querySelector('#editor').innerText.includes('HorizontalFlip: {p: 1')")


@in_both
def test_extremes_of_a_step_differ(tab: Tab) -> None:
    tab.press("x")
    tab.until("document.querySelectorAll('#extremes img[data-url]').length === 2")
    least, most = (tab.pixels(f"#extremes figure:nth-child({place}) img") for place in (1, 2))
    assert (least != most).any()


@in_both
def test_two_recipes_next_to_each_other(tab: Tab, opened_page: Page) -> None:
    tab.press("p")
    tab.write(RECIPE.replace("HorizontalFlip", "HorizontalFlip: {p: 1.0}").replace("25", "60"))
    tab.until("document.querySelector('#view-compare .verdict')?.textContent.startsWith('Largest')")
    assert "Rotate" in tab.page.inner_text("#view-compare .said")
    image = ar.read_image(opened_page.files[0])
    for text, side in ((tab.text, "a"), (RECIPE, "b")):
        wanted = ar.load(text).compile(seed=0).at(0, epoch=0)(image=image)["image"]
        assert np.array_equal(tab.pixels(f"#view-compare .wipe .{side} img"), wanted)
    tab.page.focus(".wiper")
    tab.page.keyboard.press("End")
    assert tab.page.evaluate("document.querySelector('.wipe').style.getPropertyValue('--cut')") == "100%"


# Chromium alone: nothing says when Firefox downloads.
def test_cost_names_each_step_and_what_is_exported(tab: Tab) -> None:
    tab.press("4")
    tab.page.wait_for_selector(".times >> text=Rotate", timeout=PATIENCE)
    assert tab.page.locator(".totals b").count() == 4
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


@in_both
def test_what_is_dropped_is_imported_and_a_recipe_of_the_gallery_can_be_undone(tab: Tab) -> None:
    tab.press("g")
    tab.page.wait_for_selector("dialog .entries [role=option]", timeout=PATIENCE)
    for key in ("ArrowDown", "Enter"):
        tab.page.keyboard.press(key)
    tab.until("document.querySelector('#editor').innerText.includes('Purpose')")
    tab.page.keyboard.press("Control+z")
    assert tab.text == RECIPE
    saved = A.to_dict(A.Compose([A.HorizontalFlip(p=0.25), A.RandomCrop(32, 32)]))
    tab.page.evaluate(DROP, ["train.json", json.dumps(saved)])
    tab.until("document.querySelector('#editor').innerText.includes('0.25')")
    assert [step.name for step in ar.load(tab.text).steps] == ["HorizontalFlip", "RandomCrop"]


MISSPELT = RECIPE.replace("Rotate:", "RandomRotation:")


@in_both
def test_a_misspelt_step_is_fixed_by_a_click_and_with_a_key(tab: Tab) -> None:
    tab.write(MISSPELT)
    tab.page.wait_for_selector(".cm-lintRange-error", timeout=PATIENCE)
    assert tab.page.locator(".cm-lintRange-error").all_inner_texts() == ["RandomRotation"]
    assert "did you mean Rotate?" in tab.page.inner_text("#problems-list")
    tab.page.click("#problems-list .code")
    assert "E302" in tab.page.inner_text("dialog h2")
    assert len(tab.page.inner_text("dialog .content")) > 40
    tab.page.keyboard.press("Escape")
    tab.until("!document.querySelector('dialog')")
    tab.page.click("#problems-list .fix")
    tab.until("document.querySelector('#problems').dataset.worst !== 'error'")
    assert tab.text == RECIPE
    tab.page.keyboard.press("Control+z")
    tab.page.wait_for_selector(".cm-lintRange-error", timeout=PATIENCE)
    assert tab.text == MISSPELT
    tab.page.keyboard.press("F8")
    tab.page.keyboard.press("Control+.")
    tab.until("!document.querySelector('.cm-lintRange-error')")
    assert tab.text == RECIPE


@in_both
def test_names_are_completed_and_explained(tab: Tab) -> None:
    tab.write(RECIPE.partition("eval:")[0])
    tab.page.keyboard.type("  - GaussianBl")
    tab.page.wait_for_selector(".cm-tooltip-autocomplete", timeout=PATIENCE)
    tab.until("!document.querySelector('.cm-completionListIncompleteTop')")
    tab.page.wait_for_timeout(150)  # the editor takes no choice in the first moment, so that nobody hits it unawares
    tab.page.keyboard.press("Enter")
    assert tab.text.endswith("  - GaussianBlur")
    tab.page.keyboard.type(": {blur_lim")
    tab.page.wait_for_selector(".cm-tooltip-autocomplete >> text=blur_limit", timeout=PATIENCE)
    tab.page.keyboard.press("Escape")
    tab.page.hover("#editor .tok-propertyName >> text=RandomCrop")
    tab.page.wait_for_selector(".cm-tooltip-hover .explained", timeout=PATIENCE)
    assert "RandomCrop" in tab.page.inner_text(".cm-tooltip-hover .explained")


@in_both
def test_what_a_recipe_extends_is_shown_resolved(tab: Tab, file: Path) -> None:
    (file.parent / "base.yaml").write_text(RECIPE, encoding="utf-8")
    tab.write("version: 1\nrecipe: child\nextends: base.yaml\nset: {Rotate.limit: 77}\n")
    tab.page.click("#which-text >> text=Resolved")
    tab.until("document.querySelector('#resolved').innerText.includes('77')")
    assert "RandomCrop" in tab.page.inner_text("#resolved")
    assert "RandomCrop" not in tab.text


HOSTILE = (
    "<img src=x onerror=alert(1)>.jpg",
    '"><script>alert(2)<∕script>.jpg',
    "${alert(3)} {{alert(4)}} javascript:alert(5).jpg",
    "\u202egpj.exe & '.jpg",
)


@in_both
def test_names_that_want_to_be_markup_stay_text(open_page: Any, browse: Browse, photos: Path, file: Path) -> None:
    image = next(photos.glob("*.jpg")).read_bytes()
    shutil.rmtree(photos)
    photos.mkdir()
    for name in HOSTILE:
        (photos / name).write_bytes(image)
    (photos / "<b>broken<∕b>.jpg").write_bytes(b"no image")
    tab = browse(open_page(file, photos).running.address)
    tab.drawn(3 * len(HOSTILE))
    assert "<img src=x onerror=alert(1)>" in tab.page.inner_text(".grid")
    assert tab.page.locator(".grid .broken").count() == 3
    for selector in (".grid script", ".grid img[src=x]", ".grid b"):
        assert tab.page.locator(selector).count() == 0
    tab.page.locator(".cell").first.click()
    tab.page.wait_for_selector(".large .side .python", timeout=PATIENCE)
    assert tab.page.locator(".large script, .large img[src=x]").count() == 0
    tab.write("version: 1\nrecipe: x\nsteps:\n  - '<img src=x onerror=alert(1)>': {a: '<script>alert(2)</script>'}\n")
    tab.page.wait_for_selector("#problems-list li", timeout=PATIENCE)
    assert "<img src=x onerror=alert(1)>" in tab.page.inner_text("#problems-list")
    assert tab.page.locator("#left img, #left script").count() == 0
