"""Studios over a few drawn images, files of recipes, and tabs of a browser that look at them."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cv2
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from studio_pages import BROWSERS, RECIPE, Browse, Page, Tab, image_of

from augrecipes.studio.server import StudioServer
from augrecipes.studio.studio import open_studio


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder of four JPEGs and PNGs."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(4):
        assert cv2.imwrite(str(folder / f"{number}.{'png' if number % 2 else 'jpg'}"), image_of(number))
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A recipe's file that a page looks at."""
    found = tmp_path / "looked-at.yaml"
    found.write_text(RECIPE, encoding="utf-8")
    return found


@pytest.fixture
def open_page() -> Iterator[Callable[..., Page]]:
    """Opens pages of studios that are closed at the end."""
    with ExitStack() as stack:

        def page(recipe: Any = None, data: Any = None, **more: Any) -> Page:
            running = StudioServer(open_studio(recipe, data, **more))
            running.start()
            stack.callback(running.close)
            files = sorted(Path(data).rglob("*.*")) if isinstance(data, Path) and data.is_dir() else []
            return Page(running, files)

        yield page


@pytest.fixture
def page(open_page: Callable[..., Page], photos: Path) -> Page:
    """A page over the photos."""
    return open_page(None, photos)


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A browser for all tests that look at pages, Chromium unless `in_both` says which; else they are skipped."""
    driver = pytest.importorskip("playwright.sync_api", reason="no Playwright: make browser installs it")
    kind = getattr(request, "param", "chromium")
    names, options = BROWSERS[kind]
    path = next(filter(None, map(shutil.which, names)), None)
    with driver.sync_playwright() as started:
        try:
            found = getattr(started, kind).launch(executable_path=path, **options)
        except driver.Error as error:
            pytest.skip(f"no {kind}: {str(error).splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture
def browse(browser: Any) -> Iterator[Browse]:
    """Opens tabs; at the end nothing may have gone wrong on their pages."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    tabs: list[Tab] = []

    def tab(address: str) -> Tab:
        tabs.append(Tab(context.new_page()))
        return tabs[-1].open(address)

    yield tab
    context.close()
    assert [fault for one in tabs for fault in one.faults] == []


@pytest.fixture
def opened_page(open_page: Callable[..., Page], file: Path, photos: Path) -> Page:
    """A page of the file, over the photos."""
    return open_page(file, photos)


@pytest.fixture
def tab(opened_page: Page, browse: Browse) -> Tab:
    """The same in the browser, drawn."""
    found = browse(opened_page.running.address)
    found.drawn(12)
    return found
