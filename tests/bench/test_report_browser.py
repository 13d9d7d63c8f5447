"""The page in a browser: not a word on the console, and not a request beyond the page itself."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pages import swept, trained
from small_data import kind_data

from augrecipes.bench.report.page import page
from augrecipes.bench.report.thumbnails import grid
from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--enable-logging=stderr", "--dump-dom",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on PATH")


class Visit(NamedTuple):
    """What a browser did."""

    document: str
    console: list[str]
    requests: list[str]


class _Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and remembers what was asked for."""

    def __init__(self, *args: Any, asked: list[str], **more: Any) -> None:
        self.asked = asked
        super().__init__(*args, **more)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")  # two pages of one second look the same to a cache
        super().end_headers()


@pytest.fixture
def visit(tmp_path: Path) -> Iterator[Any]:
    """Open a page from a server of its own: `visit(text)`."""
    asked: list[str] = []
    folder = tmp_path / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, asked=asked, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def go(text: str) -> Visit:
        (folder / "index.html").write_text(text, encoding="utf-8")
        asked.clear()
        done = subprocess.run(
            [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}",
             f"http://127.0.0.1:{server.server_port}/index.html"],
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return Visit(done.stdout, re.findall(r":CONSOLE.*", done.stderr), list(asked))

    yield go
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with all that it can hold."""
    recipe, data = kind_data("image", tmp_path_factory.mktemp("data"))
    recipes, setting = {"one": recipe, "two": recipe}, Setting(data)
    options = Options(["none", "exact"], stock=True, samples=4, seconds=0.01, ablate=True)
    names = tuple(recipes)
    report = replace(bench(recipes, setting, options), sweep=swept(names), training=trained(names)).to_json()
    images = grid(recipes, setting, {"one": "exact", "two": "exact"})
    return page(report, images, None)


def test_it_opens_without_a_word_or_a_request(visit: Any, text: str) -> None:
    found = visit(text)
    assert "Where a sample’s time goes" in found.document
    assert found.console == []
    assert found.requests == ["/index.html"]


def test_what_is_planted_is_seen(visit: Any, text: str) -> None:
    planted = '<script>document.title = "x"</script><img src="other.png"><img src="https://example.org/x.png"><footer>'
    found = visit(text.replace("<footer>", planted))
    assert len(found.console) == 3
    assert all("Content Security Policy" in line for line in found.console)
    assert found.requests == ["/index.html"]  # the policy holds
    without = re.sub("<meta http-equiv=.*>", "", text)
    assert "/other.png" in visit(without.replace("<footer>", planted)).requests
