"""Pipelines of Python source, each with the names that lead to it; nothing of the source is run.

Files that `_base_` names, as MM's configs do, are read first.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.interop import budget, draft
from augrecipes.interop.reading import read as read_file
from augrecipes.interop.source import statements, transforms, values
from augrecipes.interop.source.pipelines import NAMES, Match, Phase, matches
from augrecipes.interop.source.text import SourceText, parse
from augrecipes.ops import registry
from augrecipes.recipe import limits
from augrecipes.recipe.nodes import NOWHERE

_BASE, _DELETE = "_base_", "_delete_"
_DEEPEST = 8  # files that extend each other


@dataclass(slots=True)
class SourceReading:
    """What a file says, as far as it can be told."""

    matches: tuple[Match, ...]  # its pipelines of objects
    names: dict[str, Any]  # what its names are, for configs that name classes in mappings
    notes: list[str] = field(default_factory=list)  # what was not read, in words


def read(
    text: str, file: str, settings: Mapping[str, Any] = {}, wanted: str = "", root: Path | None = None, depth: int = 0
) -> SourceReading:
    """Every pipeline of a file of Python or a notebook, and what its names are, with those of files that it extends.

    Args:
        text: what it says.
        file: its name, for places.
        settings: values for what cannot be known, by expression: `{"cfg.size": 512}`.
        wanted: a function that is to be run even where the file calls it: its name, or `Class.method`.
        root: the folder that no `_base_` leads out of; None: no other file is read.
        depth: how many files extend each other by now.

    Raises:
        RecipeError: it is no Python; or nothing in it is called as a setting is.

    >>> text = "import albumentations as A\\ntrain = A.Compose([A.RandomCrop(height=2 * 32, width=64)])"
    >>> (match,) = read(text, "t.py").matches
    >>> match.path, match.calls[0].children[0].args
    ('train', {'height': 64, 'width': 64})
    """
    budget.spend(500 + len(text) // 8)
    source = parse(text, file)
    base: dict[str, Any] = {}
    notes: list[str] = []
    for other in _bases(source):
        if (reading := _other(other, file, root, depth, notes)) is not None:
            base = _extended(base, reading.names)
            notes += reading.notes
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _is_transform(node)]
    calls = sorted((node.lineno, node.col_offset, id(node)) for node in nodes)
    evaluator = statements.Evaluator(source, settings, calls=calls)
    if base:
        evaluator.module[_BASE] = values.Mapped(base)
    try:
        evaluator.read(wanted)
        pipelines = tuple(matches(evaluator))
        names, _ = Phase(choices=evaluator.has_choices).value(dict(evaluator.module))
    except RecursionError:
        raise draft.wrong("it is nested too deeply", source.place(1), "", "E603") from None
    for key in settings.keys() - evaluator.used:
        message = f"nothing that is called {key} is asked for in the file: --set {key}=..."
        raise draft.wrong(message, source.place(1), "", "E603")
    if evaluator.exhausted:
        notes.append("The file asks for more work than reading may take: what comes late in it may be missing here.")
    own = {key: value for key, value in names.items() if key != _BASE}
    return SourceReading(pipelines, _extended(base, own) if base else own, notes)


def _bases(source: SourceText) -> list[str]:
    """The files that a config names in `_base_`."""
    names: list[str] = []
    for statement in source.tree.body if not source.cells else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id="_base_")], value=value):
                parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
                names = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return [each for each in names if each.endswith(".py")]


def _other(other: str, file: str, root: Path | None, depth: int, notes: list[str]) -> SourceReading | None:
    """A file that another one extends; None where it is not read: `notes` says why."""
    path, why = Path(file).parent / other, ""
    try:
        if root is None:
            why = "was not read: a text that is no file has no others beside it."
        elif not path.resolve().is_relative_to(root.resolve()):
            why = f"lies outside of {root}, and was not read: `--base-root FOLDER` names the folder that it may lie in."
        elif depth < _DEEPEST:
            return read(read_file(str(path)).text, str(path), {}, "", root, depth + 1)
    except (OSError, ValueError, RuntimeError, RecipeError):
        why = "cannot be read: what it says is missing here."
    if why:
        notes.append(f"`{other}`, which `_base_` names, {why}")
    return None


def _extended(base: Mapping[str, Any], own: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """A mapping as the framework makes it of a base and of what a file says itself."""
    budget.spend(len(base) + len(own))
    if depth >= limits.MAX_DEPTH or own.get(_DELETE) is True:
        return dict(own)
    extended = values.Mapped({**base, **own}, getattr(own, "at", NOWHERE))
    for key, value in own.items():
        before = base.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            extended[key] = _extended(before, value, depth + 1)
    return extended


def _is_transform(node: ast.Call) -> bool:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    known = name in NAMES or (name[:1].isupper() and registry.arguments(name) is not None)
    return known or any(each.arg == transforms.AUG_CONFIG for each in node.keywords)
