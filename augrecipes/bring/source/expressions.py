"""Expressions of Python source as values: names, attributes and items; what is not known stays `UnknownValue`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from augrecipes.bring.source.known import USUAL, NotKnown, constant, items_of, plain
from augrecipes.bring.source.text import SourceText, dotted, label_of, tested
from augrecipes.bring.source.values import (
    MISSING,
    Class,
    Conditions,
    Either,
    Function,
    Instance,
    KeptValue,
    Listed,
    Made,
    Maybe,
    NameScope,
    OutsideName,
    Test,
    UnknownValue,
    either,
    given_value,
    under,
)  # fmt: skip
from augrecipes.recipe.nodes import NOWHERE

_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}
_DEEPEST = 90  # expressions, statements and calls inside of each other
_FEW = 40  # parts of an expression that are looked at for names
MOST_ROUNDS = 256  # of a comprehension or a loop


class Spent(Exception):  # noqa: N818 - the reader stops, and says so
    """More was to be worked out than a file may ask for."""


class Expressions:
    """What expressions are, in the scope at hand and under the conditions that hold there."""

    def __init__(self, source: SourceText, given: Mapping[str, Any]) -> None:
        self.source, self.given = source, given
        self.used: set[str] = set()  # of `given`
        self.module = NameScope(names={"__name__": "__main__"})
        self.scope = self.module
        self.conditions: Conditions = ()
        self.path: list[str] = []  # names that lead to where the reader is
        self.kept: list[KeptValue] = []
        self.seen: set[int] = set()  # calls that were gone through
        self.depth, self.steps = 0, 0
        self.most = 40_000 + 4 * sum(map(len, source.lines))
        self.forms: dict[type[ast.expr], Callable[[Any], Any]] = {}  # how each is worked out

    @contextmanager
    def named(self, name: str) -> Iterator[None]:
        """Put a name behind those that lead here."""
        if name:
            self.path.append(name)
        try:
            yield
        finally:
            if name:
                self.path.pop()

    @contextmanager
    def holding(self, node: ast.expr, *, holds: bool) -> Iterator[None]:
        """Go on where a test holds that cannot be told, or where it does not."""
        while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node, holds = node.operand, not holds
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPPOSITE:
            opposite = ast.Compare(node.left, [_OPPOSITE[type(node.ops[0])]()], node.comparators)
            node, holds = ast.copy_location(opposite, node), not holds
        said = tested(node) or self.source.text(node)
        test = Test(said, label_of(node) or f"line_{node.lineno}", self.source.at(node))
        before = self.conditions
        self.conditions = (*before, (test, holds))
        try:
            with self.named(test.way(holds)):
                yield
        finally:
            self.conditions = before

    def note(self, made: Made) -> None:
        """Keep what was made, with the name it has here."""
        self.seen.add(id(made.node))
        self.kept.append(KeptValue(tuple(self.path), made, self.conditions))

    # What statements do, see `execute`.

    def run(self, function: Function, args: list[Any], named: dict[str, Any]) -> Any:
        """What a function of the file gives."""
        raise NotImplementedError

    def instance(self, cls: Class, args: list[Any], named: dict[str, Any]) -> Any:
        """An object of a class of the file."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give a value a name."""
        raise NotImplementedError

    # Values.

    def of(self, node: ast.expr) -> Any:
        """What an expression is."""
        self.spend()
        form = self.forms.get(type(node))
        if form is None or self.depth > _DEEPEST:
            return self.unknown(node)
        self.depth += 1
        try:
            return form(node)
        except NotKnown:
            return self.unknown(node)
        finally:
            self.depth -= 1

    def spend(self, steps: int = 1) -> None:
        """Count work."""
        self.steps += steps
        if self.steps > self.most:
            raise Spent

    def unknown(self, node: ast.expr, *parts: Any) -> UnknownValue:
        """An expression that cannot be told, and the names that it needs."""
        path = dotted(node)
        known = [root for part in parts if isinstance(part, UnknownValue) for root in part.roots]
        roots = [path] if path else known + self._names(node)
        return UnknownValue(path or self.source.text(node), self.source.at(node), tuple(dict.fromkeys(roots))[:4])

    def _names(self, node: ast.expr) -> list[str]:
        """Names in an expression that stand for nothing that is known; those that are called are not among them."""
        found: list[str] = []
        left: list[ast.AST] = [node]
        for each in left:
            if isinstance(each, ast.Name | ast.Attribute | ast.Subscript) and (path := dotted(each)):
                first = path.partition(".")[0]
                value = next((scope.names[first] for scope in self.scope.chain() if first in scope.names), None)
                if path == first and isinstance(value, UnknownValue):
                    found += value.roots
                elif value is None or isinstance(value, UnknownValue | OutsideName):
                    found.append(path)
                continue
            inner = ast.iter_child_nodes(each)
            left += [part for part in inner if part is not getattr(each, "func", None)] if len(left) < _FEW else []
        return found

    def spread(self, node: ast.expr, function: Callable[..., Any], *values: Any) -> Any:
        """A function of values, each way of those that have several."""
        for value in values:
            if isinstance(value, Either):
                ways = [
                    self.spread(node, function, *(under(each, ((value.test, holds),)) for each in values))
                    for holds in (True, False)
                ]
                self.spend()
                return either(value.test, *ways)
        if any(isinstance(value, UnknownValue) for value in values):
            return self.unknown(node, *values)
        try:
            return function(*values)
        except NotKnown:
            return self.unknown(node, *values)

    def _constant(self, node: ast.Constant) -> Any:
        if node.value is None or isinstance(node.value, bool | int | float | str):
            return node.value
        raise NotKnown

    def _given(self, node: ast.expr) -> Any:
        """What the user gave for an expression; MISSING where nothing."""
        path = dotted(node) if self.given else ""
        if path not in self.given:
            return MISSING
        self.used.add(path)
        return given_value(self.given[path])

    def _name(self, node: ast.Name) -> Any:
        if (value := self._given(node)) is not MISSING:
            return value
        return self.lookup(node)

    def lookup(self, node: ast.Name) -> Any:
        """What a name is in the scope at hand."""
        for scope in self.scope.chain():
            if (value := scope.names.get(node.id, MISSING)) is not MISSING:
                return under(value, self.conditions)
        return OutsideName(USUAL.get(node.id, node.id), bound=node.id in USUAL)

    def _attribute(self, node: ast.Attribute) -> Any:
        if (value := self._given(node)) is not MISSING:
            return value
        held = self.of(node.value)
        return self.spread(node, lambda value: self.attribute(value, node), held)

    def attribute(self, held: Any, node: ast.Attribute) -> Any:
        """An attribute of what is known."""
        name = node.attr
        match held:
            case OutsideName():
                path = f"{held.path}.{name}"
                try:
                    return constant(path)
                except NotKnown:
                    return OutsideName(path, held.bound)
            case Instance():
                value = held.scope.names.get(name, MISSING)
                value = held.cls.get(name) if value is MISSING else value
                return self._taken(under(value, self.conditions), held, node)
            case Class():
                return self._taken(under(held.get(name), self.conditions), held, node)
            case Mapping() if name in held:
                return under(held[name], self.conditions)
            case Made() if name == "transforms" and held.args:
                return held.args[0]
            case tuple() if name == "shape":
                raise NotKnown
        raise NotKnown

    def _taken(self, value: Any, owner: Any, node: ast.Attribute) -> Any:
        if value is MISSING:
            return self.unknown(node)
        if isinstance(value, Function):
            bound = Function(value.node, value.scope, value.name, value.defaults, owner)
            return self.run(bound, [], {}) if value.is_property else bound
        return value

    def _subscript(self, node: ast.Subscript) -> Any:
        if (value := self._given(node)) is not MISSING:
            return value
        held = self.of(node.value)
        if isinstance(node.slice, ast.Slice):
            parts = [self.of(each) if each else None for each in (node.slice.lower, node.slice.upper, node.slice.step)]
            return self.spread(node, lambda value, *ends: self._slice(value, ends), held, *parts)
        return self.spread(node, self._item, held, self.of(node.slice))

    def _item(self, held: Any, key: Any) -> Any:
        if isinstance(held, Mapping) and isinstance(key, str | int | float | None) and key in held:
            return under(held[key], self.conditions)
        if isinstance(held, str | list | tuple) and isinstance(key, int) and -len(held) <= key < len(held):
            before = held[: key + 1] if key >= 0 else held[key:]
            if not isinstance(held, Listed) or not any(isinstance(item, Maybe) for item in before):
                return held[key]
        raise NotKnown

    def _slice(self, held: Any, ends: Sequence[Any]) -> Any:
        if not isinstance(held, str | list | tuple) or not all(isinstance(end, int | None) for end in ends):
            raise NotKnown
        if isinstance(held, list):
            items_of(held)
            self.spend(len(held))
            return Listed(held[slice(*ends)], getattr(held, "at", NOWHERE), len(self.conditions))
        return plain(held.__getitem__, slice(*ends)) if isinstance(held, str) else held[slice(*ends)]
