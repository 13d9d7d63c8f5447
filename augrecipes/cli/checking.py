"""Which recipes are meant, and everything that is wrong with them."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from augrecipes.cli.progress import progress
from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.lint import lint
from augrecipes.recipe import gallery, loading, parse
from augrecipes.recipe.model import Recipe

STDIN = "-"
_SUFFIXES = frozenset({".yaml", ".yml"})
# Standard input has no size; one byte more than a recipe may have is enough to refuse it.
_MOST_BYTES = 1_000_001
# Fewer files than this are checked before a bar could be read.
_WORTH_A_BAR = 20


def check_all(
    given: Sequence[str], changes: Mapping[str, Any], without: Sequence[str]
) -> tuple[int, tuple[Diagnostic, ...]]:
    """How many recipes were checked, and every problem in the order of the files.

    >>> check_all(["folder-128"], {}, ())
    (1, ())
    """
    files, problems = _expand(given)
    if len(files) < _WORTH_A_BAR:
        for file in files:
            problems += _check(file, changes, without)
    else:
        with progress("checking") as advance:
            for done, file in enumerate(files):
                problems += _check(file, changes, without)
                advance(done + 1, len(files))
    return len(files), tuple(problems)


def _expand(given: Sequence[str]) -> tuple[list[str], list[Diagnostic]]:
    """Folders and patterns as files, each file once; what leads to no file is a problem."""
    files: dict[str, None] = {}
    problems: list[Diagnostic] = []
    for name in given:
        found = list(_files(name))
        files.update(dict.fromkeys(found))
        if not found:
            what = "a folder without .yaml or .yml files" if Path(name).is_dir() else "no file fits this pattern"
            problems.append(Diagnostic(what, 1, 1, "E101", "file", name))
    return list(files), problems


def _files(name: str) -> Iterator[str]:
    path = Path(name)
    if name in (STDIN, ""):
        yield from [name] * bool(name)
    elif name not in gallery.gallery_names() and path.is_dir():
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
            for file in sorted(names):
                if Path(file).suffix.lower() in _SUFFIXES and not file.startswith("."):
                    yield str(Path(folder) / file)
    elif glob.has_magic(name) and not path.exists():
        yield from sorted(str(found) for found in _matching(name) if found.is_file())
    else:
        yield name


def _matching(pattern: str) -> Iterator[Path]:
    """Files that a pattern names, `**` included; a pattern may be absolute."""
    path = Path(pattern)
    return Path(path.anchor).glob(str(path.relative_to(path.anchor))) if path.anchor else Path().glob(pattern)


def _check(file: str, changes: Mapping[str, Any], without: Sequence[str]) -> tuple[Diagnostic, ...]:
    try:
        recipe, problems = _read(file, changes, without)
    except RecipeError as error:
        return error.problems or (Diagnostic(str(error), 1, 1, file=file),)
    return problems if recipe is None else (*problems, *lint(recipe))


def _read(
    file: str, changes: Mapping[str, Any], without: Sequence[str]
) -> tuple[Recipe | None, tuple[Diagnostic, ...]]:
    if file != STDIN:
        return parse.parse_file(loading.find(file), overrides=changes, without=without)
    stream = getattr(sys.stdin, "buffer", sys.stdin)
    data = stream.read(_MOST_BYTES)
    return parse.parse_text(data, file="<stdin>", root=Path.cwd(), overrides=changes, without=without), ()
