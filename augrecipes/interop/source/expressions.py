"""Expressions of Python source as values; what cannot be told stays an `UnknownValue` with its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from augrecipes.interop.source import functions
from augrecipes.interop.source.branches import Assumptions, Test, test_of
from augrecipes.interop.source.functions import Key, binary, items_of, plain, truth
from augrecipes.interop.source.text import SourceText, dotted, names_in
from augrecipes.interop.source.values import (
    MISSING,
    USUAL,
    Class,
    Created,
    Function,
    Instance,
    Listed,
    Mapped,
    Named,
    NotKnown,
    OutsideName,
    Scope,
    UnknownValue,
    constant,
    given_value,
)  # fmt: skip

_DEEPEST = 90  # expressions, statements and calls inside of each other
MOST_ROUNDS = 256  # of a comprehension or a loop
_SPEC = re.compile(r"[.,\d]{0,4}[a-z%]?")


class Spent(Exception):  # noqa: N818 - the reader stops, and says so
    """More was to be evaluated than a file may ask for."""


class Expressions:
    """What expressions are in the scope at hand, under assumptions on what cannot be told."""

    def __init__(self, source: SourceText, given: Mapping[str, Any], assumed: Assumptions) -> None:
        self.source, self.given, self.assumed = source, given, assumed
        self.used: set[str] = set()  # of `given`
        self.scope = self.module = Scope({"__name__": "__main__"})
        self.path: list[str] = []  # names that lead to where the reader is
        self.created: list[Named] = []
        self.reached: set[int] = set()  # calls that were evaluated
        self.tests: dict[str, Test] = {}  # that could not be told
        self.depth, self.steps = 0, 0
        self.most = 40_000 + 4 * sum(map(len, source.lines))

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

    def spend(self, steps: int = 1) -> None:
        """Count work."""
        self.steps += steps
        if self.steps > self.most:
            raise Spent

    # What calls and statements do, see `calls` and `execute`.

    def call(self, node: ast.Call) -> Any:
        """What a call returns."""
        raise NotImplementedError

    def run(self, function: Function, args: list[Any], named: dict[Any, Any]) -> Any:
        """What a function of the file returns."""
        raise NotImplementedError

    def function(self, node: Any, name: str) -> Function:
        """A function as a value."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give a value a name."""
        raise NotImplementedError

    # Tests.

    def known(self, node: ast.expr) -> bool | None:
        """Whether a test holds; None where it cannot be told."""
        try:
            return truth(self.of(node))
        except NotKnown:
            return None

    def holds(
        self, node: ast.expr, body: Sequence[ast.stmt] = (), orelse: Sequence[ast.stmt] = ()
    ) -> tuple[bool, str, str]:
        """Whether a test holds; where that is assumed, also the name of the branch, and the test's text.

        A branch that ends in an error is never taken.
        """
        if (known := self.known(node)) is not None:
            return known, "", ""
        test, same = test_of(node, self.source)
        fails, otherwise = (bool(each) and isinstance(each[-1], ast.Raise) for each in (body, orelse))
        if fails != otherwise:
            return otherwise, test.branch(otherwise == same), ""
        holds = self.assumed.holds(self.tests.setdefault(test.text, test))
        return holds == same, test.branch(holds), test.text

    # Values.

    def of(self, node: ast.expr) -> Any:
        """What an expression is."""
        self.spend()
        if self.depth > _DEEPEST:
            return self.unknown(node)
        if self.given and (path := dotted(node)) in self.given:
            self.used.add(path)
            return given_value(self.given[path])
        self.depth += 1
        try:
            return self._of(node)
        except NotKnown as lacking:
            return self.unknown(node, *lacking.args)
        finally:
            self.depth -= 1

    def unknown(self, node: ast.expr, *parts: Any) -> UnknownValue:
        """An expression that cannot be told, and the names that it needs."""
        path = dotted(node)
        known = [root for part in parts if isinstance(part, UnknownValue) for root in part.roots]
        roots = [path] if path else known + names_in(node, self.scope)
        return UnknownValue(path or self.source.text(node), self.source.at(node), tuple(dict.fromkeys(roots))[:4])

    def _of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value) if isinstance(value, Key):
                return value
            case ast.Name(id=name):
                if name in self.scope:
                    return self.scope[name]
                return OutsideName(USUAL.get(name, name), name in USUAL)
            case ast.Attribute(value=inner, attr=name):
                return self.attribute(self.of(inner), name)
            case ast.Subscript(value=inner, slice=ast.Slice(lower=lower, upper=upper, step=step)):
                ends = [self.of(each) if each else None for each in (lower, upper, step)]
                return functions.item_of(self.of(inner), slice(*ends))
            case ast.Subscript(value=inner, slice=key):
                return functions.item_of(self.of(inner), self.of(key))
            case ast.Call():
                return self.call(node)
            case ast.List(elts=parts):
                return Listed(self.items(parts), self.source.at(node))
            case ast.Set(elts=[ast.Set(elts=[inner])]):
                return self.of(inner)  # {{_base_.name}} of MM's configs
            case ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return tuple(self.items(parts))
            case ast.Dict():
                return self._mapping(node)
            case ast.BinOp():
                return self._binary(node)
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
                return "".join(map(self._text, parts))
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                return self._comprehension(node)
            case ast.Lambda():
                return self.function(node, "lambda")
            case ast.NamedExpr(target=target, value=inner):
                value = self.of(inner)
                self.assign(target, value)
                return value
        raise NotKnown

    def attribute(self, held: Any, name: str) -> Any:
        """An attribute of what is known."""
        match held:
            case OutsideName(path=path, bound=bound):
                return constant(f"{path}.{name}", bound)
            case Instance() | Class():
                value = held.get(name)
                if isinstance(value, Function):
                    value = Function(value.node, value.scope, value.name, value.defaults, held)
                    return self.run(value, [], {}) if {"property", "cached_property"} & {*value.decorators} else value
                if value is not MISSING:
                    return value
            case dict() if name in held:
                return held[name]
            case Created(args=[first, *_]) if name == "transforms":
                return first
        raise NotKnown(held)

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
        mapping = Mapped({}, self.source.at(node))
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.merge(mapping, self.of(value), value)
                continue
            name = self.of(key)
            with self.named(name if isinstance(name, str) else ""):
                item = self.of(value)
            if not isinstance(name, Key):
                raise NotKnown(name)
            mapping[name] = item
        return mapping

    def merge(self, mapping: dict[Any, Any], other: Any, node: ast.expr) -> None:
        """Put another mapping into one; one that is not known stands under the name None."""
        other = other.names if isinstance(other, Instance) else other
        if not isinstance(other, Mapping):
            mapping[None] = self.unknown(node, other)
            return
        self.spend(len(other))
        mapping.update(other)

    def _binary(self, node: ast.BinOp) -> Any:
        # From the left, without going deeper for each sign: sums may be long.
        chain: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            chain.append(left)
            left = left.left
        value = self.of(left)
        for each in reversed(chain):
            value = binary(each.op, value, self.of(each.right))
            self.spend(len(value) if isinstance(value, list) else 1)
        return value

    def _logic(self, parts: Sequence[ast.expr], *, stops: bool) -> Any:
        unsure: list[Any] = []
        value: Any = None
        for each in parts:
            value = self.of(each)
            try:
                if truth(value) == stops:
                    break
            except NotKnown:
                unsure.append(value)
        if unsure and value is not stops:  # `x or True` is true, whatever x
            raise NotKnown(*unsure)
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
        value = self.of(part.value)  # type: ignore[attr-defined]
        spec = self.of(part.format_spec) if part.format_spec else ""  # type: ignore[attr-defined]
        if not isinstance(spec, str) or not _SPEC.fullmatch(spec) or not isinstance(value, bool | int | float | str):
            raise NotKnown(value)
        if len(str(value)) > 200:
            raise NotKnown(value)
        return str(plain(format, value, spec))

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp) -> Any:
        (each, *more) = node.generators
        items: Any = self.of(each.iter)
        outer, self.scope = self.scope, self.scope.new_child()
        results: list[Any] = []
        try:
            if more or not isinstance(items, list | tuple | Mapping | str) or len(items) > MOST_ROUNDS:
                for generator in node.generators:
                    self.assign(generator.target, self.unknown(generator.target))
                self._element(node)  # for what is created in it
                raise NotKnown(items)
            for item in items_of(items):
                self.assign(each.target, item)
                if all(truth(self.of(test)) for test in each.ifs):
                    results.append(self._element(node))
        finally:
            self.scope = outer
        if isinstance(node, ast.DictComp):
            return Mapped(functions.pairs_of(results), self.source.at(node))
        return Listed(results, self.source.at(node))

    def _element(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp) -> Any:
        if not isinstance(node, ast.DictComp):
            return self.of(node.elt)
        key = self.of(node.key)
        with self.named(str(key) if isinstance(key, Key) else ""):
            return key, self.of(node.value)
