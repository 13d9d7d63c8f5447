"""Pipelines of Python source as calls, each with the names that lead to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.bring.phases import role
from augrecipes.bring.source.execute import Kept, Reader
from augrecipes.bring.source.operators import is_plain
from augrecipes.bring.source.text import Source, parse, wrong
from augrecipes.bring.source.values import (
    Class,
    Conditions,
    Either,
    Function,
    Instance,
    Made,
    Mapped,
    Maybe,
    Named,
    Partial,
    Test,
    Unknown,
    under,
)  # fmt: skip
from augrecipes.bring.torchvision.signatures import PARAMETERS as OF_TORCHVISION
from augrecipes.ops import registry
from augrecipes.ops.groups import COMPOSE, GROUPS, ONE_OR_OTHER, SEQUENTIAL
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.refused import REFUSED
from augrecipes.recipe.history import CLASSES, FLIP
from augrecipes.recipe.nodes import Place
from augrecipes.recipe.releases import PLACES
from augrecipes.recipe.write import flow

_COMPOSES = (COMPOSE, "ReplayCompose")
_HOLDING = (*_COMPOSES, *GROUPS, ONE_OR_OTHER, "RandomApply", "RandomChoice", "PerChannel", "SelectiveChannelTransform")
_PARAMS = ("BboxParams", "KeypointParams")
# What is named here already, as parts of it may be unknown; other classes of albumentations by their translation.
_SETTING = (*_COMPOSES, *_PARAMS)
_DEEPEST = 24
_LONGEST = 400  # of a line that is to be filled in


@dataclass(frozen=True, slots=True)
class Lost:
    """What of a pipeline is not known: a name, why, and where."""

    name: str
    why: str
    place: Place


@dataclass(frozen=True, slots=True)
class Found:
    """A pipeline of the source.

    Attributes:
        name: the names that lead to it, joined by dots: `get_transforms.train`, `Data.transform`.
        call: it; of a list of transforms a Compose of them.
        lost: what of it is not known beside its transforms.
        otherwise: the way that was not taken, of tests that cannot be told and name neither training nor evaluation.
    """

    name: str
    call: Call
    lost: tuple[Lost, ...] = ()
    otherwise: tuple[str, ...] = ()

    @property
    def place(self) -> Place:
        """Where it starts."""
        return self.call.place


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file says, as far as it can be told.

    Attributes:
        found: its pipelines.
        names: what its names are, for configs that name classes in mappings.
        exhausted: it asked for more work than a file may; what came after is not among the rest.
    """

    source: Source
    found: tuple[Found, ...]
    names: dict[str, Any]
    exhausted: bool


def calls_of(text: str, file: str, given: Mapping[str, Any] | None = None, wanted: str = "") -> list[Found]:
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


def read(text: str, file: str, given: Mapping[str, Any] | None = None, wanted: str = "", base: Any = None) -> Reading:
    """A file as `calls_of` reads it, with its names."""
    source = parse(text, file)
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _is_transform(node)]
    reader = Reader(source, given or {}, nodes)
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
    return Reading(source, found, reader.module.names, reader.exhausted)


_NAMES = frozenset({*OF_TORCHVISION, *CLASSES, *REFUSED, *GROUPS, *OUTPUTS, FLIP, *_HOLDING})


def _is_transform(node: ast.Call) -> bool:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in _NAMES or (name[:1].isupper() and registry.arguments(name) is not None)


def _found(reader: Reader) -> Iterator[Found]:
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


def _once(kept: Sequence[Kept]) -> list[Kept]:
    """Without those lists that are the same object under another name, or a part of a longer one."""
    seen: set[int] = set()
    found: list[Kept] = []
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


def _ways(reader: Reader, kept: Kept) -> Iterator[Found]:
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


def _as(reader: Reader, kept: Kept, taken: Conditions, name: str) -> Found:
    """A pipeline where tests hold, or do not."""
    writer = _Writer(reader.source, (*kept.conditions, *taken))
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
    return Found(name, _same_name(call), tuple(writer.lost), otherwise)


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


class _Writer:
    """Values as calls, where tests hold or do not."""

    def __init__(self, source: Source, taken: Conditions) -> None:
        self.source, self.taken = source, taken
        self.lost: list[Lost] = []
        self.depth = 0

    def place(self, value: Any) -> Place:
        match value:
            case Made(node=node) | Function(node=node):
                return self.source.at(node)
            case Unknown(at=at):
                return at
        return self.source.place(1)

    def call(self, made: Made, *, top: bool = True) -> Call:
        """What a class with its arguments is."""
        name, place = made.name, self.source.at(made.node)
        package = made.path.rpartition(".")[0]
        package = "albumentations" if package.startswith("albumentations") else package
        args, named = (
            [self.value(each) for each in made.args],
            {key: self.value(each) for key, each in made.named.items()},
        )
        children = None
        if name in _HOLDING:
            key = next((key for key in ("transforms", "first") if key in named), "")
            held = named.pop(key) if key else args.pop(0) if args else ()
            if name == ONE_OR_OTHER and not isinstance(held, list | tuple):
                held = [held, named.pop("second") if "second" in named else args.pop(0) if args else None]
            children = self.children(held)
        given = self._by_name(name, package, args, named)
        if made.extra is not None:
            given["**"] = made.extra
        if name in _COMPOSES:
            given = self._of_compose(given, place)
            if any(child.package == "albumentations" for child in children or ()):
                package = "albumentations"  # whoever's Compose it is
            return Call(COMPOSE, given, children, place, package)
        unknown = [each for value in given.values() for each in _unknowns(value)]
        if unknown:
            return Call(name, {}, children, place, package, _why(name, given, children, unknown))
        return Call(name, {key: _listed(value) for key, value in given.items()}, children, place, package)

    def _by_name(self, name: str, package: str, args: list[Any], named: dict[str, Any]) -> dict[str, Any]:
        if not args:
            return named
        if package.startswith("torchvision"):
            order = tuple(key for key in OF_TORCHVISION.get(name, ()) if key != "transforms")
        elif package.startswith("albumentations") or not package:
            order = tuple(PLACES.get(COMPOSE if name in _COMPOSES else name, "").split() if name in _SETTING else ())
        else:
            order = ()
        if len(args) > len(order):
            return {"_args_": list(args), **named}
        return {key: value for key, value in zip(order, args, strict=False) if key not in named} | named

    def _of_compose(self, given: dict[str, Any], place: Place) -> dict[str, Any]:
        """Arguments of a Compose; what is not known of them is lost, and the rest stays."""
        found: dict[str, Any] = {}
        for key, value in given.items():
            if isinstance(value, dict):
                lacking = {inner: list(_unknowns(each)) for inner, each in value.items()}
                for inner, unknown in lacking.items():
                    if unknown:
                        self._lose(f"{key}.{inner}", unknown, place)
                found[key] = _listed({inner: each for inner, each in value.items() if not lacking[inner]})
            elif unknown := list(_unknowns(value)):
                self._lose(key, unknown, place)
            else:
                found[key] = _listed(value)
        return found

    def _lose(self, name: str, unknown: list[Unknown], place: Place) -> None:
        self.lost.append(Lost(name, f"{_lacking(unknown)}", unknown[0].at if unknown[0].at.line else place))

    def children(self, held: Any) -> tuple[Call, ...]:
        """The transforms of a group."""
        if isinstance(held, dict):
            held = list(held.values())
        if not isinstance(held, list | tuple):
            held = [held]
        return tuple(child for item in held for child in self._child(item))

    def _child(self, item: Any) -> Iterator[Call]:
        item = self.value(item) if isinstance(item, Either) else item
        match item:
            case None:
                return
            case Maybe(conditions=conditions, item=inner):
                if all(dict(self.taken).get(test, True) == holds for test, holds in conditions):
                    yield from self._child(inner)
            case Made() if self.depth < _DEEPEST:
                self.depth += 1
                yield self.call(item, top=False)
                self.depth -= 1
            case list() | tuple() if self.depth < _DEEPEST:
                self.depth += 1
                for each in item:
                    yield from self._child(each)
                self.depth -= 1
            case Instance(cls=Class(name=name)):
                why = "is a class of this file: make it known with augrecipes.register(cls)"
                yield Call(name, {}, None, self.source.place(1), "", why)
            case Function(name=name):
                yield Call(name, {}, None, self.place(item), "", "is code, and a recipe holds none: write a class and "
                           "make it known with augrecipes.register(cls)")  # fmt: skip
            case Unknown(text=text, at=at):
                yield Call(text, {}, None, at, "", f"is not known without running the source: {_lacking([item])}")
            case Named(path=path):
                yield Call(path.rpartition(".")[2], {}, None, self.source.place(1), "", "is no transform, but a name")
            case _:
                yield Call(type(item).__name__, {}, None, self.source.place(1), "", "is no transform")

    def value(self, value: Any, depth: int = 0) -> Any:
        """A value as the tests have it; what no argument can be stays unknown."""
        value = under(value, self.taken)
        if depth > _DEEPEST:
            return Unknown("a value that is nested too deeply")
        match value:
            case Either():
                return self.value(value.yes, depth + 1)
            case Made() if value.name in _PARAMS:
                args = [self.value(each, depth + 1) for each in value.args]
                named = {key: self.value(each, depth + 1) for key, each in value.named.items()}
                return self._by_name(value.name, "albumentations", args, named)
            case list():
                return [self.value(each, depth + 1) for each in value]
            case tuple():
                return tuple(self.value(each, depth + 1) for each in value)
            case dict():
                return {key: self.value(each, depth + 1) for key, each in value.items()}
        return value


def _unknowns(value: Any) -> Iterator[Unknown]:
    """What of an argument is not known."""
    if is_plain(value):
        return
    left, count = [value], 0
    while left and count < 10_000:
        each, count = left.pop(0), count + 1
        match each:
            case list() | tuple():
                left += each
            case dict():
                left += each.values()
            case Unknown():
                yield each
            case Made(path=path, node=node):
                yield Unknown(f"{path}(...)", Place("", node.lineno))
            case Maybe(item=item):
                left.append(item)
            case Named(path=path):
                yield Unknown(path, Place(), (path,))
            case Function() | Class() | Instance() | Partial():
                yield Unknown(getattr(each, "name", "an object"))


def _listed(value: Any, depth: int = 0) -> Any:
    """A value as arguments are written: lists for tuples."""
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return [_listed(item, depth + 1) for item in value]
    return {key: _listed(item, depth + 1) for key, item in value.items()} if isinstance(value, dict) else value


def _why(name: str, given: Mapping[str, Any], children: Sequence[Call] | None, unknown: Sequence[Unknown]) -> str:
    """The line that is to be filled in, and with what."""
    if isinstance(given.get("_args_"), list):
        takes = (registry.arguments(name) or {"properties": {}})["properties"]
        names = [key for key in takes if key != "p"] or PLACES.get(name, "").split()
        rest = {key: value for key, value in given.items() if key != "_args_"}
        given = dict(zip(names, given["_args_"], strict=False)) | rest
    line = f"{name}: {_written(given, children)}"
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
    return f"fill in `{line}`: {_lacking(unknown)}"


def _written(given: Mapping[str, Any], children: Sequence[Call] | None = None) -> str:
    items = [f"{key}: {_value(value)}" for key, value in given.items()]
    if children is not None:
        steps = ", ".join(f"{{{child.name}: {_written(child.args, child.children)}}}" for child in children)
        items.append(f"steps: [{steps}]")
    return "{" + ", ".join(items) + "}"


def _value(value: Any) -> str:
    match value:
        case Unknown(text=text):
            return f"${{{text}}}"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return "{" + ", ".join(f"{key}: {_value(item)}" for key, item in value.items()) + "}"
        case Made(path=path) | Named(path=path):
            return f"${{{path}}}"
        case None | bool() | int() | float() | str():
            return flow(value)
    return "${...}"


def _lacking(unknown: Sequence[Unknown]) -> str:
    """What the file does not tell, and how to give it."""
    texts = list(dict.fromkeys(each.text for each in unknown))[:4]
    roots = list(dict.fromkeys(root for each in unknown for root in each.roots))[:4]
    said = f"the file does not tell {', '.join(f'`{text}`' for text in texts)}"
    return f"{said}; give it: {' '.join(f'--set {root}=VALUE' for root in roots)}" if roots else f"{said}; write it"


__all__ = ["SEQUENTIAL", "Found", "Lost", "Reading", "calls_of", "read"]
