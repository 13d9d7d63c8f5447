"""The page through the life of a server: killed and started again, seen by two tabs, and asked by pages elsewhere."""

from __future__ import annotations

import http.server
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pages import PATIENCE, RECIPE, Browse

EDITED = RECIPE.replace("25", "33")


@pytest.fixture
def start(file: Path, photos: Path, tmp_path: Path) -> Iterator[Callable[..., tuple[Any, str]]]:
    """Starts the command as people do; what is left is killed at the end."""
    with ExitStack() as stack:

        def started(port: int = 0) -> tuple[Any, str]:
            options = ["--data", photos, "--no-open", "--port", port]
            command = [sys.executable, "-m", "augrecipes", "studio", file, *options]
            environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
            process = stack.enter_context(
                subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True, env=environment)
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"http://\S+", line):
                    return process, found.group()
            raise AssertionError("the studio did not start")

        yield started


def test_a_server_that_is_killed_and_started_again_loses_nothing(start: Any, browse: Browse, file: Path) -> None:
    process, address = start()
    port = int(re.search(r":(\d+)/", address)[1])  # type: ignore[index]
    tab = browse(address)
    tab.drawn(12)
    process.kill()
    process.wait()
    tab.until("document.querySelector('#server').dataset.state === 'away'")
    assert "does not answer" in tab.page.inner_text("#notices")
    tab.write(EDITED)
    _, address = start(port)
    other = None
    if address.rpartition("=")[2] != tab.page.evaluate("JSON.parse(localStorage['studio.token'])"):
        other = browse(address)  # the new address, as the browser opens it by itself: the old tab learns from it
    tab.until("document.querySelector('#server').dataset.state === 'here'")
    assert tab.text == EDITED
    tab.until("document.querySelector('#file-state').textContent === 'not saved'")
    tab.until("!document.querySelector('.cell[data-stale]')")
    if other is not None:
        other.page.close()
    tab.page.click("#editor .cm-content")
    tab.page.keyboard.press("Control+s")
    tab.until("document.querySelector('#file-state').textContent === 'saved'")
    assert file.read_text(encoding="utf-8") == EDITED


def test_what_was_typed_outlives_a_reload_and_a_closed_tab(
    open_page: Any, browse: Browse, file: Path, photos: Path
) -> None:
    address = open_page(file, photos).running.address
    tab = browse(address)
    tab.write(EDITED)
    tab.until("document.querySelector('#file-state').textContent === 'not saved'")
    tab.page.reload()
    tab.until("document.querySelector('#file-state').textContent === 'not saved'")
    assert tab.text == EDITED
    tab.page.close()
    again = browse(address)
    again.until("document.querySelector('#file-state').textContent === 'not saved'")
    assert again.text == EDITED
    assert file.read_text(encoding="utf-8") == RECIPE


def test_two_tabs_do_not_write_over_each_other(open_page: Any, browse: Browse, file: Path, photos: Path) -> None:
    address = open_page(file, photos).running.address
    one, other = browse(address), browse(address)
    one.drawn(12)
    other.drawn(12)
    one.write(EDITED)
    other.write(RECIPE.replace("25", "44"))
    assert one.text == EDITED
    one.page.keyboard.press("Control+s")
    one.until("document.querySelector('#file-state').textContent === 'saved'")
    other.page.keyboard.press("Control+s")
    other.page.wait_for_selector("dialog .difference", timeout=PATIENCE)
    assert file.read_text(encoding="utf-8") == EDITED
    other.page.click("dialog >> text=Take the file's text")
    other.until("document.querySelector('#file-state').textContent === 'saved'")
    assert other.text == EDITED
    one.drawn(12)
    other.drawn(12)


def test_a_tab_in_which_nothing_was_typed_follows_the_file(
    open_page: Any, browse: Browse, file: Path, photos: Path
) -> None:
    tab = browse(open_page(file, photos).running.address)
    tab.drawn(12)
    file.write_text(EDITED, encoding="utf-8")
    tab.until("document.querySelector('#editor').innerText.includes('limit: 33')")
    assert tab.text == EDITED


FOREIGN = """<!doctype html><title>elsewhere</title><body><script type="module">
const studio = "%s", found = {}
const attempt = async (name, work) => {
  try { found[name] = String(await work()) } catch (error) { found[name] = "refused" }
}
const headers = {"X-Studio-Token": "guessed", "Content-Type": "application/json"}
const body = JSON.stringify({text: "stolen", base_sha: "", force: true})
await attempt("read", async () => (await fetch(studio + "/api/recipe")).text())
await attempt("put", async () => (await fetch(studio + "/api/recipe", {method: "PUT", headers, body})).status)
await attempt("blind", async () => (await fetch(studio + "/api/recipe", {method: "POST", mode: "no-cors", body})).type)
await attempt("page", async () => (await fetch(studio + "/")).text())
await attempt("token", async () => {
  const frame = document.createElement("iframe")
  frame.src = studio + "/"
  document.body.append(frame)
  await new Promise((done) => { frame.onload = done; setTimeout(done, 3000) })
  return frame.contentWindow.localStorage.length
})
const form = document.createElement("form")
const target = document.createElement("iframe")
target.name = "target"
document.body.append(target)
Object.assign(form, {action: studio + "/api/recipe", method: "post", enctype: "text/plain", target: "target"})
form.append(Object.assign(document.createElement("input"), {name: body, value: ""}))
document.body.append(form)
form.submit()
await new Promise((done) => setTimeout(done, 500))
window.found = found
</script>"""


@contextmanager
def served_elsewhere(html: str) -> Iterator[int]:
    """A server of somebody else's, all of whose pages are `html`; its port."""

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = html.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def test_a_page_elsewhere_in_the_same_browser_cannot_drive_it(
    open_page: Any, browse: Browse, browser: Any, file: Path, photos: Path
) -> None:
    opened = open_page(file, photos)
    tab = browse(opened.running.address)
    tab.drawn(12)
    with served_elsewhere(FOREIGN % f"http://127.0.0.1:{opened.running.port}") as port:
        for host in ("127.0.0.1", "localhost"):
            foreign = tab.page.context.new_page()
            foreign.goto(f"http://{host}:{port}/")
            for _ in range(PATIENCE // 50):
                if foreign.evaluate("Boolean(window.found)"):
                    break
                foreign.wait_for_timeout(50)
            found = foreign.evaluate("window.found")
            assert {name: found[name] for name in ("read", "put", "page", "token")} == dict.fromkeys(
                ("read", "put", "page", "token"), "refused"
            )
            assert found["blind"] in ("opaque", "refused")
            foreign.close()
    assert file.read_text(encoding="utf-8") == RECIPE
    assert tab.text == RECIPE


def test_without_its_token_the_page_shows_nothing(open_page: Any, browser: Any, file: Path, photos: Path) -> None:
    opened = open_page(file, photos)
    context = browser.new_context()
    page = context.new_page()
    page.goto(opened.running.address)
    assert "token" not in page.url  # the page takes it out of the address bar
    page.evaluate("localStorage.clear()")
    page.goto(f"http://127.0.0.1:{opened.running.port}/")
    page.wait_for_selector(".stranger", timeout=PATIENCE)
    assert "token" in page.inner_text(".stranger")
    assert page.locator(".cell").count() == 0
    assert "Rotate" not in page.inner_text("body")
    context.close()


def test_the_page_works_inside_a_frame_of_a_notebook(open_page: Any, browse: Browse, file: Path, photos: Path) -> None:
    address = open_page(file, photos).running.address
    html = f"<!doctype html><iframe src='{address}' width=1100 height=700></iframe>"
    with served_elsewhere(html) as port:
        tab = browse(address)
        page = tab.page.context.new_page()
        page.goto(f"http://localhost:{port}/")
        frame = page.frame_locator("iframe")
        frame.locator(".cell img[data-url]").first.wait_for(timeout=PATIENCE)
        frame.locator("#tab-stages").click()
        frame.locator(".stage-card img[data-url]").first.wait_for(timeout=PATIENCE)


def test_a_recipe_without_a_file_is_not_said_to_have_changed_on_disk(
    open_page: Any, browse: Browse, photos: Path
) -> None:
    tab = browse(open_page("folder-128", photos).running.address)
    tab.drawn(12)
    with tab.page.expect_response("**/api/alive", timeout=PATIENCE):
        pass
    tab.page.wait_for_timeout(200)
    assert tab.page.inner_text("#notices") == ""
