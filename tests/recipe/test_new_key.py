"""A key of recipes is declared once: with one line more in the model it is read, written, and in schema and digest."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from augrecipes.recipe.model import KEYS

ROOT = Path(__file__).parents[2]
BEFORE = "    scales: Arguments = key("
DECLARED = """    sharpness: int = key({"type": "integer", "minimum": 1}, "A new key.", 3)
    remark: str = key(TEXT, "Another one.", "", changes="run")
"""
PROGRAM = """
import augrecipes as ar
import recipe_schema

HEAD = "version: 1\\nrecipe: a\\nmax_bytes: 9\\n"
plain = ar.load(HEAD + "steps: []")
both = ar.load(HEAD + "remark: sharp\\nsharpness: 5\\nsteps: []")
assert (plain.sharpness, plain.remark, both.sharpness, both.remark) == (3, "", 5, "sharp")
assert both.to_yaml() == HEAD + "sharpness: 5\\nremark: sharp\\nsteps: []\\n"  # where they are declared
assert ar.load(both.to_yaml()) == both != plain
assert "sharpness" not in plain.to_yaml()

remarked = ar.load(HEAD + "remark: x\\nsteps: []")
assert remarked.digest == plain.digest != both.digest
assert (ar.diff(plain, remarked).same, ar.diff(plain, both).same) == (True, False)
assert [change.key for change in ar.diff(plain, both).settings] == ["sharpness"]
assert ar.load(HEAD + "steps: []", overrides={"sharpness": 5}).digest == both.digest

for wrong, said in (("sharpness: 0", "3:12: E204 sharpness: must be at least 1"), ("sharpnes: 4", "mean 'sharpness'")):
    try:
        ar.load(f"version: 1\\nrecipe: a\\n{wrong}\\nsteps: []")
    except ar.RecipeError as error:
        assert said in str(error), error
    else:
        raise AssertionError(wrong)

properties = recipe_schema.document()["properties"]
assert properties["sharpness"] == {"type": "integer", "minimum": 1, "description": "A new key.", "default": 3}
print("all is well")
"""


def run(folder: Path, declared: str) -> subprocess.CompletedProcess[str]:
    """A program that uses the keys, with a copy of the package that has the declarations."""
    unused = shutil.ignore_patterns("__pycache__", "*.so", "*.c", "*.h")
    shutil.copytree(ROOT / "augrecipes", folder / "augrecipes", ignore=unused)
    model = folder / "augrecipes" / "recipe" / "model.py"
    text = model.read_text(encoding="utf-8")
    assert text.count(BEFORE) == 1
    model.write_text(text.replace(BEFORE, declared + BEFORE), encoding="utf-8")
    command, environment = (
        [sys.executable, "-c", PROGRAM],
        {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'tests'}"},
    )
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_declaration_makes_a_key(tmp_path: Path) -> None:
    done = run(tmp_path, DECLARED)
    assert (done.stdout, done.stderr) == ("all is well\n", "")


def test_without_the_declaration_there_is_no_such_key(tmp_path: Path) -> None:
    assert "E202 remark: unknown key" in run(tmp_path, "").stderr


def test_a_key_of_the_draws_is_noticed_that_is_declared_as_one_of_the_run(tmp_path: Path) -> None:
    """A planted fault: the digest leaves it out."""
    assert "AssertionError" in run(tmp_path, DECLARED.replace(", 3)", ', 3, changes="run")')).stderr


@pytest.mark.parametrize("name", KEYS)
def test_the_page_of_the_language_tells_of_every_key(name: str) -> None:
    page = (ROOT / "docs" / "RECIPE_LANGUAGE.md").read_text(encoding="utf-8")
    assert f"{name}:" in page or f"`{name}`" in page
