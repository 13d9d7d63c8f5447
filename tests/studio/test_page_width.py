"""The page on phones and tablets, and what it lays over itself: nothing off the screen, nothing that cannot be hit."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cv2
import pytest
from studio_pages import PATIENCE, RECIPE, Browse, Page, Tab, image_of, in_both, write_images

Touch = Callable[[str, int], Tab]

NEEDS = "() => [document.documentElement.scrollWidth, innerWidth]"
# Controls that lie beyond the page's sides.
OUTSIDE = """() => [...document.querySelectorAll("button, input, select, summary")].filter((one) => {
  const {left, right} = one.getBoundingClientRect()
  return one.checkVisibility() && (left < -1 || right > innerWidth + 1)
}).map((one) => one.id || one.ariaLabel || one.textContent)"""
TOP_AND_BOTTOM = "one => { const {top, bottom} = one.getBoundingClientRect(); return [top, bottom] }"
WRAPPED = RECIPE.replace("  - RandomCrop: {height: 64, width: 64}\n", "") + (
    "# far below\nabout: what makes this line so long that it is wrapped in every pane of the page\n"
)


@pytest.fixture
def touch(browser: Any) -> Iterator[Callable[[str, int], Tab]]:
    """Opens tabs as narrow as a phone or a tablet, that are touched; at the end nothing may have gone wrong in them."""
    with ExitStack() as stack:
        tabs: list[Tab] = []

        def tab(address: str, width: int) -> Tab:
            context = browser.new_context(viewport={"width": width, "height": 844}, has_touch=True, is_mobile=True)
            stack.callback(context.close)
            tabs.append(Tab(context.new_page()))
            return tabs[-1].open(address)

        yield tab
    assert [fault for one in tabs for fault in one.faults] == []


@pytest.mark.parametrize("width", [390, 768])
def test_everything_is_in_one_column_and_can_be_tapped(width: int, opened_page: Page, touch: Touch) -> None:
    small = touch(opened_page.running.address, width)
    page = small.page

    def tap(selector: str) -> None:
        page.locator(selector).first.tap(timeout=PATIENCE)
        needed, wide = page.evaluate(NEEDS)
        assert (selector, needed <= wide, page.evaluate(OUTSIDE)) == (selector, True, [])

    small.drawn(1)
    assert not page.evaluate("document.querySelector('.cm-content') === document.activeElement")  # no keyboard yet
    for dialog in ("#open-gallery", "#help", "#explain-step"):
        tap(dialog)
        tap("dialog [aria-label=Close]")
    for one in (
        "#theme",
        "#step summary",
        "text=Resolved",
        "text=Written",
        "[aria-label='Seed: more']",
        "#show-extremes",
    ):
        tap(one)
    for name, there in (
        ("stages", ".stage-card img"),
        ("compare", ".wipe img"),
        ("cost", ".times"),
        ("export", ".card pre"),
    ):
        tap(f"#tab-{name}")
        page.wait_for_selector(f"#view-{name} {there}", timeout=PATIENCE)
        assert page.evaluate(OUTSIDE) == []
    tap("#tab-draws")
    tap(".cell")
    page.wait_for_selector(".large:not([hidden]) img[data-url]", timeout=PATIENCE)
    assert page.eval_on_selector(".large", TOP_AND_BOTTOM)[0] < 100  # and in sight
    tap(".large >> text=All draws")


def test_of_many_samples_in_one_column_those_in_sight_are_drawn(
    open_page: Any, touch: Touch, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "many").mkdir()
    for number in range(60):
        assert cv2.imwrite(str(tmp_path / "many" / f"{number:02}.png"), image_of(number % 5))
    tab = touch(open_page(file, tmp_path / "many").running.address, 390)
    tab.fill("[aria-label=Samples]", 60)
    tab.page.keyboard.press("Enter")
    tab.until("document.querySelectorAll('.strip').length === 60")
    tab.page.locator(".strip").last.scroll_into_view_if_needed()
    tab.until("document.querySelectorAll('.strip')[59].querySelectorAll('img[data-url]').length === 3")
    assert tab.page.locator(".cell img[data-url]").count() < 120


@in_both
def test_cards_and_lists_leave_what_is_used_free(tab: Tab) -> None:
    page = tab.page
    page.click("#editor .cm-line >> text=RandomCrop")
    page.hover("#editor .tok-propertyName >> text=Rotate")
    page.wait_for_selector(".cm-tooltip-hover .explained", timeout=PATIENCE)
    card, used = (page.eval_on_selector(one, TOP_AND_BOTTOM) for one in (".cm-tooltip-hover", ".cm-activeLine"))
    room = page.eval_on_selector("#editor", TOP_AND_BOTTOM)
    assert card[1] <= used[0] + 1 or card[0] >= used[1] - 1
    assert room[0] - 1 <= card[0] < card[1] <= room[1] + 1
    page.keyboard.press("Home")
    page.wait_for_selector(".cm-tooltip-hover", state="hidden", timeout=PATIENCE)
    page.mouse.move(1, 1)
    tab.write(WRAPPED)
    page.keyboard.press("Control+Home")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Home")
    for _ in range(len("- Rotate: {")):
        page.keyboard.press("ArrowRight")
    page.keyboard.type("mask_i")
    page.wait_for_selector(".cm-tooltip-autocomplete", timeout=PATIENCE)
    tab.until("document.querySelector('.cm-completionInfo')")
    line, shown, about = (
        page.eval_on_selector(one, TOP_AND_BOTTOM)
        for one in (".cm-activeLine", ".cm-tooltip-autocomplete", ".cm-completionInfo")
    )
    assert line[1] - line[0] > 30  # it is wrapped
    assert shown[0] >= line[1] - 1
    assert about[0] >= shown[1] - 2
    wide = "one => one.getBoundingClientRect().right"
    assert page.eval_on_selector(".cm-tooltip-autocomplete", wide) <= page.eval_on_selector("#editor", wide) + 1


@in_both
def test_a_size_has_two_fields(tab: Tab) -> None:
    tab.write(RECIPE.replace("RandomCrop: {height: 64, width: 64}", "RandomResizedCrop: {size: [64, 96]}"))
    tab.page.click("#editor .cm-line >> text=RandomResizedCrop")
    fields = "[data-argument=size] input[type=number]"
    tab.page.wait_for_selector(fields, timeout=PATIENCE)
    assert tab.page.inner_text("[data-argument=size] .fields").split() == ["height", "width"]
    assert tab.page.locator("[data-argument=size] input[type=range]").count() == 0
    tab.fill(f"{fields} >> nth=1", 48)
    tab.until("document.querySelector('.cm-content').textContent.includes('size: [64, 48]')")
    tab.drawn(12)


@in_both
def test_an_error_of_all_draws_is_said_once(tab: Tab) -> None:
    tab.write(RECIPE.replace("height: 64, width: 64", "height: 999, width: 999, p: 1.0"))
    tab.until(
        "document.querySelectorAll('.failures li').length === 1 && document.querySelectorAll('.broken').length === 12"
    )
    assert tab.page.inner_text(".failures").startswith("12 draws fail, the first: ")
    assert tab.page.inner_text(".grid").count("RandomCrop") == 0
    tab.write(RECIPE)
    tab.drawn(12)
    assert tab.page.is_hidden(".failures")


@in_both
def test_samples_of_several_classes_are_shown_in_turn(
    open_page: Any, browse: Browse, file: Path, tmp_path: Path
) -> None:
    tab = browse(open_page(file, Path(write_images(tmp_path / "classes", "bag"))).running.address)
    tab.drawn(18)
    shown = "[...document.querySelectorAll('.strip')].map((one) => one.dataset.index).join()"
    assert tab.page.evaluate(shown) == "0,3,1,4,2,5"
    tab.page.click("#turns")
    tab.until(f"{shown} === '0,1,2,3,4,5'")
    tab.press("c")
    tab.until(f"{shown} === '0,3,1,4,2,5'")
    tab.fill("[aria-label=Samples]", 2)
    tab.page.keyboard.press("Enter")
    tab.until(f"{shown} === '0,3'")
