"""Pipelines of Python source, each with the names that lead to it; nothing of the source is run.

A file is read for training and for evaluation, and again with tests that cannot be told taken the other way: a
pipeline that is otherwise there depends on the test. Files that `_base_` names, as MM's configs do, are read first.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.interop.draft import wrong
from augrecipes.interop.source.readings import Match, matches_of, readings_of
from augrecipes.interop.source.text import SourceText, parse
from augrecipes.interop.source.values import Mapped
from augrecipes.recipe import limits
from augrecipes.recipe.nodes import NOWHERE
from augrecipes.recipe.problems import Problems, Stop

_BASE, _DELETE = "_base_", "_delete_"
_DEEPEST = 8  # files that extend each other


@dataclass(slots=True)
class SourceReading:
    """What a file says, as far as it can be told.

    Attributes:
        matches: its pipelines of objects.
        names: what its names are, for configs that name classes in mappings.
        notes: what was not read, in words.
    """

    matches: tuple[Match, ...]
    names: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def read(
    text: str, file: str, given: Mapping[str, Any] = {}, wanted: str = "", root: Path | None = None, depth: int = 0
) -> SourceReading:
    """Every pipeline of a file of Python or a notebook, and what its names are, with those of files that it extends.

    Args:
        text: what it says.
        file: its name, for places.
        given: values for what cannot be known, by expression: `{"cfg.size": 512}`.
        wanted: a function that is to be run even where the file calls it: its name, or `Class.method`.
        root: the folder that no `_base_` leads out of; None: no other file is read.
        depth: how many files extend each other by now.

    Raises:
        RecipeError: it is no Python; or nothing in it is called as `given` says.

    >>> text = "import albumentations as A\\ntrain = A.Compose([A.RandomCrop(height=2 * 32, width=64)])"
    >>> (match,) = read(text, "t.py").matches
    >>> match.path, match.calls[0].children[0].args
    ('train', {'height': 64, 'width': 64})
    """
    source = parse(text, file)
    base: dict[str, Any] = {}
    notes: list[str] = []
    for other in _bases(source):
        if (found := _other(other, file, root, depth, notes)) is not None:
            base = _extended(base, found.names)
            notes += found.notes
    try:
        readings, untried = readings_of(source, given or {}, wanted, base)
        matches = tuple(matches_of(readings))
    except RecursionError:
        raise wrong("it is nested too deeply", source.place(1), "", "E603") from None
    for key in given or {}:
        if not any(key in each.reader.used for each in readings):
            message = f"nothing that is called {key} is asked for in the file: --set {key}=..."
            raise wrong(message, source.place(1), "", "E603")
    if untried:
        shown = ", ".join(f"`{test.text}` (line {test.at.line})" for test in untried[:4])
        many = f"{len(untried)} were taken one way, among them {shown}"
        notes.append(f"More tests cannot be told than are taken both ways; {many}.")
    first = readings[0].reader
    if first.exhausted:
        notes.append("The file asks for more work than reading may take: what comes late in it may be missing here.")
    own = {key: value for key, value in first.module.items() if key != _BASE}
    return SourceReading(matches, _extended(base, own) if base else own, notes)


def _bases(source: SourceText) -> list[str]:
    """The files that a config names in `_base_`."""
    found: list[str] = []
    for statement in source.tree.body if not source.cells else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id="_base_")], value=value):
                parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
                found = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return [each for each in found if each.endswith(".py")]


def _other(other: str, file: str, root: Path | None, depth: int, notes: list[str]) -> SourceReading | None:
    """A file that another one extends; None where it is not read: `notes` says why."""
    if root is None:
        notes.append(f"`{other}`, which `_base_` names, was not read: a text that is no file has no others beside it.")
        return None
    path = Path(file).parent / other
    try:
        inside = path.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        inside = False
    if not inside:
        notes.append(
            f"`{other}`, which `_base_` names, lies outside of {root}, and was not read: "
            "`--base-root FOLDER` names the folder that it may lie in."
        )
        return None
    if depth >= _DEEPEST:
        return None
    problems = Problems()
    try:
        text = limits.decode(limits.read_bytes(path, str(path), problems), str(path), problems)
        return read(text, str(path), {}, "", root, depth + 1)
    except (Stop, RecipeError):
        notes.append(f"`{other}`, which `_base_` names, cannot be read: what it says is missing here.")
        return None


def _extended(base: Mapping[str, Any], own: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """A mapping as the framework makes it of a base and of what a file says itself."""
    if depth >= limits.MAX_DEPTH or own.get(_DELETE) is True:
        return dict(own)
    found = Mapped({**base, **own}, getattr(own, "at", NOWHERE))
    for key, value in own.items():
        before = base.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            found[key] = _extended(before, value, depth + 1)
    return found
