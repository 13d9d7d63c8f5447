"""Expressions of Python source as values; what cannot be told stays an `UnknownValue` with its place."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from augrecipes.interop import budget
from augrecipes.interop.source import functions, values
from augrecipes.interop.source.functions import Key, binary, plain, truth
from augrecipes.interop.source.text import SourceText, Test, dotted, names_in, role, test_of

_DEEPEST = 90  # expressions, statements and calls inside of each other
MOST_ROUNDS = 64  # of a comprehension or a loop
_BASE = "_base_"
Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


class Spent(Exception):  # noqa: N818 - the reader stops, and says so
    """More was to be evaluated than a file may ask for."""


@dataclass(eq=False)
class Expressions(ABC):
    """What expressions are in the scope at hand, under assumptions on what cannot be told."""

    source: SourceText
    given: Mapping[str, Any]
    assumed: Mapping[str, bool]  # tests by their text
    evaluating: bool  # other tests that tell training from evaluation are taken as in evaluation
    calls: Sequence[tuple[int, int, int]]  # of transforms: line, column and id, in order
    used: set[str] = field(default_factory=set)  # of `given`
    scope: values.Scope = field(default_factory=lambda: values.Scope({"__name__": "__main__"}))
    path: list[str] = field(default_factory=list)  # names that lead to where the reader is
    tests: dict[str, Test] = field(default_factory=dict)  # that could not be told
    depth: int = 0

    def __post_init__(self) -> None:
        self.module = self.scope

    @contextmanager
    def named(self, name: Any) -> Iterator[None]:
        """Put a name behind those that lead here."""
        path = len(self.path)
        self.path += [name] if name and isinstance(name, str) else []
        try:
            yield
        finally:
            del self.path[path:]

    def spend(self, steps: int = 1) -> None:
        """Count work."""
        if budget.spend(steps) < budget.FOR_MATCHES:
            raise Spent

    @abstractmethod
    def call(self, node: ast.Call) -> Any:
        """What a call returns, see `calls`."""

    @abstractmethod
    def run(self, function: values.Function, args: list[Any], named: dict[Any, Any]) -> Any:
        """What a function of the file returns, see `calls`."""

    def holds(self, node: ast.expr, body: Any = (), orelse: Any = ()) -> tuple[bool, str, str]:
        """Whether a test holds; where that is assumed, also the name of the branch, and the test's text.

        A branch that ends in an error is never taken.
        """
        try:
            return truth(self.of(node)), "", ""
        except values.NotKnown:
            test = test_of(node, self.source)
        fails, otherwise = (bool(each) and isinstance(each[-1], ast.Raise) for each in (body, orelse))
        if fails != otherwise:
            return otherwise, test.branch(otherwise != test.negated), ""
        holds = self.takes(self.tests.setdefault(test.text, test))
        return holds != test.negated, test.branch(holds), test.text

    def takes(self, test: Test) -> bool:
        """Whether a test that cannot be told is taken for true; of those that nothing says anything of, that it is."""
        phase = role(test.label)
        return self.assumed.get(test.text, not phase or (phase == "eval") == self.evaluating)

    def of(self, node: ast.expr) -> Any:
        """What an expression is."""
        self.spend()
        if self.depth > _DEEPEST:
            return self.unknown(node)
        if self.given and (path := dotted(node)) in self.given:
            return self.given_at(path)
        self.depth += 1
        try:
            return self._of(node)
        except values.NotKnown as lacking:
            return self.unknown(node, *lacking.args)
        finally:
            self.depth -= 1

    def given_at(self, path: str) -> Any:
        """The value that the user gave for an expression."""
        self.used.add(path)
        return deepcopy(self.given[path])

    def unknown(self, node: ast.expr, *parts: Any) -> values.UnknownValue:
        """An expression that cannot be told, and the names that it needs."""
        budget.spend(12)  # what it costs to find the names
        path = dotted(node)
        known = [root for part in parts if isinstance(part, values.UnknownValue) for root in part.roots]
        roots = tuple(dict.fromkeys([path] if path else known + names_in(node, self.scope)))[:4]
        return values.UnknownValue(path or self.source.text(node), self.source.at(node), roots)

    def _of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value) if isinstance(value, Key):
                return value
            case ast.Name(id=name):
                outside = values.OutsideName(values.USUAL.get(name, name), name in values.USUAL)
                return self.scope.get(name, outside)
            case ast.Attribute(value=inner, attr=name):
                return self.attribute(self.of(inner), name)
            case ast.Subscript(value=inner, slice=key):
                return functions.item_of(self.of(inner), self.of(key))
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*(self.of(each) if each else None for each in (lower, upper, step)))
            case ast.Call():
                return self.call(node)
            case ast.List(elts=parts):
                return values.Listed(self.items(parts), self.source.at(node))
            case ast.Set(elts=[ast.Set(elts=[inner])]):
                return self.of(inner)  # {{_base_.name}} of MM's configs
            case ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return tuple(self.items(parts))
            case ast.Dict():
                return self._mapping(node)
            case ast.BinOp(left=left, op=op, right=right):
                value = binary(op, self.of(left), self.of(right))
                self.spend(len(value) if isinstance(value, list) else 1)
                return value
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return not truth(self.of(inner))
            case ast.UnaryOp(op=sign, operand=inner):
                return plain(functions.UNARY[type(sign)], self.of(inner))
            case ast.BoolOp(op=sign, values=parts):
                return self._logic(parts, stops=isinstance(sign, ast.Or))
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                holds, branch, _ = self.holds(test)
                with self.named(branch):
                    return self.of(body if holds else orelse)
            case ast.JoinedStr(values=parts):
                return functions.bounded("".join, [self._text(part) for part in parts])
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                return self._comprehension(node)
            case ast.Lambda():
                return self.function(node, "lambda")
        raise values.NotKnown

    def attribute(self, held: Any, name: str) -> Any:
        """An attribute of what is known."""
        match held:
            case values.OutsideName(path=path, bound=bound):
                return values.constant(f"{path}.{name}", bound)
            case values.Class():
                value = held.get(name)
                if isinstance(value, values.Function):
                    value = replace(value, owner=held)
                    return self.run(value, [], {}) if {"property", "cached_property"} & {*value.decorators} else value
                if value is not values.MISSING:
                    return value
            case dict() if name in held:
                return held[name]
            case values.Created(args=[first, *_]) if name == "transforms":
                return first
        raise values.NotKnown(held)

    def items(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Items of a list or arguments, with those of other lists spread in."""
        items: list[Any] = []
        for node in nodes:
            inner = self.of(node.value if isinstance(node, ast.Starred) else node)
            if isinstance(node, ast.Starred) and isinstance(inner, list | tuple):
                self.spend(len(inner))
                items += inner
            else:
                items.append(self.unknown(node.value, inner) if isinstance(node, ast.Starred) else inner)
        return items

    def _mapping(self, node: ast.Dict) -> Any:
        mapping = values.Mapped({}, self.source.at(node))
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.merge(mapping, self.of(value), value)
                continue
            name = self.of(key)
            with self.named(name):
                item = self.of(value)
            name = name.path if isinstance(name, values.OutsideName) and name.bound else name  # tv_tensors.Image
            if not isinstance(name, Key):
                raise values.NotKnown(name)
            mapping[name], mapping.keys_at[name] = item, self.source.at(value)
        return mapping

    def merge(self, mapping: dict[Any, Any], other: Any, node: ast.expr) -> None:
        """Put another mapping into one; one that is not known stands under the name None."""
        other = other.names if isinstance(other, values.Class) else other
        if isinstance(other, Mapping):
            self.spend(len(other))
            mapping.update(other)
        else:
            mapping[None] = self.unknown(node, other)

    def _logic(self, parts: Sequence[ast.expr], *, stops: bool) -> Any:
        unsure: list[Any] = []
        value: Any = None
        for each in parts:
            value = self.of(each)
            try:
                if truth(value) == stops:
                    break
            except values.NotKnown:
                unsure.append(value)
        if unsure and value is not stops:  # `x or True` is true, whatever x
            raise values.NotKnown(*unsure)
        return value

    def _compare(self, node: ast.Compare) -> bool:
        left = self.of(node.left)
        for op, each in zip(node.ops, node.comparators, strict=True):
            right = self.of(each)
            if not functions.compared(op, left, right):
                return False
            left = right
        return True

    def _text(self, part: ast.expr) -> str:
        """A part of an f-string."""
        if isinstance(part, ast.Constant):
            return str(part.value)
        value = self.of(part.value) if isinstance(part, ast.FormattedValue) and not part.format_spec else None
        if not isinstance(value, int | float | str) or len(str(value)) > 200:
            raise values.NotKnown(value)
        return str(value)

    def _comprehension(self, node: Comprehension) -> Any:
        outer, self.scope = self.scope, self.scope.new_child()
        results: list[Any] = []
        try:
            self._generate(node, node.generators, results)
        finally:
            self.scope = outer
        if isinstance(node, ast.DictComp):
            return values.Mapped(functions.pairs_of(results), self.source.at(node))
        return values.Listed(results, self.source.at(node))

    def _generate(self, node: Comprehension, generators: Sequence[ast.comprehension], results: list[Any]) -> None:
        """Add what a comprehension makes of the items of its first generator, and of all behind it."""
        if not generators:
            results.append(self._element(node))
            return
        first, *rest = generators
        items = self.of(first.iter)
        if not isinstance(items, list | tuple | Mapping | str) or len(items) > MOST_ROUNDS:
            self.assign(first.target, self.unknown(first.target))
            self._generate(node, rest, [])  # for what is created in it
            raise values.NotKnown(items)
        for item in list(items):
            self.assign(first.target, item)
            if all(truth(self.of(test)) for test in first.ifs):
                self._generate(node, rest, results)

    def _element(self, node: Comprehension) -> Any:
        if not isinstance(node, ast.DictComp):
            return self.of(node.elt)
        key = self.of(node.key)
        with self.named(str(key) if isinstance(key, Key) else ""):
            return key, self.of(node.value)

    def function(self, node: Any, name: str) -> values.Function:
        """A function as a value, with what its arguments are where nothing is given."""
        args = node.args
        named = [*args.posonlyargs, *args.args]
        pairs = [*zip(named[len(named) - len(args.defaults) :], args.defaults, strict=True)]
        pairs += zip(args.kwonlyargs, args.kw_defaults, strict=True)
        usual = {each.arg: self.of(default) for each, default in pairs if default is not None}
        return values.Function(node, self.scope, name, self.source.at(node), usual)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give a value a name."""
        match target:
            case ast.Name(id=name):
                if name != _BASE or _BASE not in self.module:  # the names of the files that it lists were read before
                    self.scope[name] = value
            case ast.Attribute(value=inner, attr=name):
                held = self.of(inner)
                names = held.names if isinstance(held, values.Class) else held
                if isinstance(names, dict):
                    names[name] = value
            case ast.Subscript(value=inner, slice=place):
                held, key = self.of(inner), self.of(place)
                mapped = isinstance(held, dict) and isinstance(key, Key)
                if mapped or (isinstance(held, list) and isinstance(key, int) and -len(held) <= key < len(held)):
                    held[key] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                fits = isinstance(value, list | tuple) and len(value) == len(targets)
                for index, each in enumerate(targets):
                    self.assign(each, value[index] if fits else self.unknown(each))
