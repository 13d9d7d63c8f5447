"""Pipelines of Python source, each with the names that lead to it; nothing of the source is run.

A file is read for training and for evaluation, and once more for each test that cannot be told: a pipeline that is
otherwise there depends on the test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from augrecipes.interop.draft import Call, LeftOut
from augrecipes.interop.source.branches import Assumptions, Test, role
from augrecipes.interop.source.execute import SourceReader
from augrecipes.interop.source.text import SourceText, parse, wrong
from augrecipes.interop.source.transforms import COMPOSES, HOLDING, CallWriter
from augrecipes.interop.source.values import Created, Mapped, Named, walk
from augrecipes.interop.torchvision.steps import PARAMETERS as OF_TORCHVISION
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, GROUPS
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe.history import CLASSES, FLIP
from augrecipes.recipe.nodes import Place

_NAMES = frozenset({*OF_TORCHVISION, *CLASSES, *REFUSED, *GROUPS, *OUTPUTS, FLIP, *HOLDING})
_MOST_READINGS, _MOST_WORK = 24, 4  # of a file; in readings that go to the limit of one


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
    """What a file says, as far as it can be told.

    Attributes:
        matches: its pipelines of objects.
        names: what its names are, for configs that name classes in mappings.
        exhausted: it asked for more work than a file may; what came after is not among the rest.
        notes: what else was not read, in words.
    """

    matches: tuple[Match, ...]
    names: dict[str, Any]
    exhausted: bool
    notes: list[str] = field(default_factory=list)


def read(
    text: str, file: str, given: Mapping[str, Any] | None = None, wanted: str = "", base: Any = None
) -> SourceReading:
    """Every pipeline of a file of Python or a notebook, and what its names are.

    Args:
        text: what it says.
        file: its name, for places.
        given: values for what cannot be known, by expression: `{"cfg.size": 512}`.
        wanted: a function that is to be run even where the file calls it: its name, or `Class.method`.
        base: names of the files that it extends.

    Raises:
        RecipeError: it is no Python; or nothing in it is called as `given` says.

    >>> text = "import albumentations as A\\ntrain = A.Compose([A.RandomCrop(height=2 * 32, width=64)])"
    >>> (match,) = read(text, "t.py").matches
    >>> match.path, match.calls[0].children[0].args
    ('train', {'height': 64, 'width': 64})
    """
    source = parse(text, file)
    try:
        readings = list(_readings(source, given or {}, wanted, base))
        matches = tuple(_named(_matches(readings)))
    except RecursionError:
        raise wrong("it is nested too deeply", source.place(1)) from None
    missing = [key for key in given or {} if not any(key in each.reader.used for each in readings)]
    if missing:
        raise wrong(
            f"nothing that is called {missing[0]} is asked for in the file: --set {missing[0]}=...", source.place(1)
        )
    first = readings[0].reader
    return SourceReading(matches, dict(first.module), first.exhausted, _untried(readings))


def _untried(readings: Sequence[_FileReading]) -> list[str]:
    """What to tell of a file with more tests that cannot be told than were taken both ways."""
    tried = {each.test.text for each in readings if each.test is not None}
    tests = {text: test for each in readings for text, test in each.reader.tests.items() if text not in tried}
    if not tests:
        return []
    shown = ", ".join(f"`{test.text}` (line {test.at.line})" for test in [*tests.values()][:4])
    return [f"More tests cannot be told than are taken both ways; {len(tests)} were taken one way, among them {shown}."]


_Key = tuple[str, int, tuple[str, ...]]  # what tells pipelines apart: kind, node, and the names that lead there


@dataclass(slots=True)
class _FileReading:
    """A file, read under assumptions.

    Attributes:
        reader: what read it.
        pipelines: what it has, in order.
        origin: the reading whose assumptions it has, but for one test.
        test: that test.
    """

    reader: SourceReader
    pipelines: dict[_Key, list[Match]]
    origin: _FileReading | None = None
    test: Test | None = None


_Waiting = tuple[Assumptions, _FileReading | None, Test | None]


def _readings(source: SourceText, given: Mapping[str, Any], wanted: str, base: Any) -> Iterator[_FileReading]:
    """The file read for training, for evaluation, and with each test that cannot be told the other way."""
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _is_transform(node)]
    calls = sorted((node.lineno, node.col_offset, id(node)) for node in nodes)
    first: list[_Waiting] = [(Assumptions(), None, None)]
    later: list[_Waiting] = []  # where no transform was left behind the test
    tests: set[str] = set()
    known: set[_Key] = set()
    count = work = 0
    while first or later:
        assumed, origin, test = (first or later).pop(0)
        reader = SourceReader(source, given, assumed, calls)
        if base is not None:
            reader.module["_base_"] = Mapped(base)
        reader.read(wanted)
        reading = _FileReading(reader, dict(_pipelines(reader)), origin, test)
        yield reading
        count, work = count + 1, work + reader.steps
        if count > _MOST_READINGS or work > _MOST_WORK * reader.most:
            return
        if count == 1 and any(role(each.label) for each in reader.tests.values()):
            first.append((Assumptions(evaluating=True), None, None))
        if not assumed.evaluating:
            again = not known.issuperset(reading.pipelines)
            for each in reader.tests.values():
                if (again or each.text not in tests) and each.text not in assumed.tests:
                    other = Assumptions({**assumed.tests, each.text: not assumed.holds(each)})
                    (first if each.text in reader.hiding else later).append((other, reading, each))
            tests.update(reader.tests)
            known.update(reading.pipelines)


def _is_transform(node: ast.Call) -> bool:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in _NAMES or (name[:1].isupper() and registry.arguments(name) is not None)


def _pipelines(reader: SourceReader) -> Iterator[tuple[_Key, list[Match]]]:
    """What was created and is part of nothing else: each Compose; else groups and lists; else lone transforms."""
    inside: set[int] = set()
    for each in reader.created:
        if each.value.name in HOLDING:
            inside.update(id(part) for part in walk([each.value.args, each.value.named]))
    alone = [each for each in reader.created if id(each.value) not in inside]
    composes = [each for each in alone if each.value.name in COMPOSES]
    groups = [each for each in alone if each.value.name in GROUPS and each.value.path.startswith("albumentations")]
    lists = [each for each in reader.lists if _is_list(each.value) and inside.isdisjoint(map(id, walk(each.value)))]
    pipelines: dict[_Key, list[Match]] = {}
    for kind, several in (("compose", composes), ("group", groups), ("list", lists)):
        for each in _once(several):
            key = kind, id(getattr(each.value, "node", None)), each.path
            match = _match(each, reader.source)
            if match not in pipelines.setdefault(key, []):  # of a loop, or a function that is called again
                pipelines[key].append(match)
    yield from pipelines.items()


def _once(several: Sequence[Named]) -> Iterator[Named]:
    """Without those lists that are the same object under another name, or a part of a longer one."""
    seen: set[int] = set()
    for each in several:
        if id(each.value) not in seen:
            yield each
        seen.update(map(id, walk(each.value)))


def _is_list(value: Any) -> bool:
    """Whether a list is one of transforms, and of nothing else."""
    created = [item for item in value if isinstance(item, Created)]
    known = any(_is_ours(item) for item in created)
    return len(created) == len(value) and known and not any(item.name in COMPOSES for item in created)


def _is_ours(created: Created) -> bool:
    """Whether a class is one of albumentations or torchvision, by its module, or by its name where it has none."""
    if created.path.startswith(("albumentations.", "torchvision.transforms.")):
        return True
    return created.path == created.name and (created.name in _NAMES or registry.arguments(created.name) is not None)


def _match(named: Named, source: SourceText) -> Match:
    writer, value = CallWriter(source), named.value
    if isinstance(value, Created):
        call = writer.call(value)
    else:
        place = getattr(value, "at", None) or source.at(value[0].node)
        call = Call(COMPOSE, {}, writer.children(value), place)
    return Match(".".join(named.path), call.place, (call,), {}, tuple(writer.lost))


def _matches(readings: Sequence[_FileReading]) -> Iterator[Match]:
    """Every pipeline; where a test tells training from evaluation, as it is in each."""
    first = {key: reading for reading in reversed(readings) for key in reading.pipelines}
    evaluating = next((each for each in readings if each.reader.assumed.evaluating), None)
    for key in dict.fromkeys(key for reading in readings for key in reading.pipelines):
        reading = first[key]
        pipeline = reading.pipelines[key]
        others = [each for each in readings if each.origin is not None and each.test is not None
                  and each.origin.pipelines.get(key) == pipeline != each.pipelines.get(key, pipeline)]  # fmt: skip
        phases = [each for each in others if each.test is not None and role(each.test.label)]
        assumed = tuple(
            f"`{each.test.text}` in line {each.test.at.line} cannot be told; it was taken as "
            f"{'false' if each.reader.assumed.tests[each.test.text] else 'true'}"
            for each in others if each.test is not None and not role(each.test.label)
        )  # fmt: skip
        for match in pipeline:
            yield replace(match, path=_behind(match.path, phases, other=False), assumed=assumed)
        other = evaluating if evaluating is not None and key in evaluating.pipelines else None
        if phases:
            for match in (other or phases[0]).pipelines[key]:
                yield replace(match, path=_behind(match.path, phases, other=True), assumed=assumed)


def _behind(path: str, phases: Sequence[_FileReading], *, other: bool) -> str:
    """The names that lead to a pipeline, with that of the branch where it is so."""
    if not phases or (test := phases[0].test) is None:
        return path
    return f"{path}.{test.branch(phases[0].reader.assumed.tests[test.text] == other)}".removeprefix(".")


def _named(matches: Iterator[Match]) -> Iterator[Match]:
    """Pipelines that differ, each by a name of its own."""
    names: dict[str, list[tuple[Call, ...]]] = {}
    for match in matches:
        before = names.setdefault(match.path, [])
        if match.calls not in before:
            before.append(match.calls)
            yield match if len(before) == 1 else replace(match, path=f"{match.path}.{len(before)}")
