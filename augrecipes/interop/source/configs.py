"""Python configs of the MM frameworks: what their names are, with those of the files that they extend."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.interop.source.read import SourceReading, read
from augrecipes.interop.source.text import parse
from augrecipes.interop.source.values import Mapped
from augrecipes.recipe import limits
from augrecipes.recipe.nodes import NOWHERE
from augrecipes.recipe.problems import Problems, Stop

_BASE, _DELETE = "_base_", "_delete_"
_DEEPEST = 8  # files that extend each other


def config_of(
    text: str, file: str, given: Mapping[str, Any], wanted: str = "", root: Path | None = None, depth: int = 0
) -> SourceReading:
    """Read a file of Python, and the files that its `_base_` names.

    Args:
        text: what it says.
        file: its name.
        given: values for what cannot be known.
        wanted: a function that is to be gone through.
        root: the folder that no `_base_` leads out of; None: no other file is read.
        depth: how many files extend each other by now.

    Raises:
        RecipeError: it is no Python.
    """
    base: dict[str, Any] = {}
    notes: list[str] = []
    for other in _bases(text, file):
        if (found := _other(other, file, root, depth, notes)) is not None:
            base = _extended(base, found.names)
            notes += found.notes
    reading = read(text, file, given, wanted, base or None)
    own = {key: value for key, value in reading.names.items() if key != _BASE}
    return replace(reading, names=_extended(base, own) if base else own, notes=notes)


def _bases(text: str, file: str) -> list[str]:
    """The files that a config names in `_base_`."""
    if _BASE not in text or not file.endswith(".py"):
        return []
    found: list[str] = []
    for statement in parse(text, file).tree.body:
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
        return config_of(text, str(path), {}, "", root, depth + 1)
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
