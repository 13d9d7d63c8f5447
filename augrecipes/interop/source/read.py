"""Pipelines of Python source, each with the names that lead to it; nothing of the source is run.

A file is read for training and for evaluation, and again with tests that cannot be told taken the other way: a
pipeline that is otherwise there depends on the test. Files that `_base_` names, as MM's configs do, are read first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.interop.budget import FOR_MATCHES, spend
from augrecipes.interop.draft import Call, LeftOut, wrong
from augrecipes.interop.reading import read as read_file
from augrecipes.interop.source import rfdetr
from augrecipes.interop.source.execute import SourceReader
from augrecipes.interop.source.text import SourceText, Test, parse, role
from augrecipes.interop.source.transforms import COMPOSES, HOLDING, call_of, children_of
from augrecipes.interop.source.values import Created, Mapped, walk
from augrecipes.interop.timm import WHOLE
from augrecipes.interop.torchvision import MIXING, PARAMETERS, mixes
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, GROUPS
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe import limits
from augrecipes.recipe.history import CLASSES, FLIP
from augrecipes.recipe.nodes import NOWHERE, Place

_BASE, _DELETE = "_base_", "_delete_"
_DEEPEST = 8  # files that extend each other
_NAMES = frozenset({*PARAMETERS, *CLASSES, *REFUSED, *GROUPS, *OUTPUTS, FLIP, *HOLDING})
_MOST_READINGS = 24  # of a file
_Key = tuple[str, int, tuple[str, ...]]  # what tells pipelines apart: kind, node, and the names that lead there


@dataclass(frozen=True, slots=True)
class Match:
    """A pipeline of a config, or of Python source.

    Attributes:
        path: keys or names that lead to it, joined by dots.
        place: where it starts.
        calls: its transforms in order, or one Compose of them.
        settings: what the Compose is given next to them.
        lost: what of it is not known.
        assumed: tests that cannot be told, and what was assumed, in words.
    """

    path: str
    place: Place
    calls: tuple[Call, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    lost: tuple[LeftOut, ...] = ()
    assumed: tuple[str, ...] = ()


@dataclass(slots=True)
class SourceReading:
    """What a file says, as far as it can be told."""

    matches: tuple[Match, ...]  # its pipelines of objects
    names: dict[str, Any]  # what its names are, for configs that name classes in mappings
    notes: list[str] = field(default_factory=list)  # what was not read, in words


@dataclass(eq=False)
class FileReading(SourceReader):
    """A file, read under assumptions, with its pipelines in order."""

    pipelines: dict[_Key, list[Match]] = field(default_factory=dict)
    origin: FileReading | None = None  # whose assumptions it has, but for some tests
    changed: tuple[Test, ...] = ()  # which are taken the other way


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
    spend(500 + len(text) // 8)
    source = parse(text, file)
    base: dict[str, Any] = {}
    notes: list[str] = []
    for other in _bases(source):
        if (found := _other(other, file, root, depth, notes)) is not None:
            base = _extended(base, found.names)
            notes += found.notes
    try:
        readings, untried = _readings(source, given or {}, wanted, base)
        matches = tuple(_named(_matches(readings)))
    except RecursionError:
        raise wrong("it is nested too deeply", source.place(1), "", "E603") from None
    for key in given or {}:
        if not any(key in each.used for each in readings):
            message = f"nothing that is called {key} is asked for in the file: --set {key}=..."
            raise wrong(message, source.place(1), "", "E603")
    if untried:
        shown = ", ".join(f"`{test.text}` (line {test.at.line})" for test in untried[:4])
        many = f"{len(untried)} were taken one way, among them {shown}"
        notes.append(f"More tests cannot be told than are taken both ways; {many}.")
    if readings[0].exhausted:
        notes.append("The file asks for more work than reading may take: what comes late in it may be missing here.")
    own = {key: value for key, value in readings[0].module.items() if key != _BASE}
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
    spend(len(base) + len(own))
    if depth >= limits.MAX_DEPTH or own.get(_DELETE) is True:
        return dict(own)
    found = Mapped({**base, **own}, getattr(own, "at", NOWHERE))
    for key, value in own.items():
        before = base.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            found[key] = _extended(before, value, depth + 1)
    return found


def _readings(
    source: SourceText, given: Mapping[str, Any], wanted: str, base: Mapping[str, Any]
) -> tuple[list[FileReading], list[Test]]:
    """The readings of a file, and the tests that were taken one way only, as there are too many.

    A test that hides transforms is taken the other way by itself; others together, and by halves where that matters.
    """
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _is_transform(node)]
    calls = sorted((node.lineno, node.col_offset, id(node)) for node in nodes)
    readings: list[FileReading] = []

    def read(origin: FileReading | None = None, tests: tuple[Test, ...] = (), evaluating: bool = False) -> FileReading:
        assumed = {**origin.assumed, **{each.text: not origin.takes(each) for each in tests}} if origin else {}
        reading = FileReading(source, given, assumed, evaluating, calls, origin=origin, changed=tests)
        if base:
            reading.module["_base_"] = Mapped(base)
        reading.read(wanted)
        reading.pipelines = _pipelines(reading)
        readings.append(reading)
        return reading

    first = read()
    tests = first.tests
    known, untried = set(first.pipelines), dict(tests)
    if any(role(each.label) for each in tests.values()) and spend(0) > FOR_MATCHES:
        read(evaluating=True)
    waiting: list[tuple[FileReading, tuple[Test, ...]]] = []
    new, origin = tuple(tests.values()), first
    while True:
        alone = {each.text: each for each in new if role(each.label) or each.text in origin.hiding}
        waiting += [(origin, (each,)) for each in alone.values()]
        waiting += [(origin, tuple(each for each in new if each.text not in alone))]
        waiting = sorted((each for each in waiting if each[1]), key=lambda each: len(each[1]))
        if not waiting or len(readings) > _MOST_READINGS or spend(0) < FOR_MATCHES:
            return readings, list(untried.values())
        origin, changed = waiting.pop(0)
        reading = read(origin, changed)
        if len(changed) > 1 and reading.pipelines != origin.pipelines:
            half = len(changed) // 2
            waiting += [(origin, changed[:half]), (origin, changed[half:])]
            new = ()
            continue
        for each in changed:
            untried.pop(each.text, None)
        again = not known.issuperset(reading.pipelines)
        new = tuple(each for each in reading.tests.values() if again or each.text not in tests)
        new = tuple(each for each in new if each.text not in reading.assumed)
        untried |= {each.text: each for each in new if each.text not in tests}
        tests, origin = {**tests, **reading.tests}, reading
        known.update(reading.pipelines)


def _is_transform(node: ast.Call) -> bool:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    known = name in _NAMES or (name[:1].isupper() and registry.arguments(name) is not None)
    return known or any(each.arg == rfdetr.KEY for each in node.keywords)


def _pipelines(reader: SourceReader) -> dict[_Key, list[Match]]:
    """What was created and is part of nothing else: each Compose; else groups and lists; else lone transforms."""
    held = [each for _, each in reader.created if each.name in HOLDING]
    inside = {id(part) for part in walk([[each.args, each.named] for each in held])}
    alone = [(path, each) for path, each in reader.created if id(each) not in inside]
    composes = [found for found in alone if found[1].name in COMPOSES]
    whole = [found for found in alone if found[1].name == WHOLE and found[1].path.startswith("timm.")]
    mixing = [found for found in alone if found[1].name in {*MIXING, *HOLDING} and mixes(call_of(found[1]))]
    lists = [found for found in reader.containers if _is_list(found[1]) and inside.isdisjoint(map(id, found[1]))]
    listed = {id(part) for _, each in lists for part in walk(each)}
    groups = [found for found in alone if found[1].name in GROUPS and found[1].path.startswith("albumentations")]
    groups = [found for found in groups if id(found[1]) not in listed]
    configs = [found for found in reader.containers if rfdetr.is_config(*found)]
    pipelines: dict[_Key, dict[str, Match]] = {}
    for kind, several in (("compose", [*composes, *whole, *mixing]), ("group", groups), ("list", [*lists, *configs])):
        seen: set[int] = set()
        for path, each in several:
            if id(each) not in seen:  # else it is the same list under another name, or a part of a longer one
                match = _match(path, each)  # once, of a loop or a function that is called again
                pipelines.setdefault((kind, id(getattr(each, "node", None)), path), {})[repr(match)] = match
            seen.update(map(id, walk(each)))
    return {key: [*found.values()] for key, found in pipelines.items()}


def _is_list(value: Any) -> bool:
    """Whether a list is one of transforms, and of nothing else."""
    spend(len(value))
    created = [item for item in value if isinstance(item, Created)]
    known = any(_is_ours(item) for item in created)
    return len(created) == len(value) and known and not any(item.name in COMPOSES for item in created)


def _is_ours(created: Created) -> bool:
    """Whether a class is one of albumentations or torchvision, by its module, or by its name where it has none."""
    if created.path.startswith(("albumentations.", "torchvision.transforms.", "timm.")):
        return True
    return created.path == created.name and (created.name in _NAMES or registry.arguments(created.name) is not None)


def _match(path: tuple[str, ...], value: Any) -> Match:
    spend(50)  # what it costs to compare it with others, too
    lost: list[LeftOut] = []
    if isinstance(value, Created):
        call = call_of(value, lost)
    elif rfdetr.is_config(path, value):
        call = rfdetr.compose_of(value)
    else:
        place = getattr(value, "at", value[0].at)
        call = Call(COMPOSE, {}, children_of(value, place, lost), place)
    return Match(".".join(path), call.place, (call,), {}, tuple(lost))


def _named(matches: Iterator[Match]) -> Iterator[Match]:
    """Pipelines that differ, each by a name of its own."""
    names: dict[str, set[str]] = {}
    for match in matches:
        before = names.setdefault(match.path, set())
        if (said := repr(match.calls)) not in before:
            before.add(said)
            yield match if len(before) == 1 else replace(match, path=f"{match.path}.{len(before)}")


def _matches(readings: Sequence[FileReading]) -> Iterator[Match]:
    """Every pipeline; where a test tells training from evaluation, as it is in each."""
    first = {key: reading for reading in reversed(readings) for key in reading.pipelines}
    evaluating = next((each for each in readings if each.evaluating), None)
    for key in dict.fromkeys(key for reading in readings for key in reading.pipelines):
        pipeline = first[key].pipelines[key]
        phases: list[FileReading] = []
        assumed: list[str] = []
        for each in readings:
            before = None if each.origin is None or len(each.changed) > 1 else each.origin.pipelines.get(key)
            if before != pipeline or each.pipelines.get(key, pipeline) == pipeline:
                continue
            (test,) = each.changed
            if role(test.label):
                phases.append(each)
                continue
            taken = "false" if each.assumed[test.text] else "true"
            assumed.append(f"`{test.text}` in line {test.at.line} cannot be told; it was taken as {taken}")
        ways = {"": pipeline}
        if phases:
            (test,) = phases[0].changed
            held = phases[0].assumed[test.text]
            other = evaluating if evaluating is not None and key in evaluating.pipelines else phases[0]
            ways = {test.branch(not held): pipeline, test.branch(held): other.pipelines[key]}
        for branch, matches in ways.items():
            for match in matches:
                path = ".".join(filter(None, (match.path, branch)))
                yield replace(match, path=path, assumed=tuple(assumed))
