"""Every example in a docstring of augrecipes runs and says what it shows."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import augrecipes

LEFT_OUT = ("augrecipes.__main__", "augrecipes.bring")  # runs; warns when it is imported
MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(augrecipes.__path__, "augrecipes.")
    if not found.name.startswith(LEFT_OUT)
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
