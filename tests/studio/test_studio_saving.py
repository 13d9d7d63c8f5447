"""The recipe's file is written whole, by whom it is meant to be, and not over somebody else's words."""

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from studio_pages import QUICK, RECIPE, Page

import augrecipes as ar
from augrecipes import paths
from augrecipes.errors import AugrecipesError, RecipeError
from augrecipes.studio import server
from augrecipes.studio.studio import NEW, opened

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
    new = opened(tmp_path / "new.yaml")
    assert (new.file, new.text) == (tmp_path / "new.yaml", NEW)
    assert opened(None).text == NEW
    assert opened(QUICK).text == QUICK
    assert ar.load(opened(ar.load(QUICK)).text) == ar.load(QUICK)
    assert ar.load(opened({"version": 1, "recipe": "x", "steps": ["D4"]}).text).name == "x"
    for wrong in (tmp_path, tmp_path / "no" / "such.yaml", "folder-129"):
        with pytest.raises(RecipeError):
            opened(wrong)


def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("uvicorn", "starlette.applications"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            patch.delitem(sys.modules, "augrecipes.studio.app", raising=False)
            with pytest.raises(AugrecipesError, match=r"pip install 'augrecipes\[studio\]'"):
                server.StudioServer(opened(None))
    code = (
        "import sys; sys.modules.update(starlette=None, uvicorn=None)\nfrom augrecipes.cli import main; main(['list'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr  # the default install does not need it


def test_a_taken_port_is_said(page: Page) -> None:
    with pytest.raises(AugrecipesError, match="Address already in use; --port 0 takes a free one"):
        server.StudioServer(opened(None), page.running.port)


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
