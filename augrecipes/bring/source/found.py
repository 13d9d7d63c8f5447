"""Pipelines of Python source as calls, each with the names that lead to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from augrecipes.bring.draft import Call, LeftOut
from augrecipes.bring.source.execute import SourceReader
from augrecipes.bring.source.text import parse, role, wrong
from augrecipes.bring.source.values import (
    Conditions,
    Either,
    KeptValue,
    Made,
    Mapped,
    Maybe,
    Test,
    walk,
)  # fmt: skip
from augrecipes.bring.source.written import COMPOSES, HOLDING, CallWriter
from augrecipes.bring.torchvision.signatures import PARAMETERS as OF_TORCHVISION
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, GROUPS
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe.history import CLASSES, FLIP
from augrecipes.recipe.nodes import Place


@dataclass(frozen=True, slots=True)
class Found:
    """A pipeline of a config, or of Python source.

    Attributes:
        path: keys or names that lead to it, joined by dots.
        place: where it starts.
        calls: its transforms in order, or one Compose of them.
        settings: what stands beside them for the Compose.
        lost: what of it is not known.
        otherwise: ways that were not taken.
    """

    path: str
    place: Place
    calls: tuple[Call, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    lost: tuple[LeftOut, ...] = ()
    otherwise: tuple[str, ...] = ()


@dataclass(slots=True)
class SourceReading:
    """What a file says, as far as it can be told.

    Attributes:
        found: its pipelines of objects.
        names: what its names are, for configs that name classes in mappings.
        exhausted: it asked for more work than a file may; what came after is not among the rest.
        notes: what else was not read, in words.
    """

    found: tuple[Found, ...]
    names: dict[str, Any]
    exhausted: bool
    notes: list[str] = field(default_factory=list)


def read(
    text: str, file: str, given: Mapping[str, Any] | None = None, wanted: str = "", base: Any = None
) -> SourceReading:
    """Every pipeline of a file of Python or a notebook, and what its names are; nothing of it is run.

    Args:
        text: what it says.
        file: its name, for places.
        given: values for what cannot be known, by expression: `{"cfg.size": 512}`.
        wanted: a function that is to be gone through even where the file calls it: its name, or `Class.method`.
        base: names of the files that it extends.

    Raises:
        RecipeError: it is no Python; or nothing in it is called as `given` says.

    >>> text = "import albumentations as A\\ntrain = A.Compose([A.RandomCrop(height=2 * 32, width=64)])"
    >>> (found,) = read(text, "t.py").found
    >>> found.path, found.calls[0].children[0].args
    ('train', {'height': 64, 'width': 64})
    """
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
    return SourceReading(found, reader.module.names, reader.exhausted)


_NAMES = frozenset({*OF_TORCHVISION, *CLASSES, *REFUSED, *GROUPS, *OUTPUTS, FLIP, *HOLDING})


def _is_transform(node: ast.Call) -> bool:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in _NAMES or (name[:1].isupper() and registry.arguments(name) is not None)


def _found(reader: SourceReader) -> Iterator[Found]:
    """What was made and is part of nothing else: each Compose; else groups and lists; else lone transforms."""
    inside: set[int] = set()
    for kept in reader.kept:
        if kept.value.name in HOLDING:
            inside.update(id(part) for part in walk([kept.value.args, kept.value.named]))
    composes = [kept for kept in reader.kept if kept.value.name in COMPOSES and id(kept.value) not in inside]
    groups = [
        kept
        for kept in reader.kept
        if kept.value.name in GROUPS and id(kept.value) not in inside and kept.value.path.startswith("albumentations")
    ]
    lists = [
        kept
        for kept in reader.lists
        if _is_list(kept.value) and not any(id(part) in inside for item in kept.value for part in walk(item))
    ]
    names: dict[str, list[tuple[Call, ...]]] = {}
    for kept in _once([*composes, *groups, *lists]):
        for found in _ways(reader, kept):
            before = names.setdefault(found.path, [])
            if found.calls in before:
                continue  # of a loop, or a function that is called again
            before.append(found.calls)
            yield found if len(before) == 1 else replace(found, path=f"{found.path}.{len(before)}")


def _once(kept: Sequence[KeptValue]) -> list[KeptValue]:
    """Without those lists that are the same object under another name, or a part of a longer one."""
    seen: set[int] = set()
    found: list[KeptValue] = []
    for each in kept:
        if id(each.value) not in seen:
            found.append(each)
        seen.add(id(each.value))
        if isinstance(each.value, list | tuple):
            seen.update(id(part) for part in walk(each.value))
    return found


def _is_list(value: Any) -> bool:
    """Whether a list is one of transforms, and of nothing else."""
    items = [item.item if isinstance(item, Maybe) else item for item in value]
    made = [item for item in items if isinstance(item, Made)]
    known = [item for item in made if _is_ours(item)]
    return len(made) == len(items) and bool(known) and not any(item.name in COMPOSES for item in made)


def _is_ours(made: Made) -> bool:
    """Whether a class is one of albumentations or torchvision, by its module, or by its name where it has none."""
    if made.path.startswith(("albumentations.", "torchvision.transforms.")):
        return True
    return made.path == made.name and (made.name in _NAMES or registry.arguments(made.name) is not None)


def _ways(reader: SourceReader, kept: KeptValue) -> Iterator[Found]:
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


def _as(reader: SourceReader, kept: KeptValue, taken: Conditions, name: str) -> Found:
    """A pipeline where tests hold, or do not."""
    writer = CallWriter(reader.source, (*kept.conditions, *taken))
    value = kept.value
    if isinstance(value, Made):
        call = writer.call(value)
    else:
        place = getattr(value, "at", None) or writer.place(value[0])
        call = Call(COMPOSE, {}, writer.children(value), place)
    otherwise = tuple(
        f"`{test.text}` in line {test.at.line} cannot be told; it was taken as {'true' if holds else 'false'}"
        for test, holds in taken if not role(test.label)
    )  # fmt: skip
    return Found(name, call.place, (call,), {}, tuple(writer.lost), otherwise)


def _tests(value: Any, conditions: Conditions) -> list[Test]:
    """Tests in a value that the conditions around it do not decide, in order."""
    known = {test for test, _ in conditions}
    found: dict[Test, None] = {}
    for each in walk(value, inside=True):
        if isinstance(each, Maybe):
            found.update(dict.fromkeys(test for test, _ in each.conditions))
        elif isinstance(each, Either):
            found[each.test] = None
    return [test for test in found if test not in known][:8]
