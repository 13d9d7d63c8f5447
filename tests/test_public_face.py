"""What a notebook sees: functions under `augrecipes` itself, and recipes that are written in Python."""

import doctest
import importlib
import inspect
import pkgutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import augrecipes
import augrecipes as ar

FOLDERS = ("bench", "diff", "lint", "preview", "verify")
HEAD = {"version": 1, "recipe": "mine"}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_does_not_hide_the_function_of_its_name(name: str) -> None:
    folder = importlib.import_module(f"augrecipes.{name}")
    found = getattr(ar, name)
    assert inspect.isfunction(found)
    assert inspect.getdoc(found)
    assert folder.__path__


@pytest.mark.parametrize("name", ar.gallery_names())
def test_text_and_mappings_are_the_same_recipe_as_the_file(name: str) -> None:
    recipe = ar.load(name)
    text = recipe.to_yaml()
    assert ar.load(text).digest == ar.load(yaml.safe_load(text)).digest == recipe.digest


def test_what_takes_a_recipe_takes_its_source() -> None:
    mine = {**HEAD, "steps": ["HorizontalFlip"], "eval": []}
    assert ar.lint(mine) == ()
    assert ar.diff(mine, ar.load(mine)).same
    assert ar.explain(mine).optimize == "exact"


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["version", "recipe", "steps", "output", "x"]), values))
def test_any_mapping_is_a_recipe_or_a_typed_error(document: dict[str, Any]) -> None:
    try:
        ar.load(document)
    except ar.RecipeError as error:
        assert all(problem.file == "<recipe>" for problem in error.problems)


def endless() -> dict[str, Any]:
    """A mapping that holds itself."""
    found: dict[str, Any] = dict(HEAD)
    found["steps"] = [found]
    return found


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({**HEAD, "steps": [object()]}, "not object"),
        ({**HEAD, "steps": [{"Rotate": {"limit": Path("x")}}]}, "not PosixPath"),
        (endless(), "nested without end"),
        ({**HEAD, "steps": ["Rotat"]}, "<recipe>:4:5: E302"),
        ("version: 1\nrecipe: x\nsteps: [Rotat]\n", "<recipe>:3:9: E302"),
        ({}, "the file is empty"),
    ],
)
def test_a_wrong_document_is_told_with_its_line(document: Any, told: str) -> None:
    with pytest.raises(ar.RecipeError, match=told):
        ar.load(document)


# Every example in a docstring of augrecipes runs and says what it shows.


LEFT_OUT = "augrecipes.__main__"  # runs
MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(augrecipes.__path__, "augrecipes.")
    if not found.name.startswith(LEFT_OUT) and ">>>" in Path(find_spec(found.name).origin).read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", ["augrecipes", *MODULES])
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    for value in list(vars(module).values()):
        inspect.unwrap(value)  # folders that can be called import what they do: not while doctest looks at the names
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    counts = [len(test.examples) for name in MODULES for test in finder.find(import_module(name))]
    assert sum(counts) > 100
