"""Reads the pipelines of Python source, with the names that lead to them; the source is not run.

Files that `_base_` names, as in MM's configs, are read first.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.interop import budget, draft
from augrecipes.interop.reading import read as read_file
from augrecipes.interop.source import statements, transforms, values
from augrecipes.interop.source.pipelines import NAMES, Match, TestChoice, matches
from augrecipes.interop.source.text import SourceText, parse, relevant_names, role
from augrecipes.ops import registry
from augrecipes.recipe import limits
from augrecipes.recipe.nodes import NOWHERE

_BASE, _DELETE = "_base_", "_delete_"
_DEEPEST = 8  # chain of `_base_` files
_RESERVED = 0.45  # the fraction of the budget kept for the pipelines of readings with a flipped test


@dataclass(slots=True)
class SourceReading:
    """The result of reading a Python file."""

    matches: tuple[Match, ...]  # its pipelines of objects
    names: dict[str, Any]  # its top-level values, for configs that name classes in mappings
    notes: list[str] = field(default_factory=list)  # notes on parts that were not read


def read(
    text: str, file: str, settings: Mapping[str, Any] = {}, wanted: str = "", root: Path | None = None, depth: int = 0
) -> SourceReading:
    """All pipelines and top-level values of a Python file, including those of its `_base_` files.

    Args:
        text: the file's text.
        file: its name, for places.
        settings: values for unknown expressions: `{"cfg.size": 512}`.
        wanted: a function to run even if the file calls it: its name, or `Class.method`.
        root: the folder that no `_base_` may leave; None: no other file is read.
        depth: the length of the chain of `_base_` files so far.

    Raises:
        RecipeError: the text is not Python; or no expression matches a setting.

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
        if (reading := _read_base(other, file, root, depth, notes)) is not None:
            base = _merge_base(base, reading.names)
            notes += reading.notes
    try:
        readings, unread = _readings(source, settings, wanted, base)
        pipelines = tuple(matches(readings))
    except RecursionError:
        raise draft.wrong("it is nested too deeply", source.place(1), "", "E603") from None
    for key in settings.keys() - {used for each in readings.values() for used in each.used}:
        message = f"nothing that is called {key} is asked for in the file: --set {key}=..."
        raise draft.wrong(message, source.place(1), "", "E603")
    if unread or any(each.exhausted for each in readings.values()):
        notes.append("The file asks for more work than reading may take: what comes late in it may be missing here.")
    if unread:
        tests = f"{transforms.NOT_IN_FILE} {unread} more tests, which were taken as true"
        way = f"{tests}: leave only the pipeline in the file"
        pipelines = tuple(replace(each, assumed=(*each.assumed, way)) for each in pipelines)
    own = {key: value for key, value in readings[TestChoice()].module.items() if key != _BASE}
    return SourceReading(pipelines, _merge_base(base, own) if base else own, notes)


def _readings(
    source: SourceText, settings: Mapping[str, Any], wanted: str, base: Mapping[str, Any]
) -> tuple[dict[TestChoice, statements.Evaluator], int]:
    """Readings of a file for training, for evaluation and with each test flipped; and the number of tests left out."""
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _is_transform(node)]
    calls = sorted((node.lineno, node.col_offset, id(node)) for node in nodes)
    relevant = cache(partial(relevant_names, source, calls))
    readings: dict[TestChoice, statements.Evaluator] = {}

    def take(reading: TestChoice) -> dict[str, values.Test]:
        evaluator = readings[reading] = statements.Evaluator(source, settings, reading.holds, calls, relevant)
        if base:
            evaluator.module[_BASE] = values.Mapped(base)
        evaluator.read(wanted)
        return evaluator.tests

    unread = 0
    if any(role(test.label) for test in take(TestChoice()).values()):
        take(TestChoice(evaluating=True))
    queue: list[tuple[TestChoice, dict[str, values.Test]]] = [(each, {}) for each in readings]  # tests met before
    for now, before in queue:
        tests = readings[now].tests
        for test in (test for text, test in tests.items() if text not in before and not role(test.label)):
            if budget.spend(0) < _RESERVED:
                unread += 1
            else:
                flipped = TestChoice(now.evaluating, (*now.flipped, test))
                take(flipped)
                queue.append((flipped, {**before, **tests}))
    return readings, unread


def _bases(source: SourceText) -> list[str]:
    """The files that a config names in `_base_`."""
    names: list[str] = []
    for statement in source.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="_base_")], value=value):
                parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
                names = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return [each for each in names if each.endswith(".py")]


def _read_base(other: str, file: str, root: Path | None, depth: int, notes: list[str]) -> SourceReading | None:
    """Read a `_base_` file; None if it is not read, with a note why."""
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


def _merge_base(base: Mapping[str, Any], own: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """A base mapping updated by a file's own, recursively, as MM's frameworks merge configs."""
    budget.spend(len(base) + len(own))
    if depth >= limits.MAX_DEPTH or own.get(_DELETE) is True:
        return dict(own)
    extended = values.Mapped({**base, **own}, getattr(own, "at", NOWHERE))
    for key, value in own.items():
        before = base.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            extended[key] = _merge_base(before, value, depth + 1)
    return extended


def _is_transform(node: ast.Call) -> bool:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    known = name in NAMES or (name[:1].isupper() and registry.arguments(name) is not None)
    return known or any(each.arg == transforms.AUG_CONFIG for each in node.keywords)
