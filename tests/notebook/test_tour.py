"""The notebook in docs/, run from top to bottom: with Jupyter where it is installed, and always without."""

from __future__ import annotations

import ast
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
TOUR = ROOT / "docs" / "tour.ipynb"
PAGES = 13  # cells that end in something to look at


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
    shown = [value for text in code_of(TOUR) if (value := run_cell(text, names)) is not None]
    pages = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(pages) == PAGES
    assert not [page for page in pages if "cannot be shown" in page or "without images" in page]
    assert sum("<img" in page for page in pages) == PAGES - 1  # a comparison has bars
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
    assert len(pages) == PAGES
