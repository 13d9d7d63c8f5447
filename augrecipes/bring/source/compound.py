"""Expressions of Python source that are made of others: lists, mappings, sums, tests, comprehensions, functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from augrecipes.bring.source.expressions import MOST_ROUNDS, Expressions
from augrecipes.bring.source.known import COMPARE, UNARY, NotKnown, binary, items_of, plain
from augrecipes.bring.source.values import (
    Class,
    Conditions,
    Either,
    Function,
    Instance,
    Listed,
    Made,
    Mapped,
    Maybe,
    NameScope,
    OutsideName,
    Partial,
    either,
    under,
)  # fmt: skip
from augrecipes.recipe.nodes import NOWHERE

_SPEC = re.compile(r"[.,\d]{0,4}[a-z%]?")


class Compounds(Expressions):
    """Containers, operators and functions, of parts that may be unknown."""

    def _list(self, node: ast.List) -> Any:
        return Listed(self.items(node.elts), self.source.at(node), len(self.conditions))

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.items(node.elts))

    def _set(self, node: ast.Set) -> Any:
        if len(node.elts) == 1 and isinstance(node.elts[0], ast.Set) and len(node.elts[0].elts) == 1:
            return self.of(node.elts[0].elts[0])  # {{_base_.name}} of MM's configs
        return tuple(self.items(node.elts))

    def items(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Items of a list or arguments, with those of other lists spread in."""
        found: list[Any] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(self.of(node))
                continue
            inner = self.of(node.value)
            if isinstance(inner, Either):
                found += self._each_way(inner, node.value, ())
            elif isinstance(inner, list | tuple):
                self.spend(len(inner))
                found += inner
            else:
                found.append(self.unknown(node.value, inner))
        return found

    def _each_way(self, value: Any, node: ast.expr, conditions: Conditions) -> list[Any]:
        """The items of a list of each way, each under its conditions."""
        if isinstance(value, Either):
            yes = self._each_way(value.yes, node, (*conditions, (value.test, True)))
            return yes + self._each_way(value.no, node, (*conditions, (value.test, False)))
        listed = list(value) if isinstance(value, list | tuple) else [self.unknown(node, value)]
        self.spend(len(listed))
        return [Maybe(conditions, item) for item in listed]

    def _dict(self, node: ast.Dict) -> Any:
        found = Mapped({}, self.source.at(node), len(self.conditions))
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.merge(found, self.of(value), value)
                continue
            name = self.of(key)
            with self.named(name if isinstance(name, str) else ""):
                made = self.of(value)
            if not isinstance(name, str | int | float | None):
                raise NotKnown
            found[name] = made
        return found

    def merge(self, found: dict[Any, Any], other: Any, node: ast.expr) -> None:
        """Put another mapping into one."""
        other = under(other, self.conditions)
        if isinstance(other, Either):
            other = other.yes
        if isinstance(other, Instance):
            other = other.scope.names
        if not isinstance(other, Mapping):
            found[None] = self.unknown(node, other)
            return
        self.spend(len(other))
        found.update(other)

    def _binary(self, node: ast.BinOp) -> Any:
        # From the left, without going deeper for each sign: sums may be long.
        chain: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            chain.append(left)
            left = left.left
        value = self.of(left)
        for each in reversed(chain):
            right = self.of(each.right)
            self.spend()
            value = self.spread(each, lambda a, b, op=each.op: self._sum(op, a, b), value, right)
        return value

    def _sum(self, op: ast.operator, left: Any, right: Any) -> Any:
        found = binary(op, left, right)
        if isinstance(found, list):
            self.spend(len(found))
            return Listed(found, getattr(left, "at", NOWHERE), len(self.conditions))
        return found

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.of(node.operand)
        if isinstance(node.op, ast.Not):
            return self.spread(node, lambda each: not self.truth(each), value)
        return self.spread(node, lambda each: plain(UNARY[type(node.op)], number(each)), value)

    def truth(self, value: Any) -> bool:
        """Whether a value that is known counts as true.

        Raises:
            NotKnown: it is not known.
        """
        match value:
            case None | bool() | int() | float() | str() | tuple() | Mapping():
                return bool(value)
            case list() if not any(isinstance(item, Maybe) for item in value):
                return bool(value)
            case Made() | Function() | Class() | Instance() | Partial():
                return True
        raise NotKnown

    def _logic(self, node: ast.BoolOp) -> Any:
        stops = isinstance(node.op, ast.Or)
        unsure: list[Any] = []
        value: Any = None
        for each in node.values:
            value = self.of(each)
            try:
                if self.truth(value) == stops:
                    break
            except NotKnown:
                unsure.append(value)
        else:
            return self.unknown(node, *unsure) if unsure else value
        known = isinstance(value, bool) and value == stops  # `x or True` is true, whatever x
        return self.unknown(node, *unsure) if unsure and not known else value

    def _compare(self, node: ast.Compare) -> Any:
        left = self.of(node.left)
        for op, each in zip(node.ops, node.comparators, strict=True):
            right = self.of(each)
            found = self.spread(node, lambda a, b, op=op: self._compared(op, a, b), left, right)
            if found is not True:
                return found
            left = right
        return True

    def _compared(self, op: ast.cmpop, left: Any, right: Any) -> bool:
        if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and (left is None or right is None):
            if isinstance(left, OutsideName) or isinstance(right, OutsideName):
                raise NotKnown
            return (left is right) == isinstance(op, ast.Is | ast.Eq)
        return bool(plain(COMPARE[type(op)], left, right))

    def _choice(self, node: ast.IfExp) -> Any:
        known = self.known(node.test)
        if known is not None:
            return self.of(node.body if known else node.orelse)
        with self.holding(node.test, holds=True):
            yes, condition = self.of(node.body), self.conditions[-1]
        with self.holding(node.test, holds=False):
            no = self.of(node.orelse)
        return either(condition[0], yes, no) if condition[1] else either(condition[0], no, yes)

    def known(self, test: ast.expr) -> bool | None:
        """Whether a test holds; None where it cannot be told."""
        value = self.of(test)
        try:
            return self.truth(value)
        except NotKnown:
            return None

    def _joined(self, node: ast.JoinedStr) -> Any:
        parts: list[str] = []
        for each in node.values:
            if isinstance(each, ast.Constant):
                parts.append(str(each.value))
                continue
            value, spec = self.of(each.value), self.of(each.format_spec) if each.format_spec else ""  # type: ignore[attr-defined]
            if not isinstance(value, bool | int | float | str) or not isinstance(spec, str):
                return self.unknown(node, value)
            if not _SPEC.fullmatch(spec) or len(str(value)) > 200:
                raise NotKnown
            parts.append(plain(format, value, spec))
        return "".join(parts)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp) -> Any:
        (each, *more) = node.generators
        try:
            items = items_of(self.of(each.iter))
        except NotKnown:
            items = None
        if more or items is None or len(items) > MOST_ROUNDS:
            self._once(node)
            return self.unknown(node)
        outer, self.scope = self.scope, NameScope(self.scope, born=len(self.conditions))
        found: list[Any] = []
        try:
            for item in items:
                self.assign(each.target, item)
                kept = [self.known(test) for test in each.ifs]
                if None in kept:
                    raise NotKnown
                if not all(kept):
                    continue
                if isinstance(node, ast.DictComp):
                    key = self.of(node.key)
                    if not isinstance(key, str | int | float | None):
                        raise NotKnown
                    with self.named(str(key)):
                        found.append((key, self.of(node.value)))
                else:
                    found.append(self.of(node.elt))
        finally:
            self.scope = outer
        if isinstance(node, ast.DictComp):
            return Mapped(found, self.source.at(node), len(self.conditions))
        return Listed(found, self.source.at(node), len(self.conditions))

    def _once(self, node: Any) -> None:
        """Go through a comprehension of what is not known once, for what is made in it."""
        outer, self.scope = self.scope, NameScope(self.scope, born=len(self.conditions))
        try:
            for each in node.generators:
                self.assign(each.target, self.unknown(each.target))
            for part in (getattr(node, name, None) for name in ("elt", "key", "value")):
                if part is not None:
                    self.of(part)
        finally:
            self.scope = outer

    def _lambda(self, node: ast.Lambda) -> Any:
        return self.function(node, "lambda")

    def function(self, node: Any, name: str) -> Function:
        """A function as a value, with what its arguments are where nothing is given."""
        args = node.args
        usual: dict[str, Any] = {}
        named = [*args.posonlyargs, *args.args]
        for each, default in zip(named[len(named) - len(args.defaults) :], args.defaults, strict=True):
            usual[each.arg] = self.of(default)
        for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if default is not None:
                usual[each.arg] = self.of(default)
        return Function(node, self.scope, name, usual)

    def _walrus(self, node: ast.NamedExpr) -> Any:
        value = self.of(node.value)
        self.assign(node.target, value)
        return value


def number(value: Any) -> Any:
    """The value, which must be a number; NotKnown for another."""
    if not isinstance(value, int | float):
        raise NotKnown
    return value
