"""Pipelines of Python source as calls, each with the names that lead to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.bring.phases import role
from augrecipes.bring.source.define import KeptValue
from augrecipes.bring.source.reader import SourceReader
from augrecipes.bring.source.text import SourceText, parse, wrong
from augrecipes.bring.source.values import (
    Conditions,
    Either,
    Made,
    Mapped,
    Maybe,
    Test,
)  # fmt: skip
from augrecipes.bring.source.written import CallWriter, LostPart
from augrecipes.bring.torchvision.signatures import PARAMETERS as OF_TORCHVISION
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, GROUPS, ONE_OR_OTHER
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe.history import CLASSES, FLIP
from augrecipes.recipe.nodes import Place

_COMPOSES = (COMPOSE, "ReplayCompose")
_HOLDING = (*_COMPOSES, *GROUPS, ONE_OR_OTHER, "RandomApply", "RandomChoice", "PerChannel", "SelectiveChannelTransform")
_PARAMS = ("BboxParams", "KeypointParams")
_DEEPEST = 24


@dataclass(frozen=True, slots=True)
class FoundPipeline:
    """A pipeline of the source.

    Attributes:
        name: the names that lead to it, joined by dots: `get_transforms.train`, `Data.transform`.
        call: it; of a list of transforms a Compose of them.
        lost: what of it is not known beside its transforms.
        otherwise: the way that was not taken, of tests that cannot be told and name neither training nor evaluation.
    """

    name: str
    call: Call
    lost: tuple[LostPart, ...] = ()
    otherwise: tuple[str, ...] = ()

    @property
    def place(self) -> Place:
        """Where it starts."""
        return self.call.place


@dataclass(frozen=True, slots=True)
class SourceReading:
    """What a file says, as far as it can be told.

    Attributes:
        found: its pipelines.
        names: what its names are, for configs that name classes in mappings.
        exhausted: it asked for more work than a file may; what came after is not among the rest.
    """

    source: SourceText
    found: tuple[FoundPipeline, ...]
    names: dict[str, Any]
    exhausted: bool


def calls_of(text: str, file: str, given: Mapping[str, Any] | None = None, wanted: str = "") -> list[FoundPipeline]:
    """Every pipeline of a file of Python or a notebook, as calls; nothing of it is run.

    Args:
        text: what it says.
        file: its name, for places.
        given: values for what cannot be known, by expression: `{"cfg.size": 512}`.
        wanted: a function that is to be gone through even where the file calls it: its name, or `Class.method`.

    Raises:
        RecipeError: it is no Python; or nothing in it is called as `given` says.

    >>> text = "import albumentations as A\\nsize = 2 * 32\\ntrain = A.Compose([A.RandomCrop(height=size, width=size)])"
    >>> (found,) = calls_of(text, "t.py")
    >>> found.name, found.call.children[0].args
    ('train', {'height': 64, 'width': 64})
    """
    return list(read(text, file, given, wanted).found)


def read(
    text: str, file: str, given: Mapping[str, Any] | None = None, wanted: str = "", base: Any = None
) -> SourceReading:
    """A file as `calls_of` reads it, with its names."""
    source = parse(text, file)
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _is_transform(node)]
    reader = SourceReader(source, given or {}, nodes)
    if base is not None:
        reader.module.names["_base_"] = Mapped(base)
    try:
        reader.read(wanted)
        found = tuple(_found(reader))
    except RecursionError:
        raise wrong("it is nested too deeply", source.place(1)) from None
    missing = [key for key in given or {} if key not in reader.used]
    if missing:
        raise wrong(
            f"nothing that is called {missing[0]} is asked for in the file: --set {missing[0]}=...", source.place(1)
        )
    return SourceReading(source, found, reader.module.names, reader.exhausted)


_NAMES = frozenset({*OF_TORCHVISION, *CLASSES, *REFUSED, *GROUPS, *OUTPUTS, FLIP, *_HOLDING})


def _is_transform(node: ast.Call) -> bool:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in _NAMES or (name[:1].isupper() and registry.arguments(name) is not None)


def _found(reader: SourceReader) -> Iterator[FoundPipeline]:
    """What was made and is part of nothing else: each Compose; else groups and lists; else lone transforms."""
    inside: set[int] = set()
    for kept in reader.kept:
        if kept.value.name in _HOLDING:
            for part in _parts(kept.value):
                inside.add(id(part))
    composes = [kept for kept in reader.kept if kept.value.name in _COMPOSES and id(kept.value) not in inside]
    groups = [
        kept
        for kept in reader.kept
        if kept.value.name in GROUPS and id(kept.value) not in inside and kept.value.path.startswith("albumentations")
    ]
    lists = [
        kept
        for kept in reader.lists
        if _is_list(kept.value) and not any(id(part) in inside for part in _flat(kept.value))
    ]
    names: dict[str, list[Call]] = {}
    for kept in _once([*composes, *groups, *lists]):
        for found in _ways(reader, kept):
            before = names.setdefault(found.name, [])
            if found.call in before:
                continue  # of a loop, or a function that is called again
            before.append(found.call)
            yield found if len(before) == 1 else replace(found, name=f"{found.name}.{len(before)}")


def _once(kept: Sequence[KeptValue]) -> list[KeptValue]:
    """Without those lists that are the same object under another name, or a part of a longer one."""
    seen: set[int] = set()
    found: list[KeptValue] = []
    for each in kept:
        if id(each.value) not in seen:
            found.append(each)
        seen.add(id(each.value))
        if isinstance(each.value, list | tuple):
            seen.update(id(part) for part in _flat(each.value))
    return found


def _is_list(value: Any) -> bool:
    """Whether a list is one of transforms, and of nothing else."""
    items = [item.item if isinstance(item, Maybe) else item for item in value]
    made = [item for item in items if isinstance(item, Made)]
    known = [item for item in made if _is_ours(item)]
    return len(made) == len(items) and bool(known) and not any(item.name in _COMPOSES for item in made)


def _is_ours(made: Made) -> bool:
    """Whether a class is one of albumentations or torchvision, by its module, or by its name where it has none."""
    if made.path.startswith(("albumentations.", "torchvision.transforms.")):
        return True
    return made.path == made.name and (made.name in _NAMES or registry.arguments(made.name) is not None)


def _parts(made: Made) -> Iterator[Any]:
    for value in (*made.args, *made.named.values()):
        yield value
        yield from _flat(value)


def _flat(value: Any, depth: int = 0) -> Iterator[Any]:
    """Everything in lists, ways and conditions."""
    match value:
        case list() | tuple() if depth < _DEEPEST:
            for item in value:
                yield item
                yield from _flat(item, depth + 1)
        case dict() if depth < _DEEPEST:
            yield from _flat(list(value.values()), depth + 1)
        case Maybe(item=item):
            yield item
            yield from _flat(item, depth + 1)
        case Either(yes=yes, no=no):
            yield from (yes, no)
            yield from _flat(yes, depth + 1)
            yield from _flat(no, depth + 1)


def _ways(reader: SourceReader, kept: KeptValue) -> Iterator[FoundPipeline]:
    """A pipeline for training, and as it is otherwise, where a test in it tells the two apart."""
    name = ".".join(kept.path)
    tests = _tests(kept.value, kept.conditions)
    phases = [test for test in tests if role(test.label)]
    taken = tuple((test, role(test.label) != "eval") for test in tests)
    first = next((test for test in phases if role(test.label) == "eval"), None)
    yield _as(
        reader, kept, taken, name if not phases else _behind(name, phases[0].way(role(phases[0].label) != "eval"))
    )
    if phases:
        others = tuple((test, not role(test.label) or test is first) for test in tests)
        yield _as(reader, kept, others, _behind(name, phases[0].way(phases[0] is first)))


def _behind(name: str, way: str) -> str:
    return f"{name}.{way}" if name else way


def _as(reader: SourceReader, kept: KeptValue, taken: Conditions, name: str) -> FoundPipeline:
    """A pipeline where tests hold, or do not."""
    writer = CallWriter(reader.source, (*kept.conditions, *taken))
    value = kept.value
    if isinstance(value, Made):
        call = writer.call(value)
    else:
        place = getattr(value, "at", None) or writer.place(next(iter(_flat(value))))
        call = Call(COMPOSE, {}, writer.children(value), place)
    otherwise = tuple(
        f"`{test.text}` in line {test.at.line} cannot be told; it was taken as {'true' if holds else 'false'}"
        for test, holds in taken if not role(test.label)
    )  # fmt: skip
    return FoundPipeline(name, _same_name(call), tuple(writer.lost), otherwise)


def _same_name(call: Call) -> Call:
    return replace(call, name=COMPOSE) if call.name in _COMPOSES else call


def _tests(value: Any, conditions: Conditions) -> list[Test]:
    """Tests in a value that the conditions around it do not decide, in order."""
    known = {test for test, _ in conditions}
    found: dict[Test, None] = {}
    left, count = [value], 0
    while left and count < 20_000:
        each, count = left.pop(), count + 1
        match each:
            case Made():
                left += [*each.named.values(), *each.args][::-1]
            case list() | tuple():
                left += each[::-1]
            case dict():
                left += list(each.values())[::-1]
            case Maybe():
                found.update(dict.fromkeys(test for test, _ in each.conditions))
                left.append(each.item)
            case Either():
                found[each.test] = None
                left += [each.no, each.yes]
    return [test for test in found if test not in known][:8]
