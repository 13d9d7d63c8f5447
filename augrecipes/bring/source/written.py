"""Values of Python source as calls, and what of them is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from augrecipes.bring.draft import Call, LeftOut, takes_of
from augrecipes.bring.source.known import is_plain
from augrecipes.bring.source.text import SourceText
from augrecipes.bring.source.values import (
    Class,
    Conditions,
    Either,
    Function,
    Instance,
    Made,
    Maybe,
    OutsideName,
    Partial,
    UnknownValue,
    under,
    walk,
)  # fmt: skip
from augrecipes.bring.torchvision.signatures import PARAMETERS as OF_TORCHVISION
from augrecipes.ops.groups import COMPOSE, GROUPS, ONE_OR_OTHER
from augrecipes.recipe.history import PLACES
from augrecipes.recipe.nodes import Place
from augrecipes.recipe.write import flow

COMPOSES = (COMPOSE, "ReplayCompose")
HOLDING = (*COMPOSES, *GROUPS, ONE_OR_OTHER, "RandomApply", "RandomChoice", "PerChannel", "SelectiveChannelTransform")
_PARAMS = ("BboxParams", "KeypointParams")
# What is named here already, as parts of it may be unknown; other classes of albumentations by their translation.
_SETTING = (*COMPOSES, *_PARAMS)
_DEEPEST = 24
_LONGEST = 400  # of a line that is to be filled in


class CallWriter:
    """Values as calls, where tests hold or do not."""

    def __init__(self, source: SourceText, taken: Conditions) -> None:
        self.source, self.taken = source, taken
        self.lost: list[LeftOut] = []
        self.depth = 0

    def place(self, value: Any) -> Place:
        """Where a value stands in the file."""
        match value:
            case Made(node=node) | Function(node=node):
                return self.source.at(node)
            case UnknownValue(at=at):
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
        if name in HOLDING:
            key = next((key for key in ("transforms", "first") if key in named), "")
            held = named.pop(key) if key else args.pop(0) if args else ()
            if name == ONE_OR_OTHER and not isinstance(held, list | tuple):
                held = [held, named.pop("second") if "second" in named else args.pop(0) if args else None]
            children = self.children(held)
        given = self._by_name(name, package, args, named)
        if made.extra is not None:
            given["**"] = made.extra
        if name in COMPOSES:
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
            order = tuple(PLACES.get(COMPOSE if name in COMPOSES else name, "").split() if name in _SETTING else ())
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

    def _lose(self, name: str, unknown: list[UnknownValue], place: Place) -> None:
        self.lost.append(LeftOut(name, f"{_lacking(unknown)}", unknown[0].at if unknown[0].at.line else place))

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
            case UnknownValue(text=text, at=at):
                yield Call(text, {}, None, at, "", f"is not known without running the source: {_lacking([item])}")
            case OutsideName(path=path):
                yield Call(path.rpartition(".")[2], {}, None, self.source.place(1), "", "is no transform, but a name")
            case _:
                yield Call(type(item).__name__, {}, None, self.source.place(1), "", "is no transform")

    def value(self, value: Any, depth: int = 0) -> Any:
        """A value as the tests have it; what no argument can be stays unknown."""
        value = under(value, self.taken)
        if depth > _DEEPEST:
            return UnknownValue("a value that is nested too deeply")
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


def _unknowns(value: Any) -> Iterator[UnknownValue]:
    """What of an argument is not known."""
    for each in () if is_plain(value) else walk(value):
        match each:
            case UnknownValue():
                yield each
            case Made(path=path, node=node):
                yield UnknownValue(f"{path}(...)", Place("", node.lineno))
            case OutsideName(path=path):
                yield UnknownValue(path, Place(), (path,))
            case Function() | Class() | Instance() | Partial():
                yield UnknownValue(getattr(each, "name", "an object"))


def _listed(value: Any, depth: int = 0) -> Any:
    """A value as arguments are written: lists for tuples."""
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        return [_listed(item, depth + 1) for item in value]
    return {key: _listed(item, depth + 1) for key, item in value.items()} if isinstance(value, dict) else value


def _why(name: str, given: Mapping[str, Any], children: Sequence[Call] | None, unknown: Sequence[UnknownValue]) -> str:
    """The line that is to be filled in, and with what."""
    if isinstance(given.get("_args_"), list):
        takes = takes_of(name)
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
        case UnknownValue(text=text):
            return f"${{{text}}}"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return "{" + ", ".join(f"{key}: {_value(item)}" for key, item in value.items()) + "}"
        case Made(path=path) | OutsideName(path=path):
            return f"${{{path}}}"
        case None | bool() | int() | float() | str():
            return flow(value)
    return "${...}"


def _lacking(unknown: Sequence[UnknownValue]) -> str:
    """What the file does not tell, and how to give it."""
    texts = list(dict.fromkeys(each.text for each in unknown))[:4]
    roots = list(dict.fromkeys(root for each in unknown for root in each.roots))[:4]
    said = f"the file does not tell {', '.join(f'`{text}`' for text in texts)}"
    return f"{said}; give it: {' '.join(f'--set {root}=VALUE' for root in roots)}" if roots else f"{said}; write it"
