"""The recipe's file is written whole, by whom it is meant to be, and not over somebody else's words."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from studio_pages import Page

import augrecipes as ar
from augrecipes import paths
from augrecipes.errors import AugrecipesError, RecipeError
from augrecipes.studio import server
from augrecipes.studio.studio import NEW, opened

ROOT = Path(__file__).parents[2]
TEXT = "version: 1\nrecipe: mine\nsteps: [HorizontalFlip]\neval: derived\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "mine.yaml"
    made.write_text(TEXT)
    return made


def test_saving_writes_the_file(open_page: Callable[..., Page], photos: Path, file: Path) -> None:
    file.chmod(0o640)
    page = open_page(file, photos)
    read = page.get("/api/recipe")
    assert read["text"] == TEXT
    new = TEXT.replace("mine", "other")
    reply = page.ask("PUT", "/api/recipe", {"text": new, "base_sha": read["sha"]})
    assert reply.status == 200
    assert file.read_text() == new
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert page.get("/api/alive")["sha"] == reply.json["sha"] == page.get("/api/recipe")["sha"]
    assert sorted(path.name for path in file.parent.iterdir()) == ["mine.yaml", "photos"]


def test_a_file_that_changed_is_not_written_over(open_page: Callable[..., Page], photos: Path, file: Path) -> None:
    page = open_page(file, photos)
    read = page.get("/api/recipe")
    file.write_text(TEXT.replace("mine", "theirs"))
    assert page.get("/api/alive")["sha"] != read["sha"]
    mine = TEXT.replace("mine", "ours")
    for base in (read["sha"], None, "", 3):
        reply = page.ask("PUT", "/api/recipe", {"text": mine, "base_sha": base})
        assert reply.status == 409
        assert reply.json["error"]["code"] == "changed"
        assert {"-recipe: theirs", "+recipe: ours"} <= set(reply.json["diff"].splitlines())
    assert "theirs" in file.read_text()
    file.unlink()
    assert page.ask("PUT", "/api/recipe", {"text": mine, "base_sha": read["sha"]}).status == 409
    assert not file.exists()
    assert page.ask("PUT", "/api/recipe", {"text": mine, "base_sha": read["sha"], "force": True}).status == 200
    assert file.read_text() == mine


def test_read_only_cannot_write(open_page: Callable[..., Page], photos: Path, file: Path) -> None:
    page = open_page(file, photos, read_only=True)
    read = page.get("/api/recipe")
    assert read["read_only"] is True
    for force in (False, True):
        body = {"text": "version: 1\n", "base_sha": read["sha"], "force": force}
        assert page.ask("PUT", "/api/recipe", body).status == 403
    before = {path: path.stat().st_mtime_ns for path in file.parent.rglob("*")}
    for path in ("draws", "stages", "check", "cost", "export", "slide", "import"):
        page.ask(
            "POST", f"/api/{path}", {"text": TEXT, "as": "python", "name": "x", "path": "steps.0", "argument": "p"}
        )
    assert {path: path.stat().st_mtime_ns for path in file.parent.rglob("*")} == before


def test_nothing_is_half_written(
    open_page: Callable[..., Page], photos: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(file, photos)
    read = page.get("/api/recipe")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(paths.os, "fsync", full)
    reply = page.ask("PUT", "/api/recipe", {"text": TEXT * 2, "base_sha": read["sha"]})
    assert reply.status == 422
    assert "No space left" in reply.json["error"]["message"]
    assert file.read_text() == TEXT


def test_line_ends_and_marks_stay(open_page: Callable[..., Page], photos: Path, file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    page = open_page(file, photos)
    read = page.get("/api/recipe")
    assert read["text"] == TEXT
    assert page.ask("PUT", "/api/recipe", {"text": TEXT + "# x\n", "base_sha": read["sha"]}).status == 200
    assert file.read_bytes() == (TEXT + "# x\n").replace("\n", "\r\n").encode()


def test_a_gallery_recipe_is_never_written(page: Page, open_page: Callable[..., Page], photos: Path) -> None:
    for one in (page, open_page("folder-128", photos)):
        reply = one.ask("PUT", "/api/recipe", {"text": TEXT, "base_sha": "", "force": True})
        assert (reply.status, reply.json["error"]["code"]) == (409, "no-file")


def test_what_can_be_opened(tmp_path: Path) -> None:
    new = opened(tmp_path / "new.yaml")
    assert (new.file, new.text) == (tmp_path / "new.yaml", NEW)
    assert opened(None).text == NEW
    assert opened(TEXT).text == TEXT
    assert ar.load(opened(ar.load(TEXT)).text) == ar.load(TEXT)
    assert ar.load(opened({"version": 1, "recipe": "x", "steps": ["D4"]}).text).name == "x"
    for wrong in (tmp_path, tmp_path / "no" / "such.yaml", "folder-129"):
        with pytest.raises(RecipeError):
            opened(wrong)


def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("uvicorn", "starlette.applications"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            for module in [one for one in sys.modules if one == "augrecipes.studio.app"]:
                patch.delitem(sys.modules, module)
            with pytest.raises(AugrecipesError, match=r"pip install 'augrecipes\[studio\]'"):
                server.StudioServer(opened(None))


def test_the_default_install_does_not_need_it() -> None:
    code = (
        "import sys; sys.modules.update(starlette=None, uvicorn=None)\nfrom augrecipes.cli import main\nmain(['list'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_a_taken_port_is_said(page: Page) -> None:
    with pytest.raises(AugrecipesError, match="--port 0 takes a free one"):
        server.StudioServer(opened(None), page.running.port)


def test_a_notebook_shows_the_page(photos: Path) -> None:
    view = ar.studio(TEXT, photos, height=500)
    try:
        page = Page(view)
        assert page.get("/api/recipe")["text"] == view.recipe() == TEXT
        html = view._repr_html_()
        assert f'src="{view.address}"' in html
        assert "height:500px" in html
        assert view.address in repr(view)
    finally:
        view.close()
    with pytest.raises(OSError):
        page.ask("GET", "/api/alive")
