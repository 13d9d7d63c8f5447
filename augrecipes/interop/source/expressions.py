"""Evaluation of expressions in Python source; an unknown one becomes an `UnknownValue` with its place."""

import ast
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from augrecipes.interop.source import functions, state, text, values
from augrecipes.interop.source.functions import Key, truth

_DEEPEST = 90  # nested expressions, statements and calls
MOST_ROUNDS = 64  # of a comprehension or a loop
_BASE = "_base_"
Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


@dataclass(eq=False)
class Expressions(state.State):
    """The evaluator's part for expressions."""

    @abstractmethod
    def call(self, node: ast.Call) -> Any:
        """The return value of a call, see `calls`."""

    @abstractmethod
    def run(self, function: values.Function, args: list[Any], named: dict[Any, Any]) -> Any:
        """The return value of a function of the file, see `calls`."""

    def value(self, node: ast.expr) -> Any:
        """The value of an expression."""
        self.spend()
        if self.depth > _DEEPEST:
            return self.unknown(node)
        if self.settings and (path := text.dotted(node)) in self.settings:
            return self.setting(path)
        self.depth += 1
        try:
            result = self._evaluate(node)
            return values.Listed(result) if type(result) is list else result
        except values.NotKnown as lacking:
            return self.unknown(node, *lacking.args)
        finally:
            self.depth -= 1

    def _evaluate(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value) if isinstance(value, Key):
                return value
            case ast.Name(id=name):
                outside = values.OutsideName(values.USUAL_MODULES.get(name, name), name in values.USUAL_MODULES)
                return self.scope.get(name, outside)
            case ast.Attribute(value=inner, attr=name):
                return self.attribute(name, self.value(inner))
            case ast.Subscript(value=inner, slice=key):
                return functions.item_of(self.value(inner), self.value(key))
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
                return self.operate(op, self.value(left), self.value(right))
            case ast.UnaryOp(op=sign, operand=inner):
                return functions.unary(sign, self.value(inner))
            case ast.BoolOp(op=sign, values=parts):
                return self._logic(parts, stops=isinstance(sign, ast.Or))
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.branch(test, (body, orelse), lambda holds: self.value(body if holds else orelse))
            case ast.JoinedStr(values=parts):
                return functions.joined(*map(self._formatted, parts))
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                return self._comprehension(node)
            case ast.Lambda():
                return self.function(node, "lambda")
        raise values.NotKnown

    def operate(self, op: ast.operator, left: Any, right: Any) -> Any:
        """The result of a binary operator."""
        value = functions.binary(op, left, right)
        self.spend(len(value) if isinstance(value, list) else 0)
        return value

    def attribute(self, name: str, owner: Any) -> Any:
        """An attribute of a known value."""
        match owner:
            case values.OutsideName(path=path, bound=bound):
                return values.constant(f"{path}.{name}", bound)
            case values.Class():
                value = owner.get(name)
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
        """The items of a list, or positional arguments, with starred lists expanded."""
        items: list[Any] = []
        for node in nodes:
            inner = self.value(node.value if isinstance(node, ast.Starred) else node)
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
        """Update a mapping by another; an unknown one has the key None."""
        other = other.names if isinstance(other, values.Class) else other
        if not isinstance(other, Mapping):
            other = {None: self.unknown(node, other)}
        self.spend(len(other))
        mapping.update(other)

    def _logic(self, parts: Sequence[ast.expr], *, stops: bool) -> Any:
        lacking: list[Any] = []
        value = None
        for part in parts:
            value = self.value(part)
            try:
                if truth(value) is stops:
                    if lacking and value is not stops:  # `x or True` is true, whatever x
                        break
                    return value
            except values.NotKnown:
                lacking.append(value)
        if lacking:
            raise values.NotKnown(*lacking)
        return value

    def _compare(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for op, each in zip(node.ops, node.comparators, strict=True):
            right = self.value(each)
            if not functions.compared(op, left, right):
                return False
            left = right
        return True

    def _formatted(self, part: ast.expr) -> Any:
        """A part of an f-string."""
        if isinstance(part, ast.FormattedValue) and not part.format_spec:
            return self.value(part.value)
        if isinstance(part, ast.Constant):
            return part.value
        raise values.NotKnown

    def _comprehension(self, node: Comprehension) -> Any:
        outer, self.scope = self.scope, self.scope.new_child({})
        results = values.Listed([], self.source.at(node))
        try:
            self._generate(node, node.generators, results)
        finally:
            self.scope = outer
        if isinstance(node, ast.DictComp):
            return values.Mapped(functions.pairs_of(results), self.source.at(node))
        return results

    def _generate(self, node: Comprehension, generators: Sequence[ast.comprehension], results: list[Any]) -> None:
        """Add the results of a comprehension over its first generator and the remaining ones."""
        if not generators:
            results.append(self._element(node))
            return
        first, *rest = generators
        items = self.value(first.iter)

        def take(item: Any) -> None:
            self.assign(first.target, item)
            if all(truth(self.value(test)) for test in first.ifs):
                self._generate(node, rest, results)

        if not self.loop(items, take):
            self.assign(first.target, self.unknown(first.target))
            self._generate(node, rest, [])  # to find transforms created in it
            raise values.NotKnown(items)

    def loop(self, items: Any, act: Callable[[Any], Any]) -> bool:
        """Call `act` for each item until it returns something true; False if the items are unknown."""
        if not isinstance(items, list | tuple | Mapping | str) or len(items) > MOST_ROUNDS:
            return False
        any(map(act, [*items]))
        return True

    def _element(self, node: Comprehension) -> Any:
        if not isinstance(node, ast.DictComp):
            return self.value(node.elt)
        key = self.value(node.key)
        with self.named(str(key) if isinstance(key, Key) else ""):
            return key, self.value(node.value)

    def function(self, node: Any, name: str) -> values.Function:
        """A function as a value, with the defaults of its parameters."""
        args = node.args
        named = [*args.posonlyargs, *args.args]
        pairs = [*zip(named[len(named) - len(args.defaults) :], args.defaults, strict=True)]
        pairs += zip(args.kwonlyargs, args.kw_defaults, strict=True)
        defaults = {each.arg: self.value(default) for each, default in pairs if default is not None}
        return values.Function(node, self.scope, name, self.source.at(node), defaults)

    def assign(self, target: ast.expr, value: Any) -> None:
        """Assign a value to a target."""
        match target:
            case ast.Name(id=name):
                if name != _BASE or _BASE not in self.module:  # the files that `_base_` lists were read before
                    self.scope.maps[0][name] = value
            case ast.Attribute(value=inner, attr=name):
                owner = self.value(inner)
                names = owner.names if isinstance(owner, values.Class) else owner
                if isinstance(names, dict):
                    names[name] = value
            case ast.Subscript(value=inner, slice=place):
                key, owner = self.value(place), self.value(inner)
                is_place = isinstance(owner, list) and isinstance(key, int) and -len(owner) <= key < len(owner)
                if is_place or (isinstance(owner, dict) and isinstance(key, Key)):
                    owner[key] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                fits = isinstance(value, list | tuple) and len(value) == len(targets)
                for index, each in enumerate(targets):
                    self.assign(each, value[index] if fits else self.unknown(each))
