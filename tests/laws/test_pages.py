"""Laws of what notebooks show: any object has a page, safe whatever files, labels and recipes are called, and short."""

import ast
import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_recipes import recipes, steps_for

import augrecipes as ar
from augrecipes.notebook import pages
from augrecipes.recipe.parse import parse_text
from augrecipes.report import Displayed

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

TAGS = {
    *("style", "div", "header", "b", "p", "small", "img", "table", "tr", "td", "th", "h4"),
    *("details", "summary", "pre", "i", "span", "ul", "li"),
}
ATTRIBUTES = {"class", "style", "src", "alt", "width", "height", "title"}
MOST_CHARACTERS = 400_000
LONGEST_REPR = 400

NASTY = (
    "<script>alert(1)<", "\"><img src=x onerror=alert(1)>", "' onload='x", "&lt;b&gt;", "</style><style>*{}",
    "\x1b[31mred", "two\nlines", "\u202eright to left", "${7*7}{{7*7}}", "javascript:alert(1)", "名前 é", "<!--",
)  # fmt: skip
# What files can be called.
names = (
    st.sampled_from(NASTY).map(lambda name: name.replace("/", "|"))
    | st.text(st.characters(exclude_characters="/\x00", exclude_categories=("Cs",)), min_size=1, max_size=24)
).filter(lambda name: name.strip(".") == name)


class Page(HTMLParser):
    """A page taken apart: what is open, and everything that should not be in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.text = ""
        self.pictures = 0
        self.feed(text)
        self.close()
        self.faults += [f"{tag} stays open" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.faults += [f"<{tag}>"] if tag not in TAGS else []
        self.faults += [f"{tag} {key}" for key, _ in attrs if key not in ATTRIBUTES]
        for key, value in attrs:
            if key == "src" and not re.fullmatch(r"data:image/jpeg;base64,[A-Za-z0-9+/=]+", value or ""):
                self.faults.append(f"{key}={value}")
            if key == "style" and re.search("url|expression|;.*;.*;", value or ""):
                self.faults.append(f"{key}={value}")
        if tag != "img":
            self.open.append(tag)
        self.pictures += tag == "img"

    def handle_endtag(self, tag: str) -> None:
        if tag != "img" and (not self.open or self.open.pop() != tag):
            self.faults.append(f"</{tag}> is not open")

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"<!--{data}")

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def page_of(value: Displayed) -> Page:
    """The page of an object, which is one, and safe; and its `repr`, which is a short line."""
    text = value._repr_html_()
    text.encode("utf-8")
    assert len(text) < MOST_CHARACTERS
    page = Page(text)
    assert page.faults == []
    assert "it cannot be shown" not in page.text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
    return page


@settings(max_examples=max(6, settings.default.max_examples // 25))
@given(recipes(steps_for(3)), st.text(max_size=30))
def test_any_recipe_has_a_page(recipe: ar.Recipe, about: str) -> None:
    recipe = replace(recipe, about=about, eval=())
    page = page_of(recipe)
    assert "law" in page.text
    assert page.pictures or "without images" in page.text
    line = repr(recipe)
    assert "\n" not in line
    assert len(line) < LONGEST_REPR


@pytest.mark.parametrize("name", ar.gallery_names())
def test_the_gallery_is_shown_with_images(name: str) -> None:
    """As a recipe, and in one of the other ways, which the recipes take by turns."""
    recipe = ar.load(name)
    others: list[Callable[[], Displayed]] = [
        lambda: recipe.compile(seed=3), lambda: ar.explain(recipe), lambda: recipe.show(stages=True),
        lambda: recipe.compile("eval"),
    ]  # fmt: skip
    for value in (recipe, others[ar.gallery_names().index(name) % 4]()):
        assert page_of(value).pictures


RECIPE = "{version: 1, recipe: tiny, steps: [HorizontalFlip], eval: []}"


def folder_of(root: Path, classes: list[str], file: str) -> Path:
    for k, name in enumerate(dict.fromkeys(classes)):
        (root / name).mkdir(parents=True)
        cv2.imwrite(str(root / name / "a.png"), np.full((20 + k, 30, 3), 40 * k, np.uint8))
        (root / name / "a.png").rename(root / name / f"{file}.png")
    return root


@settings(max_examples=12)
@given(st.lists(names, min_size=1, max_size=4), names)
def test_names_of_files_and_classes_are_text(
    tmp_path_factory: pytest.TempPathFactory, classes: list[str], file: str
) -> None:
    root = folder_of(tmp_path_factory.mktemp("named"), classes, file)
    ds = ar.ImageFolder(root, parse_text(RECIPE), cache=False)
    for value in (ds, ds.show(4), ds.show(draws=2), ds.show(stages=True), ar.loader(ds, batch_size=2)):
        assert page_of(value).pictures
    assert "\n" not in repr(ds.show(1))


def test_a_page_that_does_not_escape_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ds = ar.ImageFolder(folder_of(tmp_path, [NASTY[1]], "a"), parse_text(RECIPE), cache=False)
    assert page_of(ds)
    monkeypatch.setattr(pages, "ENVIRONMENT", pages.ENVIRONMENT.overlay(autoescape=False))
    with pytest.raises(AssertionError, match="onerror"):
        page_of(ds)


def test_texts_of_recipes_are_text() -> None:
    hostile = ar.load({"version": 1, "recipe": "a", "about": NASTY[1], "steps": ["HorizontalFlip"]})
    other = ar.load(hostile.to_yaml().replace("HorizontalFlip", "VerticalFlip"))
    for value in (hostile, hostile.compile(), ar.explain(other), ar.diff(hostile, other), hostile.show()):
        assert page_of(value).pictures


class _Unlucky(Displayed):
    def __init__(self, answer: Callable[[], str]) -> None:
        self.answer = answer

    def __repr__(self) -> str:
        return self.answer()


def test_a_page_never_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no page" in _Unlucky(lambda: "no page <b>")._repr_html_()
    assert Page(_Unlucky(lambda: "no page <b>")._repr_html_()).faults == []
    assert "_Unlucky" in _Unlucky(lambda: str(1 / 0))._repr_html_()
    recipe = ar.load("folder-128")

    def broken(*_: Any, **__: Any) -> Any:
        raise OSError("<i>disk</i>")

    monkeypatch.setattr(pages, "of_recipe", broken)
    page = Page(recipe._repr_html_())
    assert page.faults == []
    assert "<Recipe folder-128" in page.text
    assert "it cannot be shown: OSError" in page.text


def test_data_that_cannot_be_read_have_a_page_without_images(tmp_path: Path) -> None:
    root = folder_of(tmp_path, ["a", "b"], "x")
    for file in root.rglob("*.png"):
        file.write_bytes(b"\x89PNG\r\n\x1a\n<script>")
    page = page_of(ar.ImageFolder(root, parse_text(RECIPE), cache=False))
    assert page.pictures == 0
    assert "without images" in page.text


def test_steps_that_make_huge_images_are_not_run() -> None:
    recipe = parse_text("{version: 1, recipe: huge, steps: [Resize: {height: 8000, width: 8000}], eval: []}")
    page = page_of(recipe)
    assert page.pictures == 0
    assert "without images" in page.text


def test_a_page_reads_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    for k in range(40):
        cv2.imwrite(str(tmp_path / f"{k:02d}.png"), np.zeros((40, 50 if k % 2 else 30, 3), np.uint8))
    ds = ar.ImageFolder(tmp_path, parse_text(RECIPE), cache=False)
    given = ar.ImageFolder.given
    monkeypatch.setattr(ar.ImageFolder, "given", lambda self, row, **how: read.append(row) or given(self, row, **how))
    assert page_of(ds).pictures
    assert 0 < len(set(read)) <= 8


def test_looking_changes_no_sample(tmp_path: Path) -> None:
    ds = ar.ImageFolder(folder_of(tmp_path, ["a", "b", "c"], "x"), parse_text(RECIPE), cache=False)
    loader = ar.loader(ds, batch_size=2, shuffle=True, seed=1, collate="list")
    before = [batch["index"].tolist() for batch in ar.loader(ds, batch_size=2, shuffle=True, seed=1, collate="list")]
    first = ds.pipeline(image=np.arange(900, dtype=np.uint8).reshape(20, 15, 3))
    again = ar.ImageFolder(tmp_path, parse_text(RECIPE), cache=False)
    page_of(again), page_of(loader), page_of(again.pipeline), again.show(), again.show(draws=2)
    assert [batch["index"].tolist() for batch in loader] == before
    second = again.pipeline(image=np.arange(900, dtype=np.uint8).reshape(20, 15, 3))
    np.testing.assert_array_equal(first["image"], second["image"])


ROOT = Path(__file__).parents[2]
TOUR = ROOT / "docs" / "tour.ipynb"
SHOWN = 14  # cells that end in something to look at


def code_of(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") for cell in cells), "what it shows is drawn anew, not committed"
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run_cell(text: str, names: dict[str, Any]) -> Any:
    """Run a cell as notebooks do; the value of its last line, where that is an expression."""
    body = ast.parse(text).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


def test_every_cell_runs_and_shows_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names: dict[str, Any] = {}
    cells = [text.replace("epochs=4, seeds=6", "epochs=1, seeds=2").replace("=0.3", "=0.03") for text in code_of(TOUR)]
    assert cells != code_of(TOUR)
    shown = [value for text in cells if (value := run_cell(text, names)) is not None]
    pages = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(pages) == SHOWN
    assert not [page for page in pages if "cannot be shown" in page or "without images" in page]
    assert sum("<img" in page for page in pages) == SHOWN - 2  # a comparison and a trial have bars
    assert all(len(repr(value)) < 400 for value in shown)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.filterwarnings("ignore")
def test_jupyter_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    notebook = nbformat.read(TOUR, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    assert not [out for out in outputs if out.output_type == "error"]
    pages = [out.data["text/html"] for out in outputs if "text/html" in out.get("data", {})]
    assert len(pages) == SHOWN
