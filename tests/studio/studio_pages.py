"""Pages of a studio: asked over a socket, and looked at in a browser without a window, as people do."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from importlib.resources import files
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from augrecipes.studio.server import StudioServer
from augrecipes.studio.studio import Studio

PATIENCE = 30_000  # ms until what must come has come: a bound for broken pages, no measure

# What browsers are called on a system, and how they start: Firefox by WebDriver BiDi, which needs no special build.
BROWSERS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "chromium": (
        ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
        {"args": ["--no-sandbox"]},
    ),
    "firefox": (("firefox", "firefox-esr"), {"channel": "moz-firefox"}),
}
in_both = pytest.mark.parametrize("browser", BROWSERS, indirect=True)

RECIPE = """version: 1
recipe: looked-at
steps:
  - Rotate: {limit: 25, border_mode: reflect_101, p: 1.0}  # a comment that stays
  - RandomCrop: {height: 64, width: 64}
  - HorizontalFlip
eval: derived
output: {dtype: uint8, layout: hwc}
"""
QUICK = "version: 1\nrecipe: mine\nsteps: [HorizontalFlip]\neval: derived\n"
PAIR = """version: 1
recipe: pairs
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - RandomCrop: {height: 24, width: 24, at: lr}
  - HorizontalFlip
  - GaussNoise: {std_range: [0.01, 0.03], target: lr, p: 0.5}
"""
BAG = """version: 1
recipe: bags
kind: bag
bag: {max_tiles: 5}
steps:
  - CenterCrop: {height: 40, width: 40}
  - RandomCrop: {height: 32, width: 32}
  - StainJitter: {sigma: 0.05, share: bag, p: 1.0}
"""


@dataclass
class Reply:
    """What a request was answered with."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Page:
    """A page of a studio."""

    running: StudioServer
    files: list[Path] = field(default_factory=list)
    tab: str = "tab-1"

    @property
    def studio(self) -> Studio:
        """That answers."""
        return self.running.studio

    @contextmanager
    def open(self, method: str, path: str, body: Any = None, **headers: str | None) -> Iterator[HTTPResponse]:
        """A request with the token; headers that are None are left out."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        known = {"X-Studio-Token": self.studio.token, "X-Studio-Tab": self.tab, **named}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        with closing(HTTPConnection("127.0.0.1", self.running.port, timeout=60)) as connection:
            connection.request(method, path, data, {name: value for name, value in known.items() if value is not None})
            yield connection.getresponse()

    def ask(self, method: str, path: str, body: Any = None, **headers: str | None) -> Reply:
        """The same, and all of the answer."""
        with self.open(method, path, body, **headers) as response:
            named = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, named, response.read())

    def fine(self, method: str, path: str, body: Any = None) -> bytes:
        """What a request is answered that is served."""
        reply = self.ask(method, path, body)
        assert reply.status == 200, reply.body
        return reply.body

    def get(self, path: str) -> Any:
        """What a GET answers."""
        return json.loads(self.fine("GET", path))

    def post(self, path: str, /, **body: Any) -> Any:
        """What a POST answers."""
        return json.loads(self.fine("POST", path, body))

    def lines(self, path: str, /, **body: Any) -> list[Any]:
        """The lines that a POST answers."""
        return [json.loads(line) for line in self.fine("POST", path, body).splitlines()]

    def pixels(self, url: str) -> NDArray[np.uint8]:
        """An image, RGB or RGBA."""
        found = cv2.imdecode(np.frombuffer(self.fine("GET", url), np.uint8), cv2.IMREAD_UNCHANGED)
        how = cv2.COLOR_BGR2RGB if found.shape[2] == 3 else cv2.COLOR_BGRA2RGBA
        return np.asarray(cv2.cvtColor(found, how), np.uint8)


def image_of(number: int, height: int = 120, width: int = 160) -> Any:
    """A smooth image with some noise, H×W×3."""
    random = np.random.default_rng(number)
    y, x = np.mgrid[0:height, 0:width]
    smooth = np.stack([np.sin(x / (9 + number)), np.cos(y / (7 + number)), np.sin((x + y) / 13)], axis=-1)
    return np.clip(smooth * 90 + 128 + random.normal(0, 6, smooth.shape), 0, 255).astype(np.uint8)


def write_images(folder: Path, kind: str) -> Any:
    """Files for recipes of a kind, and what names them."""
    if kind == "pair":
        for name, k in (("hr", 2), ("lr", 1)):
            (folder / name).mkdir(parents=True)
            for number in range(3):
                assert cv2.imwrite(str(folder / name / f"{number}.png"), image_of(number, 60 * k, 80 * k))
        return {name: str(folder / name) for name in ("hr", "lr")}
    for number in range(6):
        to = folder / ("ab"[number % 2] if kind == "bag" else "") / f"{number}.{'png' if number % 3 else 'jpg'}"
        to.parent.mkdir(parents=True, exist_ok=True)
        assert cv2.imwrite(str(to), image_of(number))
    return str(folder)


def write_masks(folder: Path, images: Path) -> Path:
    """A mask for each image of a folder; what the folder of masks is called."""
    folder.mkdir()
    mask = np.zeros((120, 160), np.uint8)
    mask[20:60, 30:90] = 2
    for file in images.iterdir():
        assert cv2.imwrite(str(folder / f"{file.stem}.png"), mask)
    return folder


@dataclass
class Tab:
    """A tab of the browser with a studio in it, and what went wrong on its page."""

    page: Any
    faults: list[str] = field(default_factory=list)

    def open(self, address: str) -> "Tab":
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
        self.page.evaluate(PASTE, text)

    def fill(self, selector: str, number: int) -> None:
        """Write a number into a field, key by key."""
        self.page.focus(selector)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(str(number))

    def saved(self, yes: bool = True) -> None:
        """Wait until the page says that its text is saved, or that it is not."""
        words = "saved" if yes else "not saved"
        self.until(f"document.querySelector('#file-state').textContent === '{words}'")

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

    def load_axe(self) -> None:
        """Bring axe-core to the page, for `SERIOUS`."""
        pytest.importorskip("axe_playwright_python", reason="no axe-core: make browser installs it")
        axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
        self.page.evaluate(f"{axe}\n;0")

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


PASTE = """text => {
  const paste = new Event("paste", {bubbles: true, cancelable: true})
  paste.clipboardData = new DataTransfer()
  paste.clipboardData.setData("text/plain", text)
  document.activeElement.dispatchEvent(paste)
}"""
# What axe-core finds that is serious or critical: rule, element, what is wrong.
SERIOUS = """async () => (await axe.run()).violations.filter(({impact}) => ["serious", "critical"].includes(impact))
  .flatMap(({id, nodes}) => nodes.map((node) => [id, node.html.slice(0, 200), node.failureSummary]))"""
Browse = Callable[..., Tab]
