"""Expressions of Python source as values; what cannot be told stays an `UnknownValue` with its place."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from augrecipes.interop.source import functions, state, text, values
from augrecipes.interop.source.functions import Key, truth

_DEEPEST = 90  # expressions, statements and calls inside of each other
MOST_ROUNDS = 64  # of a comprehension or a loop
_BASE = "_base_"
Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


@dataclass(eq=False)
class Expressions(state.State):
    """What expressions are at a point of a file."""

    @abstractmethod
    def call(self, node: ast.Call) -> Any:
        """What a call returns, see `calls`."""

    @abstractmethod
    def run(self, function: values.Function, args: list[Any], named: dict[Any, Any]) -> Any:
        """What a function of the file returns, see `calls`."""

    def value(self, node: ast.expr) -> Any:
        """What an expression is."""
        self.spend()
        if self.depth > _DEEPEST:
            return self.unknown(node)
        if self.settings and (path := text.dotted(node)) in self.settings:
            return self.setting(path)
        self.depth += 1
        try:
            result = self.resolve(self._evaluate(node))
            if type(result) is list:
                return values.Listed(result)
            return self.unknown(node) if result is values.MISSING else result
        except values.NotKnown as lacking:
            return self.unknown(node, *lacking.args)
        finally:
            self.depth -= 1

    def _evaluate(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value) if isinstance(value, Key):
                return value
            case ast.Name(id=name):
                outside = values.OutsideName(values.USUAL.get(name, name), name in values.USUAL)
                return self.scope.get(name, outside)
            case ast.Attribute(value=inner, attr=name):
                return self.each_way(node, partial(self.attribute, name), self.value(inner), flat=False)
            case ast.Subscript(value=inner, slice=key):
                return self.each_way(node, functions.item_of, self.value(inner), self.value(key))
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*(self.value(each) if each else None for each in (lower, upper, step)))
            case ast.Call():
                return self.call(node)
            case ast.List(elts=parts):
                return values.Listed(self.items(parts), self.source.at(node))
            case ast.Set(elts=[ast.Set(elts=[inner])]):
                return self.value(inner)  # {{_base_.name}} of MM's configs
            case ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return tuple(self.items(parts))
            case ast.Dict():
                return self._mapping(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operate(node, op, self.value(left), self.value(right))
            case ast.UnaryOp(op=sign, operand=inner):
                return self.each_way(node, partial(functions.unary, sign), self.value(inner))
            case ast.BoolOp(op=sign, values=parts):
                return self._logic(parts, stops=isinstance(sign, ast.Or))
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.branch(test, lambda holds: self.value(body if holds else orelse), values.merged)
            case ast.JoinedStr(values=parts):
                texts = [each.value if isinstance(each, ast.Constant) else self._formatted(each) for each in parts]
                return self.each_way(node, functions.joined, *texts)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                return self._comprehension(node)
            case ast.Lambda():
                return self.function(node, "lambda")
        raise values.NotKnown

    def operate(self, node: ast.expr, op: ast.operator, left: Any, right: Any) -> Any:
        """What an operator makes of two values; lists are joined with what is spliced into them."""
        if isinstance(op, ast.Add) and isinstance(left, list) and isinstance(right, list):
            value = functions.binary(op, left, right)
            self.spend(len(value))
            return value
        return self.each_way(node, partial(functions.binary, op), left, right)

    def attribute(self, name: str, owner: Any) -> Any:
        """An attribute of what is known."""
        match owner:
            case values.OutsideName(path=path, bound=bound):
                return values.constant(f"{path}.{name}", bound)
            case values.Class():
                value = self.resolve(owner.get(name))
                if isinstance(value, values.Function):
                    value = replace(value, owner=owner)
                    return self.run(value, [], {}) if {"property", "cached_property"} & {*value.decorators} else value
                if value is not values.MISSING:
                    return value
            case dict() if name in owner:
                return owner[name]
            case values.Created(args=[first, *_]) if name == "transforms":
                return first
        raise values.NotKnown(owner)

    def items(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Items of a list or arguments, with those of other lists spread in."""
        items: list[Any] = []
        for node in nodes:
            inner = self.value(node.value if isinstance(node, ast.Starred) else node)
            if not isinstance(node, ast.Starred):
                items.append(inner)
            elif isinstance(inner, list | tuple):
                self.spend(len(inner))
                items += inner
            elif isinstance(inner, values.Either) and all(
                isinstance(each, list | tuple) for each in (inner.holds, inner.fails)
            ):
                items.append(replace(inner, spliced=True))
            else:
                items.append(self.unknown(node.value, inner))
        return items

    def _mapping(self, node: ast.Dict) -> Any:
        mapping = values.Mapped({}, self.source.at(node))
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.merge(mapping, self.value(value), value)
                continue
            name = self.value(key)
            with self.named(name):
                item = self.value(value)
            name = name.path if isinstance(name, values.OutsideName) and name.bound else name  # tv_tensors.Image
            if not isinstance(name, Key):
                raise values.NotKnown(name)
            mapping[name], mapping.keys_at[name] = item, self.source.at(value)
        return mapping

    def merge(self, mapping: dict[Any, Any], other: Any, node: ast.expr) -> None:
        """Put another mapping into one; one that is not known stands under the name None."""
        self.each_way(node, partial(self._merge, mapping, node), other, flat=False)

    def _merge(self, mapping: dict[Any, Any], node: ast.expr, other: Any) -> None:
        other = other.names if isinstance(other, values.Class) else other
        if isinstance(other, Mapping):
            self.spend(len(other))
            for key, value in other.items():
                self.write(mapping, key, value)
        else:
            self.write(mapping, None, self.unknown(node, other))

    def _logic(self, parts: Sequence[ast.expr], unsure: tuple[Any, ...] = (), *, stops: bool) -> Any:
        first, *rest = parts

        def decide(value: Any) -> Any:
            lacking = unsure
            try:
                if self.each_way(first, truth, value) is stops or not rest:
                    if lacking and value is not stops:  # `x or True` is true, whatever x
                        raise values.NotKnown(*lacking)
                    return value
            except values.NotKnown:
                lacking = (*unsure, value)
                if not rest:
                    raise values.NotKnown(*lacking) from None
            return self._logic(rest, lacking, stops=stops)

        return self.each_way(first, decide, self.value(first), flat=False)

    def _compare(self, node: ast.Compare) -> Any:
        left, result = self.value(node.left), None
        for op, each in zip(node.ops, node.comparators, strict=True):
            right = self.value(each)
            result = self.each_way(node, partial(functions.compared, op), left, right)
            if result is False:
                return False
            if result is not True and len(node.ops) > 1:
                raise values.NotKnown(left, right)
            left = right
        return result

    def _formatted(self, part: ast.expr) -> Any:
        """A part of an f-string that is computed."""
        if isinstance(part, ast.FormattedValue) and not part.format_spec:
            return self.value(part.value)
        raise values.NotKnown

    def _comprehension(self, node: Comprehension) -> Any:
        outer, self.scope = self.scope, self.scope.new_child(values.Names())
        results = values.Listed([], self.source.at(node))
        try:
            self._generate(node, node.generators, results)
        finally:
            self.scope = outer
        if isinstance(node, ast.DictComp):
            return values.Mapped(functions.pairs_of(results), self.source.at(node))
        return results

    def _generate(self, node: Comprehension, generators: Sequence[ast.comprehension], results: list[Any]) -> None:
        """Add what a comprehension makes of the items of its first generator, and of all behind it."""
        if not generators:
            self.record(results)
            results.append(self._element(node))
            return
        first, *rest = generators
        items = self.value(first.iter)

        def take(item: Any) -> None:
            self.assign(first.target, item)
            self._filtered(first.ifs, lambda: self._generate(node, rest, results))

        if not self.loop(first.iter, items, take):
            self.assign(first.target, self.unknown(first.target))
            self._generate(node, rest, [])  # for what is created in it
            raise values.NotKnown(items)

    def _filtered(self, tests: Sequence[ast.expr], act: Callable[[], None]) -> None:
        """Act where all tests hold."""
        if not tests:
            act()
            return
        holds = self.each_way(tests[0], truth, self.value(tests[0]))
        if isinstance(holds, values.UnknownValue):
            raise values.NotKnown(holds)
        self.each_way(tests[0], lambda known: self._filtered(tests[1:], act) if known is True else None, holds)

    def loop(self, node: ast.expr, items: Any, act: Callable[[Any], Any]) -> bool:
        """Act on one item after another, until one act returns something; False where they are not known."""
        return self.each_way(node, partial(self._loop, node, act), items, flat=False) is True

    def _loop(self, node: ast.expr, act: Callable[[Any], Any], items: Any) -> bool:
        if not isinstance(items, list | tuple | Mapping | str) or len(items) > MOST_ROUNDS:
            return False
        for item in [*items]:
            if isinstance(item, values.Either) and item.spliced:
                self.loop(node, replace(item, spliced=False), act)
            elif act(item):
                break
        return True

    def _element(self, node: Comprehension) -> Any:
        if not isinstance(node, ast.DictComp):
            return self.value(node.elt)
        key = self.value(node.key)
        with self.named(str(key) if isinstance(key, Key) else ""):
            return key, self.value(node.value)

    def function(self, node: Any, name: str) -> values.Function:
        """A function as a value, with what its arguments are where nothing is given."""
        args = node.args
        named = [*args.posonlyargs, *args.args]
        pairs = [*zip(named[len(named) - len(args.defaults) :], args.defaults, strict=True)]
        pairs += zip(args.kwonlyargs, args.kw_defaults, strict=True)
        defaults = {each.arg: self.value(default) for each, default in pairs if default is not None}
        return values.Function(node, self.scope, name, self.source.at(node), defaults)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give a value a name."""
        match target:
            case ast.Name(id=name):
                if name != _BASE or _BASE not in self.module:  # the names of the files that it lists were read before
                    self.bind(name, value)
            case ast.Attribute(value=inner, attr=name):
                self.each_way(target, partial(self._set_attribute, name, value), self.value(inner), flat=False)
            case ast.Subscript(value=inner, slice=place):
                key = self.value(place)
                self.each_way(target, partial(self._set_item, key, value), self.value(inner), flat=False)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                parts = self.flat(value)
                fits = isinstance(parts, list | tuple) and len(parts) == len(targets)
                for index, each in enumerate(targets):
                    self.assign(each, parts[index] if fits else self.unknown(each))

    def _set_attribute(self, name: str, value: Any, owner: Any) -> None:
        names = owner.names if isinstance(owner, values.Class) else owner
        if isinstance(names, dict):
            self.write(names, name, value)

    def _set_item(self, key: Any, value: Any, owner: Any) -> None:
        if isinstance(owner, dict) and isinstance(key, Key):
            self.write(owner, key, value)
        elif isinstance(owner, list) and isinstance(key, int) and -len(owner) <= key < len(owner):
            self.record(owner)
            owner[key] = value
