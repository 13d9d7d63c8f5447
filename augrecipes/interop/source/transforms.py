"""Values of Python source as calls, and what of them is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from augrecipes.interop.draft import Call, LeftOut, takes_of
from augrecipes.interop.source.functions import is_plain
from augrecipes.interop.source.text import SourceText
from augrecipes.interop.source.values import (
    Class,
    Created,
    Function,
    Instance,
    OutsideName,
    Partial,
    UnknownValue,
    walk,
)  # fmt: skip
from augrecipes.interop.torchvision.steps import PARAMETERS as OF_TORCHVISION
from augrecipes.ops.groups import COMPOSE, GROUPS, ONE_OR_OTHER
from augrecipes.recipe.history import PLACES
from augrecipes.recipe.nodes import Place
from augrecipes.recipe.write import flow

COMPOSES = (COMPOSE, "ReplayCompose")
HOLDING = (*COMPOSES, *GROUPS, ONE_OR_OTHER, "RandomApply", "RandomChoice", "PerChannel", "SelectiveChannelTransform")
_DEEPEST = 24
_LONGEST = 400  # of a line that is to be filled in


class CallWriter:
    """Transforms of a file as calls, and what of their Compose is lost."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.lost: list[LeftOut] = []
        self.depth = 0

    def call(self, created: Created) -> Call:
        """What a class with its arguments is."""
        name, place = created.name, self.source.at(created.node)
        package = created.path.rpartition(".")[0]
        package = "albumentations" if package.startswith("albumentations") else package
        args, named = list(created.args), dict(created.named)
        children = None
        if name in HOLDING:
            key = next((key for key in ("transforms", "first") if key in named), "")
            held = named.pop(key) if key else args.pop(0) if args else ()
            if name == ONE_OR_OTHER and not isinstance(held, list | tuple):
                held = [held, named.pop("second") if "second" in named else args.pop(0) if args else None]
            children = self.children(held)
        given = _by_name(name, package, args, named)
        if created.extra is not None:
            given["**"] = created.extra
        if name in COMPOSES:
            given = self._of_compose(given, place)
            if any(child.package == "albumentations" for child in children or ()):
                package = "albumentations"  # whoever's Compose it is
            return Call(COMPOSE, given, children, place, package)
        unknown = [each for value in given.values() for each in _unknowns(value)]
        if unknown:
            return Call(name, {}, children, place, package, _why(name, given, children, unknown))
        return Call(name, _listed(given), children, place, package)

    def _of_compose(self, given: dict[str, Any], place: Place) -> dict[str, Any]:
        """Arguments of a Compose; what is not known of them is lost, and the rest stays."""
        known: dict[str, Any] = {}
        for key, value in given.items():
            if isinstance(value, dict):
                known[key] = {inner: _listed(each) for inner, each in value.items()
                              if not self._is_lost(f"{key}.{inner}", each, place)}  # fmt: skip
            elif not self._is_lost(key, value, place):
                known[key] = _listed(value)
        return known

    def _is_lost(self, name: str, value: Any, place: Place) -> bool:
        if unknown := list(_unknowns(value)):
            self.lost.append(LeftOut(name, _lacking(unknown), unknown[0].at if unknown[0].at.line else place))
        return bool(unknown)

    def children(self, held: Any) -> tuple[Call, ...]:
        """The transforms of a group."""
        items = [*held.values()] if isinstance(held, dict) else held if isinstance(held, list | tuple) else [held]
        if self.depth >= _DEEPEST:
            return ()
        self.depth += 1
        calls = tuple(child for item in items for child in self._child(item))
        self.depth -= 1
        return calls

    def _child(self, item: Any) -> Iterator[Call]:
        place, why = self.source.place(1), "is no transform"
        name = "dict" if isinstance(item, dict) else type(item).__name__
        match item:
            case None:
                return
            case Created():
                yield self.call(item)
                return
            case list() | tuple():
                yield from self.children(item)
                return
            case Instance(cls=Class(name=name)):
                why = "is a class of this file: make it known with augrecipes.register(cls)"
            case Function(name=name, node=node):
                place = self.source.at(node)
                why = "is code, and a recipe holds none: write a class and make it known with augrecipes.register(cls)"
            case UnknownValue(text=name, at=place):
                why = f"is not known without running the source: {_lacking([item])}"
            case OutsideName():
                name, why = item.last, "is no transform, but a name"
        yield Call(name, {}, None, place, "", why)


def _by_name(name: str, package: str, args: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by their names where these are known; those of albumentations' classes by their translation."""
    order: list[str] = []
    if package.startswith("torchvision"):
        order = [key for key in OF_TORCHVISION.get(name, ()) if key != "transforms"]
    elif name in COMPOSES and package in ("", "albumentations"):
        order = PLACES[COMPOSE].split()
    if len(args) > len(order):
        return {"_args_": args, **named}
    return {key: value for key, value in zip(order, args, strict=False) if key not in named} | named


def _unknowns(value: Any) -> Iterator[UnknownValue]:
    """What of an argument is not known."""
    for each in () if is_plain(value) else walk(value):
        match each:
            case UnknownValue():
                yield each
            case Created(path=path, node=node):
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
        case Created(path=path) | OutsideName(path=path):
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
