"""The editor of the page: problems with their fixes, completion, saving, and names that want to be markup."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from studio_pages import PATIENCE, RECIPE, Browse, Tab

MISSPELT = RECIPE.replace("Rotate:", "RandomRotation:")


def test_a_misspelt_step_is_fixed_by_a_click_and_with_a_key(tab: Tab) -> None:
    tab.write(MISSPELT)
    tab.page.wait_for_selector(".cm-lintRange-error", timeout=PATIENCE)
    assert tab.page.locator(".cm-lintRange-error").all_inner_texts() == ["RandomRotation"]
    assert "did you mean Rotate?" in tab.page.inner_text("#problems-list")
    tab.page.click("#problems-list .code")
    assert "E302" in tab.page.inner_text("dialog h2")
    assert len(tab.page.inner_text("dialog .content")) > 40
    tab.page.keyboard.press("Escape")
    assert tab.page.locator("dialog").count() == 0
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
