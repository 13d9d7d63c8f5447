"""The page through the life of a server: killed and started again, seen by two tabs; and the file is written whole."""

import http.server
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from studio_pages import PATIENCE, QUICK, RECIPE, Browse, Page, Tab, in_both

import augrecipes as ar
from augrecipes import paths
from augrecipes.errors import AugrecipesError, RecipeError
from augrecipes.studio import server
from augrecipes.studio.studio import NEW, open_studio

EDITED = RECIPE.replace("25", "33")


@pytest.fixture
def start(file: Path, photos: Path, tmp_path: Path) -> Iterator[Callable[..., tuple[Any, str]]]:
    """Starts the command as people do; what is left is killed at the end."""
    command = [sys.executable, "-m", "augrecipes", "studio", str(file), "--data", str(photos), "--no-open", "--port"]
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    begun: list[Any] = []

    def started(port: int = 0) -> tuple[Any, str]:
        process: Any = subprocess.Popen([*command, str(port)], stdout=subprocess.PIPE, text=True, env=environment)
        begun.append(process)
        return process, next(found.group() for line in process.stdout if (found := re.search(r"http://\S+", line)))

    yield started
    for process in begun:
        process.kill()
        process.communicate()


@in_both
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
    other = browse(address)  # the new address, as the browser opens it by itself: the old tab learns from it
    tab.until("document.querySelector('#server').dataset.state === 'here'")
    assert tab.text == EDITED
    tab.saved(False)
    tab.until("!document.querySelector('.cell[data-stale]')")
    other.page.close()
    tab.page.click("#editor .cm-content")
    tab.page.keyboard.press("Control+s")
    tab.saved()
    assert file.read_text(encoding="utf-8") == EDITED


@in_both
def test_what_was_typed_outlives_a_reload_and_a_closed_tab(opened_page: Page, browse: Browse, file: Path) -> None:
    tab = browse(opened_page.running.address)
    tab.write(EDITED)
    tab.saved(False)
    tab.page.reload()
    tab.saved(False)
    assert tab.text == EDITED
    tab.page.close()
    again = browse(opened_page.running.address)
    again.saved(False)
    assert again.text == EDITED
    assert file.read_text(encoding="utf-8") == RECIPE


@in_both
def test_two_tabs_do_not_write_over_each_other(opened_page: Page, tab: Tab, browse: Browse, file: Path) -> None:
    other = browse(opened_page.running.address)
    other.drawn(12)
    tab.write(EDITED)
    other.write(RECIPE.replace("25", "44"))
    assert tab.text == EDITED
    tab.page.keyboard.press("Control+s")
    tab.saved()
    other.page.keyboard.press("Control+s")
    other.page.wait_for_selector("dialog .difference", timeout=PATIENCE)
    assert file.read_text(encoding="utf-8") == EDITED
    other.page.click("dialog >> text=Use the file's text")
    other.saved()
    assert other.text == EDITED
    tab.drawn(12)
    other.write(RECIPE.replace("25", "44"))
    other.saved(False)  # a tab in which nothing was typed would follow the file
    file.write_text(RECIPE.replace("25", "11"), encoding="utf-8")
    other.page.keyboard.press("Control+s")
    for name in ("added", "removed"):
        other.page.wait_for_selector(f"dialog .difference .{name}", timeout=PATIENCE)
    assert "limit: 11" in file.read_text(encoding="utf-8")
    other.page.click("dialog >> text=Overwrite the file")
    other.saved()
    assert file.read_text(encoding="utf-8") == RECIPE.replace("25", "44")


@in_both
def test_a_tab_in_which_nothing_was_typed_follows_the_file(tab: Tab, file: Path) -> None:
    file.write_text(EDITED, encoding="utf-8")
    tab.until("document.querySelector('#editor').innerText.includes('limit: 33')")
    assert tab.text == EDITED


@contextmanager
def served_elsewhere(folder: Path, html: str) -> Iterator[int]:
    """A server of somebody else's page; its port."""
    folder.mkdir()
    (folder / "index.html").write_text(html, encoding="utf-8")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@in_both
def test_a_page_elsewhere_cannot_drive_it(opened_page: Page, tab: Tab, file: Path, tmp_path: Path) -> None:
    html = Path(__file__).with_name("elsewhere.html").read_text(encoding="utf-8")
    html = html.replace("STUDIO", f"http://127.0.0.1:{opened_page.running.port}")
    with served_elsewhere(tmp_path / "elsewhere", html) as port:
        for host in ("127.0.0.1", "localhost"):
            foreign = Tab(tab.page.context.new_page())
            foreign.page.goto(f"http://{host}:{port}/")
            foreign.until("Boolean(window.found)")
            found = foreign.page.evaluate("window.found")
            assert {found[name] for name in ("read", "put", "page", "token")} == {"refused"}
            assert found["blind"] in ("opaque", "refused")
            foreign.page.close()
    assert file.read_text(encoding="utf-8") == RECIPE
    assert tab.text == RECIPE


@in_both
def test_without_its_token_the_page_shows_nothing(opened_page: Page, browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(opened_page.running.address)
    assert "token" not in page.url  # the page takes it out of the address bar
    page.evaluate("localStorage.clear()")
    page.goto(f"http://127.0.0.1:{opened_page.running.port}/")
    page.wait_for_selector(".stranger", timeout=PATIENCE)
    assert "token" in page.inner_text(".stranger")
    assert page.locator(".cell").count() == 0
    assert "Rotate" not in page.inner_text("body")
    context.close()


# Chromium alone: the driver does not see into Firefox's frames of other addresses.
def test_the_page_works_inside_a_frame_of_a_notebook(opened_page: Page, tab: Tab, tmp_path: Path) -> None:
    with served_elsewhere(tmp_path / "notebook", f"<!doctype html>{opened_page.running._repr_html_()}") as port:
        page = tab.page.context.new_page()
        page.goto(f"http://localhost:{port}/")
        frame = page.frame_locator("iframe")
        frame.locator(".cell img[data-url]").first.wait_for(timeout=PATIENCE)
        frame.locator("#tab-stages").click()
        frame.locator(".stage-card img[data-url]").first.wait_for(timeout=PATIENCE)


@in_both
def test_a_recipe_without_a_file_is_not_said_to_have_changed_on_disk(
    open_page: Any, browse: Browse, photos: Path
) -> None:
    tab = browse(open_page("folder-128", photos).running.address)
    tab.drawn(12)
    with tab.page.expect_response("**/api/alive", timeout=PATIENCE):
        pass
    tab.page.wait_for_timeout(200)
    assert tab.page.inner_text("#notices") == ""


ROOT = Path(__file__).parents[2]
OURS, THEIRS = (RECIPE.replace("looked-at", name) for name in ("ours", "theirs"))


def put(page: Page, text: str, sha: object, **more: object) -> int:
    """Save a text; the status of the answer."""
    return page.ask("PUT", "/api/recipe", {"text": text, "base_sha": sha, **more}).status


def test_saving_writes_the_file(opened_page: Page, file: Path) -> None:
    file.chmod(0o640)
    read = opened_page.get("/api/recipe")
    assert read["text"] == RECIPE
    reply = opened_page.ask("PUT", "/api/recipe", {"text": OURS, "base_sha": read["sha"]})
    assert reply.status == 200
    assert file.read_text() == OURS
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert opened_page.get("/api/alive")["sha"] == reply.json["sha"] == opened_page.get("/api/recipe")["sha"]
    assert sorted(path.name for path in file.parent.iterdir()) == [file.name, "photos"]


def test_a_file_that_changed_is_not_written_over(opened_page: Page, file: Path) -> None:
    sha = opened_page.get("/api/recipe")["sha"]
    file.write_text(THEIRS)
    assert opened_page.get("/api/alive")["sha"] != sha
    for base in (sha, None, "", 3):
        reply = opened_page.ask("PUT", "/api/recipe", {"text": OURS, "base_sha": base})
        assert (reply.status, reply.json["error"]["code"]) == (409, "changed")
        assert {"-recipe: theirs", "+recipe: ours"} <= set(reply.json["diff"].splitlines())
    assert file.read_text() == THEIRS
    file.unlink()
    assert put(opened_page, OURS, sha) == 409
    assert not file.exists()
    assert put(opened_page, OURS, sha, force=True) == 200
    assert file.read_text() == OURS


def test_read_only_cannot_write(open_page: Callable[..., Page], photos: Path, file: Path) -> None:
    page = open_page(file, photos, read_only=True)
    read = page.get("/api/recipe")
    assert read["read_only"] is True
    before = {path: path.stat().st_mtime_ns for path in file.parent.rglob("*")}
    assert [put(page, OURS, read["sha"], force=force) for force in (False, True)] == [403, 403]
    body = {"text": RECIPE, "as": "python", "name": "x", "path": "steps.0", "argument": "p"}
    for path in ("draws", "stages", "check", "cost", "export", "slide", "import"):
        assert page.ask("POST", f"/api/{path}", body).status == 200
    assert {path: path.stat().st_mtime_ns for path in file.parent.rglob("*")} == before


def test_nothing_is_half_written(opened_page: Page, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    sha = opened_page.get("/api/recipe")["sha"]
    monkeypatch.setattr(paths.os, "fsync", full)
    reply = opened_page.ask("PUT", "/api/recipe", {"text": OURS, "base_sha": sha})
    assert reply.status == 422
    assert "No space left" in reply.json["error"]["message"]
    assert file.read_text() == RECIPE


def test_line_ends_stay(opened_page: Page, file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + RECIPE.replace("\n", "\r\n").encode())
    read = opened_page.get("/api/recipe")
    assert read["text"] == RECIPE
    assert put(opened_page, OURS, read["sha"]) == 200
    assert file.read_bytes() == OURS.replace("\n", "\r\n").encode()


def test_a_gallery_recipe_is_never_written(page: Page, open_page: Callable[..., Page], photos: Path) -> None:
    for one in (page, open_page("folder-128", photos)):
        reply = one.ask("PUT", "/api/recipe", {"text": QUICK, "base_sha": "", "force": True})
        assert (reply.status, reply.json["error"]["code"]) == (409, "no-file")


def test_what_can_be_opened(tmp_path: Path) -> None:
    new = open_studio(tmp_path / "new.yaml")
    assert (new.file, new.text) == (tmp_path / "new.yaml", NEW)
    assert open_studio(None).text == NEW
    assert open_studio(QUICK).text == QUICK
    assert ar.load(open_studio(ar.load(QUICK)).text) == ar.load(QUICK)
    assert ar.load(open_studio({"version": 1, "recipe": "x", "steps": ["D4"]}).text).name == "x"
    for wrong in (tmp_path, tmp_path / "no" / "such.yaml", "folder-129"):
        with pytest.raises(RecipeError):
            open_studio(wrong)


def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("uvicorn", "starlette.applications"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            patch.delitem(sys.modules, "augrecipes.studio.app", raising=False)
            with pytest.raises(AugrecipesError, match=r"pip install 'augrecipes\[studio\]'"):
                server.StudioServer(open_studio(None))
    code = (
        "import sys; sys.modules.update(starlette=None, uvicorn=None)\nfrom augrecipes.cli import main; main(['list'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr  # the default install does not need it


def test_a_taken_port_is_said(page: Page) -> None:
    with pytest.raises(AugrecipesError, match="Address already in use; --port 0 takes a free one"):
        server.StudioServer(open_studio(None), page.running.port)


def test_a_notebook_shows_the_page(photos: Path) -> None:
    view = ar.studio(QUICK, photos, height=500)
    page, html = Page(view), view._repr_html_()
    assert page.get("/api/recipe")["text"] == view.recipe() == QUICK
    assert f'src="{view.address}"' in html
    assert "height:500px" in html
    assert view.address in repr(view)
    view.close()
    with pytest.raises(OSError):
        page.ask("GET", "/api/alive")
