"""The page by keyboard alone, and as axe-core reads it, in Chromium and in Firefox."""

from typing import Any

import pytest
from studio_pages import PATIENCE, RECIPE, SERIOUS, Tab, in_both

import augrecipes as ar

pytestmark = in_both

MISSPELT = RECIPE.replace("Rotate:", "RandomRotation:")
VIEWS = {
    "draws": ".cell img[data-url]",
    "stages": ".stage-card img[data-url]",
    "compare": ".wipe .a img[data-url]",
    "cost": ".times",
    "export": ".card pre",
}
# The element that has the focus, remembered with how it and what is around it look.
STOP = """() => {
  window.lookOf = (one) => [one, ...one.parentElement.querySelectorAll("*")].map((each) => {
    const {outline, boxShadow, backgroundColor, display} = getComputedStyle(each)
    return [outline, boxShadow, backgroundColor, display].join()
  }).join()
  window.stops ??= []
  const one = document.activeElement
  if (one === document.body || stops.some((stop) => stop.one === one)) return null
  stops.push({one, look: lookOf(one)})
  return one.className.includes("cm-content") && !one.ariaReadOnly ? "editor" : "stop"
}"""
# Controls that were not reached, that came before one that stands above them, and that look the same with the focus.
LEFT_OUT = """() => {
  const reached = stops.map((stop) => stop.one)
  document.activeElement.blur()
  const named = (one) => one.id || one.ariaLabel || one.textContent.slice(0, 30) || one.className
  const controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
  return {
    missed: controls.filter((one) => one.tabIndex >= 0 && !one.disabled && !reached.includes(one)
      && one.checkVisibility({visibilityProperty: true})).map(named),
    disordered: reached.filter((one, at) => at && one.compareDocumentPosition(reached[at - 1]) & 4).map(named),
    unseen: stops.filter(({one, look}) => lookOf(one) === look).map(({one}) => named(one)),
  }
}"""


def active(tab: Tab, about: str = "className") -> str:
    return str(tab.page.evaluate(f"String(document.activeElement.{about})"))


def tab_to(tab: Tab, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(80):
        if tab.page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        tab.page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not come to {selector}")


@pytest.mark.parametrize("name", VIEWS)
def test_tab_comes_to_every_control_in_order_and_each_shows_the_focus(tab: Tab, name: str) -> None:
    tab.press(str(1 + list(VIEWS).index(name)))
    tab.page.wait_for_selector(VIEWS[name], timeout=PATIENCE)
    tab.page.evaluate("document.querySelector('#top').tabIndex = -1, document.querySelector('#top').focus()")
    for _ in range(120):
        tab.page.keyboard.press("Tab")
        match tab.page.evaluate(STOP):
            case None:
                break
            case "editor":  # Tab indents; the page says how to leave it
                assert tab.page.is_visible("text=Esc leaves the editor")
                tab.page.keyboard.press("Escape")
                tab.page.evaluate(STOP)
    assert tab.page.evaluate(LEFT_OUT) == {"missed": [], "disordered": [], "unseen": []}
    assert tab.text == RECIPE


def test_a_problem_is_mended_a_slider_moved_and_an_image_opened_by_keys(tab: Tab) -> None:
    keys = tab.page.keyboard
    tab.write(MISSPELT)
    tab.page.wait_for_selector("#problems-list .fix", timeout=PATIENCE)
    keys.press("Escape")
    assert active(tab) == "message"
    tab_to(tab, ".fix")
    keys.press("Enter")
    tab.until("document.querySelector('#problems').dataset.worst !== 'error'")
    assert tab.text == RECIPE
    assert "cm-content" in active(tab)
    tab.drawn(12)
    before = tab.page.evaluate("document.querySelector('.cell img').dataset.url")
    for key in ("Control+Home", "ArrowDown", "ArrowDown", "ArrowDown", "Escape"):
        keys.press(key)
    tab_to(tab, "[data-argument=limit] input[type=range]")
    for key in ("Tab", "ArrowRight", "ArrowRight"):
        keys.press(key)
    tab.until("before => document.querySelector('.cell img').dataset.url !== before", before)
    assert ar.load(tab.text).steps[0].args["limit"][1] > 25
    tab_to(tab, ".cell")
    keys.press("ArrowRight")
    keys.press("Enter")
    tab.page.wait_for_selector(".large:not([hidden]) img[data-url]", timeout=PATIENCE)
    assert "epoch 1" in tab.page.inner_text(".large h3")
    keys.press("Escape")
    assert active(tab) == "cell"


@pytest.mark.parametrize("opener", ["#help", "#open-gallery", "#explain-step"])
def test_a_window_keeps_the_focus_until_escape_gives_it_back(tab: Tab, opener: str) -> None:
    tab.page.focus(opener)
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_selector("dialog[open]", timeout=PATIENCE)
    for _ in range(8):
        tab.page.keyboard.press("Tab")
        assert tab.page.evaluate("document.activeElement.matches('body, dialog, dialog *')")
    tab.page.keyboard.press("Escape")
    tab.page.wait_for_selector("dialog", state="detached", timeout=PATIENCE)
    assert active(tab, "id") == opener[1:]


@pytest.mark.parametrize("width", [1200, 700, 360])
def test_axe_finds_nothing_serious_in_any_state_by_day_or_night(tab: Tab, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 800})
    tab.load_axe()
    found: list[Any] = []

    def look(state: str) -> None:
        for theme in ("light", "dark"):
            tab.page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
            found.extend([state, theme, *each] for each in tab.page.evaluate(SERIOUS))

    for name, there in VIEWS.items():
        tab.press(str(1 + list(VIEWS).index(name)))
        tab.page.wait_for_selector(there, timeout=PATIENCE)
        look(name)
    tab.press("1 x")
    tab.until("document.querySelectorAll('#extremes img[data-url]').length === 2")
    tab.page.click("#step summary")
    look("all arguments, and the extremes")
    tab.page.locator(".cell").first.click()
    tab.page.wait_for_selector(".large .side .python", timeout=PATIENCE)
    look("one sample, large")
    for key, name in (("?", "the keys"), ("g", "the gallery"), ("d", "a step explained")):
        tab.press(key)
        tab.page.wait_for_selector("dialog[open]", timeout=PATIENCE)
        look(name)
        tab.page.keyboard.press("Escape")
        tab.page.wait_for_selector("dialog", state="detached", timeout=PATIENCE)
    tab.write(MISSPELT)
    tab.page.wait_for_selector("#problems-list .fix", timeout=PATIENCE)
    look("problems")
    tab.page.click("#problems-list .code")
    look("a problem explained")
    assert found == []
