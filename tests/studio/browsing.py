"""Looks at a studio as people do: in a browser without a window, by keys and clicks."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 30_000  # ms until what must come has come: a bound for broken pages, no measure

RECIPE = """version: 1
recipe: looked-at
steps:
  - Rotate: {limit: 25, border_mode: reflect_101, p: 1.0}  # a comment that stays
  - RandomCrop: {height: 64, width: 64}
  - HorizontalFlip
eval: derived
output: {dtype: uint8, layout: hwc}
"""


def chromium() -> Any:
    """A browser; the test is skipped where there is no driver or no browser."""
    driver = pytest.importorskip("playwright.sync_api")
    started = driver.sync_playwright().start()
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        return started, started.chromium.launch(executable_path=path, args=["--no-sandbox"])
    except driver.Error as error:
        started.stop()
        pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")


@dataclass
class Tab:
    """A tab of the browser with a studio in it, and what went wrong on its page."""

    page: Any
    faults: list[str] = field(default_factory=list)

    def open(self, address: str) -> Tab:
        """Go to a studio, and wait until its editor stands."""
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda asked: (self.faults.append(f"dialog {asked.message}"), asked.dismiss()))
        self.page.goto(address)
        self.page.wait_for_selector(".cm-content", timeout=PATIENCE)
        self.until("document.querySelector('#timing').textContent !== ''")
        return self

    def until(self, expression: str, argument: Any = None) -> None:
        """Wait until an expression of the page is true. The driver's own way needs eval, which the page forbids."""
        for _ in range(PATIENCE // 25):
            if self.page.evaluate(expression, argument):
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"the page never came to {expression}")

    @property
    def text(self) -> str:
        """What stands in the editor, all of it."""
        return str(self.page.evaluate("async () => (await import(new URL('editor.js', location.href).href)).text()"))

    def write(self, text: str) -> None:
        """Put a text where the old one was, as if it were pasted."""
        self.page.click("#editor .cm-content")
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def drawn(self, count: int) -> None:
        """Wait until so many cells of the grid show the recipe as it is."""
        self.until(
            "n => document.querySelectorAll('.cell:not([data-stale]) img[data-url]').length >= n"
            " && !document.querySelector('.cell img:not([data-url])')",
            count,
        )

    def press(self, keys: str) -> None:
        """Keys, one after the other, outside of the editor."""
        self.page.evaluate("document.activeElement.blur()")
        for key in keys.split():
            self.page.keyboard.press(key)

    def addresses(self) -> list[str]:
        """Which images of the server the grid shows."""
        return list(self.page.eval_on_selector_all(".cell img", "all => all.map(one => one.dataset.url)"))

    def pixels(self, selector: str) -> NDArray[np.uint8]:
        """An image as the page shows it, read off its image element: RGB."""
        self.page.wait_for_selector(f"{selector}[data-url]", timeout=PATIENCE)
        width, height, data = self.page.eval_on_selector(
            selector,
            """async one => {
              await one.decode()
              const canvas = document.createElement("canvas")
              ;[canvas.width, canvas.height] = [one.naturalWidth, one.naturalHeight]
              const pen = canvas.getContext("2d")
              pen.drawImage(one, 0, 0)
              return [canvas.width, canvas.height, [...pen.getImageData(0, 0, canvas.width, canvas.height).data]]
            }""",
        )
        return np.array(data, np.uint8).reshape(height, width, 4)[..., :3]


Browse = Callable[..., Tab]
